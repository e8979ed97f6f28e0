rule build_splits:
    """Sort the regions by what a corpus has shown: seen compounds, unseen compounds, unseen atoms."""
    input:
        graphs="results/graphs/regions.parquet",
        vocabulary=get_vocabulary,
        record="results/corpora/{corpus}.json",
    output:
        splits="results/splits/{corpus}.parquet",
        accounting="results/splits/{corpus}.accounting.csv",
    log:
        "results/logs/build_splits/{corpus}.log",
    benchmark:
        "results/benchmarks/build_splits/{corpus}.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
    params:
        cfg=config_json("splits", "min_count", "undecided"),
        code=code_digest("build_splits.py"),
    message:
        "Splitting the regions by {wildcards.corpus}"
    script:
        "../scripts/build_splits.py"
