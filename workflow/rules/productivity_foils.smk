rule build_productivity_foils:
    """Build truths and foils for the captions of one part; protocol refined: more foils than sets need."""
    input:
        subgraphs="results/subgraphs/subgraphs.parquet",
        captions="results/captions/{part}.parquet",
        unfiltered=get_unfiltered_graphs(),
        objects="results/visual_genome/objects.parquet",
        relationships="results/visual_genome/relationships.parquet",
        descriptions="results/visual_genome/region_descriptions.parquet",
        pool="results/foils/word_pool.json",
        tables=get_foil_tables(),
        wordnet="results/wordnet",
    output:
        candidates="results/foils/productivity/{part}.parquet",
    log:
        "results/logs/build_productivity_foils/{part}.log",
    benchmark:
        "results/benchmarks/build_productivity_foils/{part}.tsv"
    wildcard_constraints:
        part="part-[0-9]{5}-of-[0-9]{5}",
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
    params:
        cfg=to_json(settings.productivity_foils_settings(config)),
        code=code_digest("build_productivity_foils.py"),
    message:
        "Building productivity foils, {wildcards.part}"
    script:
        "../scripts/build_productivity_foils.py"
