PUBLISHED = RESOURCES / "published"


rule tabulate_imagenet_correlation:
    """Write how recalls go with ImageNet top-1, parameters and training pairs of models."""
    input:
        systematicity="results/tables/systematicity.csv",
        productivity="results/tables/productivity.csv",
        published=PUBLISHED / "models.csv",
        recalls=PUBLISHED / "recalls.csv",
        correlations=PUBLISHED / "correlations.csv",
        checkpoints=PUBLISHED / "checkpoints.csv",
        known=RESOURCES / "models" / "models.csv",
    output:
        table="results/tables/imagenet_correlation.csv",
    log:
        "results/logs/tabulate_imagenet_correlation/tabulate_imagenet_correlation.log",
    benchmark:
        "results/benchmarks/tabulate_imagenet_correlation/tabulate_imagenet_correlation.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(1000),
    params:
        cfg=to_json(settings.correlation_settings(config)),
        code=code_digest("tabulate_imagenet_correlation.py"),
    message:
        "Correlating recalls with ImageNet top-1"
    script:
        "../scripts/tabulate_imagenet_correlation.py"


rule plot_imagenet_correlation:
    """Draw recalls against ImageNet top-1: the paper's, and those of this run."""
    input:
        systematicity="results/tables/systematicity.csv",
        productivity="results/tables/productivity.csv",
        published=PUBLISHED / "models.csv",
        recalls=PUBLISHED / "recalls.csv",
        checkpoints=PUBLISHED / "checkpoints.csv",
        known=RESOURCES / "models" / "models.csv",
    output:
        plot=report(
            "results/plots/imagenet_correlation.png",
            caption="../report/imagenet_correlation.rst",
            category=REPORT_RESULTS,
            labels={"content": "plot: recall at 1 by ImageNet top-1"},
        ),
    log:
        "results/logs/plot_imagenet_correlation/plot_imagenet_correlation.log",
    benchmark:
        "results/benchmarks/plot_imagenet_correlation/plot_imagenet_correlation.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(1000),
    params:
        cfg=to_json(settings.correlation_settings(config)),
        code=code_digest("plot_imagenet_correlation.py"),
    message:
        "Drawing recalls against ImageNet top-1"
    script:
        "../scripts/plot_imagenet_correlation.py"


rule tabulate_published_comparison:
    """Write our recalls beside the paper's, cell by cell, with what still differs."""
    input:
        systematicity="results/tables/systematicity.csv",
        productivity="results/tables/productivity.csv",
        published=PUBLISHED / "models.csv",
        recalls=PUBLISHED / "recalls.csv",
        released=PUBLISHED / "released.csv",
        known=RESOURCES / "models" / "models.csv",
    output:
        table="results/tables/published_comparison.csv",
    log:
        "results/logs/tabulate_published_comparison/tabulate_published_comparison.log",
    benchmark:
        "results/benchmarks/tabulate_published_comparison/tabulate_published_comparison.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(1000),
    params:
        cfg=to_json(settings.comparison_settings(config)),
        code=code_digest("tabulate_published_comparison.py"),
    message:
        "Putting recalls beside the paper's"
    script:
        "../scripts/tabulate_published_comparison.py"


rule tabulate_dataset_statistics:
    """Count pairs, sets, foils, images and words beside the paper's counts."""
    input:
        systematicity=get_retrieval_sets("systematicity"),
        productivity=get_retrieval_sets("productivity"),
        splits=expand(
            "results/splits/{corpus}.parquet", corpus=config["corpora"]["use"]
        ),
        accounting=get_statistics_accounting(),
        counts=PUBLISHED / "counts.csv",
        released=PUBLISHED / "released.csv",
    output:
        table="results/tables/dataset_statistics.csv",
    log:
        "results/logs/tabulate_dataset_statistics/tabulate_dataset_statistics.log",
    benchmark:
        "results/benchmarks/tabulate_dataset_statistics/tabulate_dataset_statistics.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
    params:
        cfg=config_json("corpora", "use"),
        code=code_digest("tabulate_dataset_statistics.py"),
    message:
        "Counting pairs, sets and foils"
    script:
        "../scripts/tabulate_dataset_statistics.py"
