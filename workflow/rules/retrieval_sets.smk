rule build_retrieval_sets:
    """Write the systematicity sets of one part of the images: HN-Atom, HN-Comp and both together."""
    input:
        candidates="results/foils/part-{part}-of-{n_parts}.parquet",
        choices=get_foil_choices(),
    output:
        sets="results/retrieval_sets/systematicity/part-{part}-of-{n_parts}.parquet",
        accounting="results/retrieval_sets/systematicity/part-{part}-of-{n_parts}.accounting.csv",
    log:
        "results/logs/build_retrieval_sets/part-{part}-of-{n_parts}.log",
    benchmark:
        "results/benchmarks/build_retrieval_sets/part-{part}-of-{n_parts}.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=8000,
    params:
        code=code_digest("build_retrieval_sets.py"),
    message:
        "Writing retrieval sets, part {wildcards.part} of {wildcards.n_parts}"
    script:
        "../scripts/build_retrieval_sets.py"
