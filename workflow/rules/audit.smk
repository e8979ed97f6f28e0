rule audit_retrieval_sets:
    """Measure what text alone can solve in a family's sets: blind scorers, fitted on other images."""
    input:
        sets=get_retrieval_sets("{family}"),
        splits=get_splits,
        language_model=get_language_model_files("audit"),
    output:
        table="results/audit/{family}.csv",
    log:
        "results/logs/audit_retrieval_sets/{family}.log",
    benchmark:
        "results/benchmarks/audit_retrieval_sets/{family}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=scaled(16000),
        runtime=scaled(240),
    params:
        cfg=get_settings(settings.audit_settings, "family"),
        code=code_digest("audit_retrieval_sets.py"),
    message:
        "Measuring what text alone can solve in {wildcards.family} sets"
    script:
        "../scripts/audit_retrieval_sets.py"


rule tabulate_blind_baselines:
    """Join what text alone can solve in each family."""
    input:
        audits=expand("results/audit/{family}.csv", family=FAMILIES),
    output:
        table="results/tables/blind_baselines.csv",
    log:
        "results/logs/tabulate_blind_baselines/tabulate_blind_baselines.log",
    benchmark:
        "results/benchmarks/tabulate_blind_baselines/tabulate_blind_baselines.tsv"
    conda:
        "../../environment.yml"
    params:
        code=code_digest("tabulate_blind_baselines.py"),
    message:
        "Joining what text alone can solve"
    script:
        "../scripts/tabulate_blind_baselines.py"
