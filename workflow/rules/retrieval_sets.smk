rule build_retrieval_sets:
    """Write the retrieval sets of one part of the images, for every foil type of a family."""
    input:
        candidates="results/foils/{family}/part-{part}-of-{n_parts}.parquet",
        choices="results/foils/{family}/choices.parquet",
    output:
        sets="results/retrieval_sets/{family}/part-{part}-of-{n_parts}.parquet",
        accounting="results/retrieval_sets/{family}/part-{part}-of-{n_parts}.accounting.csv",
    log:
        "results/logs/build_retrieval_sets/{family}_part-{part}-of-{n_parts}.log",
    benchmark:
        "results/benchmarks/build_retrieval_sets/{family}_part-{part}-of-{n_parts}.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
    params:
        code=code_digest("build_retrieval_sets.py"),
    message:
        "Writing {wildcards.family} sets, part {wildcards.part} of {wildcards.n_parts}"
    script:
        "../scripts/build_retrieval_sets.py"
