rule tabulate_raw_retrieval:
    """Write retrieval from whole pools of captions and crops, by split and by number of atoms."""
    input:
        systematicity=get_retrieval_sets("systematicity"),
        productivity=get_retrieval_sets("productivity"),
        systematicity_indexes=expand(
            "results/features/{model}/systematicity.parquet",
            model=MODELS_OF["systematicity"],
        ),
        productivity_indexes=expand(
            "results/features/{model}/productivity.parquet",
            model=MODELS_OF["productivity"],
        ),
        identities=[
            f"results/features/{model}/{family}.identity.json"
            for family in FAMILIES
            for model in MODELS_OF[family]
        ],
        splits=expand(
            "results/splits/{corpus}.parquet", corpus=config["corpora"]["use"]
        ),
    output:
        table="results/tables/raw_retrieval.csv",
    log:
        "results/logs/tabulate_raw_retrieval/tabulate_raw_retrieval.log",
    benchmark:
        "results/benchmarks/tabulate_raw_retrieval/tabulate_raw_retrieval.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
    params:
        cfg=to_json(settings.raw_retrieval_settings(config)),
        code=code_digest("tabulate_raw_retrieval.py"),
    message:
        "Writing retrieval from whole pools"
    script:
        "../scripts/tabulate_raw_retrieval.py"
