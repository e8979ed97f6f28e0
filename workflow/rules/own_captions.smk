rule build_own_sets:
    """Turn own captions into retrieval sets, with foils where they have none; runs only if it is named."""
    input:
        table=get_own_table,
        known_images="results/visual_genome/images.parquet",
        pool="results/foils/word_pool.json",
        tables=get_foil_tables(),
        wordnet="results/wordnet",
    output:
        sets=get_retrieval_sets("own"),
        images="results/own_captions/images.parquet",
        set_aside="results/own_captions/set_aside.csv",
        accounting="results/own_captions/accounting.csv",
    log:
        "results/logs/build_own_sets/build_own_sets.log",
    benchmark:
        "results/benchmarks/build_own_sets/build_own_sets.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
    params:
        cfg=to_json(settings.own_captions_settings(config)),
        code=code_digest("build_own_sets.py"),
    message:
        "Turning own captions into retrieval sets"
    script:
        "../scripts/build_own_sets.py"


rule tabulate_own_captions:
    """Write recalls on own captions; runs only if it is named."""
    input:
        sets=get_retrieval_sets("own"),
        scores=expand("results/scores/{model}/own.parquet", model=USED_MODELS),
    output:
        table="results/tables/own_captions.csv",
    log:
        "results/logs/tabulate_own_captions/tabulate_own_captions.log",
    benchmark:
        "results/benchmarks/tabulate_own_captions/tabulate_own_captions.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
    params:
        cfg=to_json(settings.productivity_tables_settings(config)),
        code=code_digest("tabulate_own_captions.py"),
    message:
        "Writing the table of own captions"
    script:
        "../scripts/tabulate_own_captions.py"
