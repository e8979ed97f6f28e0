rule tabulate_blind_baselines:
    """Write what text alone can solve: blind scorers on the retrieval sets, fitted on other images."""
    input:
        sets=get_retrieval_sets("systematicity"),
        splits=expand(
            "results/splits/{corpus}.parquet", corpus=config["corpora"]["use"]
        ),
        language_model=get_language_model_files("audit"),
    output:
        table="results/tables/blind_baselines.csv",
    log:
        "results/logs/tabulate_blind_baselines/tabulate_blind_baselines.log",
    benchmark:
        "results/benchmarks/tabulate_blind_baselines/tabulate_blind_baselines.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=16000,
        runtime=240,
    params:
        cfg=to_json(settings.audit_settings(config)),
        code=code_digest("tabulate_blind_baselines.py"),
    message:
        "Measuring what text alone can solve"
    script:
        "../scripts/tabulate_blind_baselines.py"
