rule tabulate_thinned_gap:
    """Write the gap as it would be if the parser had found fewer compounds in the training captions."""
    input:
        sets=get_retrieval_sets("systematicity"),
        scores=expand(
            "results/scores/{model}/systematicity.parquet",
            model=MODELS_OF["systematicity"],
        ),
        graphs="results/graphs/regions.parquet",
        vocabularies=expand(
            "results/vocabularies/{corpus}.parquet", corpus=config["corpora"]["use"]
        ),
    output:
        table="results/tables/systematicity_gap_by_recall.csv",
    log:
        "results/logs/tabulate_thinned_gap/tabulate_thinned_gap.log",
    benchmark:
        "results/benchmarks/tabulate_thinned_gap/tabulate_thinned_gap.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
    params:
        cfg=to_json(settings.thinning_settings(config)),
        code=code_digest("tabulate_thinned_gap.py"),
    message:
        "Writing the gap for thinned vocabularies"
    script:
        "../scripts/tabulate_thinned_gap.py"


rule plot_thinned_gap:
    """Draw the gap against the recall to which the vocabularies are thinned."""
    input:
        table="results/tables/systematicity_gap_by_recall.csv",
    output:
        plot="results/plots/systematicity_gap_by_recall.png",
    log:
        "results/logs/plot_thinned_gap/plot_thinned_gap.log",
    benchmark:
        "results/benchmarks/plot_thinned_gap/plot_thinned_gap.tsv"
    conda:
        "../../environment.yml"
    params:
        code=code_digest("plot_thinned_gap.py"),
    message:
        "Drawing the gap against recall"
    script:
        "../scripts/plot_thinned_gap.py"
