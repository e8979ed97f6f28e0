ruleorder: build_released_sets > build_retrieval_sets
ruleorder: build_released_splits > build_splits


rule build_released_sets:
    """Turn the rows of the released files into retrieval sets, for one part of the images."""
    input:
        released=get_released_files(),
        images="results/visual_genome/images.parquet",
    output:
        sets="results/retrieval_sets/{family}/part-{part}-of-{n_parts}.parquet",
        accounting="results/retrieval_sets/{family}/part-{part}-of-{n_parts}.accounting.csv",
    log:
        "results/logs/build_released_sets/{family}_part-{part}-of-{n_parts}.log",
    benchmark:
        "results/benchmarks/build_released_sets/{family}_part-{part}-of-{n_parts}.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
    params:
        code=code_digest("build_released_sets.py"),
    message:
        "Reading released {wildcards.family} sets, part {wildcards.part} of {wildcards.n_parts}"
    script:
        "../scripts/build_released_sets.py"


rule build_released_splits:
    """Take the splits of the regions from the names of the released files."""
    input:
        released=get_released_files(),
    output:
        splits="results/splits/{corpus}.parquet",
        accounting="results/splits/{corpus}.accounting.csv",
    log:
        "results/logs/build_released_splits/{corpus}.log",
    benchmark:
        "results/benchmarks/build_released_splits/{corpus}.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
    params:
        cfg=get_settings(settings.released_splits_settings, "corpus"),
        code=code_digest("build_released_splits.py"),
    message:
        "Reading the splits by {wildcards.corpus}"
    script:
        "../scripts/build_released_splits.py"


rule build_released_flags:
    """Flag the truths among the foils, the repeated foils and the words that are none."""
    input:
        systematicity=get_retrieval_sets("systematicity"),
        productivity=get_retrieval_sets("productivity"),
        wordnet="results/wordnet",
    output:
        flags="results/released/flags.parquet",
    log:
        "results/logs/build_released_flags/build_released_flags.log",
    benchmark:
        "results/benchmarks/build_released_flags/build_released_flags.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(12000),
    params:
        code=code_digest("build_released_flags.py"),
    message:
        "Flagging artefacts of the released sets"
    script:
        "../scripts/build_released_flags.py"


rule tabulate_released:
    """Write R@1 on the released sets, on all and on those without artefacts."""
    input:
        systematicity=get_retrieval_sets("systematicity"),
        productivity=get_retrieval_sets("productivity"),
        systematicity_scores=expand(
            "results/scores/{model}/systematicity.parquet",
            model=MODELS_OF["systematicity"],
        ),
        productivity_scores=expand(
            "results/scores/{model}/productivity.parquet",
            model=MODELS_OF["productivity"],
        ),
        splits=expand(
            "results/splits/{corpus}.parquet", corpus=config["corpora"]["use"]
        ),
        flags="results/released/flags.parquet",
    output:
        table="results/tables/released_scores.csv",
    log:
        "results/logs/tabulate_released/tabulate_released.log",
    benchmark:
        "results/benchmarks/tabulate_released/tabulate_released.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
    params:
        cfg=to_json(settings.released_tables_settings(config)),
        code=code_digest("tabulate_released.py"),
    message:
        "Writing the scores of the released sets"
    script:
        "../scripts/tabulate_released.py"
