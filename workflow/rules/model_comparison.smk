rule tabulate_model_comparison:
    """Write what a model gains and loses against another, set by set; runs only if it is named."""
    input:
        systematicity=get_retrieval_sets("systematicity"),
        productivity=get_retrieval_sets("productivity"),
        one_systematicity="results/scores/{one}/systematicity.parquet",
        one_productivity="results/scores/{one}/productivity.parquet",
        other_systematicity="results/scores/{other}/systematicity.parquet",
        other_productivity="results/scores/{other}/productivity.parquet",
        splits=expand(
            "results/splits/{corpus}.parquet", corpus=config["corpora"]["use"]
        ),
    output:
        table="results/tables/comparison_{one}_{other}.csv",
        changes="results/comparisons/{one}_{other}.parquet",
    log:
        "results/logs/tabulate_model_comparison/{one}_{other}.log",
    benchmark:
        "results/benchmarks/tabulate_model_comparison/{one}_{other}.tsv"
    wildcard_constraints:
        one="|".join(MODELS),
        other="|".join(MODELS),
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
    params:
        cfg=to_json(settings.model_comparison_settings(config)),
        code=code_digest("tabulate_model_comparison.py"),
    message:
        "Comparing {wildcards.one} with {wildcards.other}"
    script:
        "../scripts/tabulate_model_comparison.py"
