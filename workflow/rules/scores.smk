rule score_retrieval_sets:
    """Rank the truth in every retrieval set of a family, from cached features."""
    input:
        sets=get_retrieval_sets("{family}"),
        index="results/features/{model}/{family}.parquet",
        identity="results/features/{model}/{family}.identity.json",
        weights=get_weights,
    output:
        scores="results/scores/{model}/{family}.parquet",
        accounting="results/scores/{model}/{family}.accounting.csv",
    log:
        "results/logs/score_retrieval_sets/{model}_{family}.log",
    benchmark:
        "results/benchmarks/score_retrieval_sets/{model}_{family}.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
    params:
        cfg=get_settings(settings.scores_settings, "model"),
        code=code_digest("score_retrieval_sets.py"),
    message:
        "Scoring {wildcards.family} sets with {wildcards.model}"
    script:
        "../scripts/score_retrieval_sets.py"
