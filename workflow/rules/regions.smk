rule filter_regions:
    """Keep the regions that can be test crops, and count the others by reason."""
    input:
        region_descriptions="results/visual_genome/region_descriptions.parquet",
        images="results/visual_genome/images.parquet",
    output:
        regions="results/regions/regions.parquet",
        accounting="results/regions/accounting.csv",
    log:
        "results/logs/filter_regions/filter_regions.log",
    benchmark:
        "results/benchmarks/filter_regions/filter_regions.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
    params:
        cfg=config_json("regions"),
        code=code_digest("filter_regions.py"),
    message:
        "Filtering regions"
    script:
        "../scripts/filter_regions.py"
