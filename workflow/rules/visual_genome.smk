rule build_visual_genome:
    """Turn Visual Genome's JSON into tables, joined by image id."""
    input:
        annotations=get_annotation_files(),
        aliases=get_alias_files(),
        images=get_image_zips(),
    output:
        images="results/visual_genome/images.parquet",
        objects="results/visual_genome/objects.parquet",
        relationships="results/visual_genome/relationships.parquet",
        region_descriptions="results/visual_genome/region_descriptions.parquet",
        accounting="results/visual_genome/accounting.csv",
    log:
        "results/logs/build_visual_genome/build_visual_genome.log",
    benchmark:
        "results/benchmarks/build_visual_genome/build_visual_genome.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=8000,
    params:
        cfg=to_json(settings.visual_genome_settings(config)),
        code=code_digest("build_visual_genome.py"),
    message:
        "Reading Visual Genome"
    script:
        "../scripts/build_visual_genome.py"
