rule lay_zero_shot_pictures:
    """Lay the pictures of a set of classification under names of their own; runs only for benchmarks that name it."""
    input:
        folder=lambda wildcards: ancient(
            config["benchmarks"]["zero_shot"][wildcards.zero_shot_set]["folder"]
        ),
    output:
        pictures=directory("results/zero_shot/{zero_shot_set}"),
        list="results/zero_shot/{zero_shot_set}.json",
    log:
        "results/logs/lay_zero_shot_pictures/{zero_shot_set}.log",
    benchmark:
        "results/benchmarks/lay_zero_shot_pictures/{zero_shot_set}.tsv"
    conda:
        "../../environment.yml"
    params:
        cfg=get_settings(settings.zero_shot_settings, "zero_shot_set"),
        code=code_digest("lay_zero_shot_pictures.py"),
    message:
        "Laying the pictures of {wildcards.zero_shot_set}"
    script:
        "../scripts/lay_zero_shot_pictures.py"


rule build_benchmark_items:
    """Read a benchmark and find its pictures; runs only if it is named."""
    input:
        files=get_benchmark_files,
        roots=get_benchmark_places,
    output:
        items_table="results/benchmark_items/{benchmark}/items.parquet",
        images="results/benchmark_items/{benchmark}/images.parquet",
        sets="results/benchmark_items/{benchmark}/sets.parquet",
        missing="results/benchmark_items/{benchmark}/missing.csv",
        frames=directory("results/benchmark_items/{benchmark}/frames"),
        accounting="results/benchmark_items/{benchmark}/accounting.csv",
    log:
        "results/logs/build_benchmark_items/{benchmark}.log",
    benchmark:
        "results/benchmarks/build_benchmark_items/{benchmark}.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
    params:
        cfg=get_benchmark_settings,
        reader=get_benchmark_reader,
        code=code_digest("build_benchmark_items.py"),
    message:
        "Reading the benchmark {wildcards.benchmark}"
    script:
        "../scripts/build_benchmark_items.py"


use rule extract_features as extract_benchmark_features with:
    input:
        sets=get_benchmark_sets,
        images=get_benchmark_images,
        places=get_benchmark_places,
        weights=get_weights,
        shared=get_shared_features,
    log:
        "results/logs/extract_benchmark_features/{model}_{family}.log",
    benchmark:
        "results/benchmarks/extract_benchmark_features/{model}_{family}.tsv"
    wildcard_constraints:
        family="bench_[a-z0-9_]+",
    params:
        cfg=get_settings(settings.features_settings, "model"),
        image_places=get_benchmark_places,
        code=code_digest("extract_features.py"),


rule score_benchmark:
    """Score every picture of an item with every caption of it; runs only if it is named."""
    input:
        items_table="results/benchmark_items/{benchmark}/items.parquet",
        index="results/features/{model}/bench_{benchmark}.parquet",
        identity="results/features/{model}/bench_{benchmark}.identity.json",
        weights=get_weights,
    output:
        scores="results/benchmark_scores/{model}/{benchmark}.parquet",
        accounting="results/benchmark_scores/{model}/{benchmark}.accounting.csv",
    log:
        "results/logs/score_benchmark/{model}_{benchmark}.log",
    benchmark:
        "results/benchmarks/score_benchmark/{model}_{benchmark}.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
    params:
        cfg=get_settings(settings.scores_settings, "model"),
        code=code_digest("score_benchmark.py"),
    message:
        "Scoring {wildcards.benchmark} with {wildcards.model}"
    script:
        "../scripts/score_benchmark.py"


rule audit_benchmark:
    """Answer a benchmark without its pictures: blind scorers, fitted on other images; runs only if it is named."""
    input:
        items_table="results/benchmark_items/{benchmark}/items.parquet",
        language_model=get_language_model_files("audit"),
    output:
        blind="results/benchmark_items/{benchmark}/blind.parquet",
        accounting="results/benchmark_items/{benchmark}/blind.accounting.csv",
    log:
        "results/logs/audit_benchmark/{benchmark}.log",
    benchmark:
        "results/benchmarks/audit_benchmark/{benchmark}.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(16000),
        runtime=scaled(240),
    params:
        cfg=config_json("audit"),
        code=code_digest("audit_benchmark.py"),
    message:
        "Measuring what text alone can solve in {wildcards.benchmark}"
    script:
        "../scripts/audit_benchmark.py"


rule tabulate_benchmarks:
    """Write the results on all benchmarks; runs only if it is named."""
    input:
        items_table=get_benchmark_results(
            "results/benchmark_items/{benchmark}/items.parquet"
        ),
        scores=get_benchmark_results(
            "results/benchmark_scores/{model}/{benchmark}.parquet"
        ),
        blind=get_benchmark_results("results/benchmark_items/{benchmark}/blind.parquet"),
        manifests=get_benchmark_manifests(),
        published=[RESOURCES / "published" / "benchmarks.csv"],
    output:
        table="results/tables/benchmarks.csv",
    log:
        "results/logs/tabulate_benchmarks/tabulate_benchmarks.log",
    benchmark:
        "results/benchmarks/tabulate_benchmarks/tabulate_benchmarks.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
    params:
        cfg=to_json(settings.benchmarks_tables_settings(config)),
        code=code_digest("tabulate_benchmarks.py"),
    message:
        "Writing the table of benchmarks"
    script:
        "../scripts/tabulate_benchmarks.py"
