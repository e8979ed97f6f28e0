rule build_retrieval_sets:
    """Build the systematicity sets of one part of the images: HN-Atom, HN-Comp and both together."""
    input:
        regions="results/regions/regions.parquet",
        graphs="results/graphs/regions.parquet",
        unfiltered=get_unfiltered_graphs(),
        objects="results/visual_genome/objects.parquet",
        relationships="results/visual_genome/relationships.parquet",
        attributes_table=RESOURCES / "foils" / "attributes.csv",
        relations_table=RESOURCES / "foils" / "relations.csv",
        wordnet="results/wordnet",
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
        cfg=config_json("foils", "protocol", "seed", "min_pool_count"),
        code=code_digest("build_retrieval_sets.py"),
    message:
        "Building retrieval sets, part {wildcards.part} of {wildcards.n_parts}"
    script:
        "../scripts/build_retrieval_sets.py"
