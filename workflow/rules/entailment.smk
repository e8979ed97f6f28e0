rule score_entailment:
    """Score how likely the true captions of one part entail their swap foils (entailment.backend: nli)."""
    input:
        candidates="results/foils/productivity/{part}.parquet",
        model=get_language_model_files("entailment", "model"),
    output:
        entailment="results/foils/productivity/entailment/{part}.parquet",
        shards="results/foils/productivity/entailment/{part}.shards.json",
    log:
        "results/logs/score_entailment/{part}.log",
    benchmark:
        "results/benchmarks/score_entailment/{part}.tsv"
    wildcard_constraints:
        part="part-[0-9]{5}-of-[0-9]{5}",
    conda:
        "../../environment.yml"
    resources:
        gpu=1,
        mem_mb=scaled(8000),
        runtime=scaled(480),
    params:
        cfg=to_json(settings.entailment_settings(config)),
        code=code_digest("score_entailment.py"),
    message:
        "Scoring entailment of swap foils, {wildcards.part}"
    script:
        "../scripts/score_entailment.py"
