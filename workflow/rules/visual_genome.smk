rule build_visual_genome:
    """Turn Visual Genome's JSON into tables, joined by image id."""
    input:
        annotations=get_annotation_files(),
        files=get_file_index(),
        aliases=get_alias_files(),
        images=get_found_image_places(),
    output:
        images="results/visual_genome/images.parquet",
        missing_images="results/visual_genome/missing_images.csv",
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
        mem_mb=scaled(8000),
    params:
        cfg=to_json(settings.visual_genome_settings(config)),
        image_places=get_image_places(),
        code=code_digest("build_visual_genome.py"),
    message:
        "Reading Visual Genome"
    script:
        "../scripts/build_visual_genome.py"


rule validate_images:
    """Decode every image of one part, and say which cannot be used and why."""
    input:
        images="results/visual_genome/images.parquet",
        places=get_found_image_places(),
    output:
        checks="results/visual_genome/image_checks/part-{part}-of-{n_parts}.csv",
    log:
        "results/logs/validate_images/part-{part}-of-{n_parts}.log",
    benchmark:
        "results/benchmarks/validate_images/part-{part}-of-{n_parts}.tsv"
    conda:
        "../../environment.yml"
    params:
        code=code_digest("validate_images.py"),
    message:
        "Checking images, part {wildcards.part} of {wildcards.n_parts}"
    script:
        "../scripts/validate_images.py"


rule tabulate_image_problems:
    """List the images that cannot be used; runs only if its output is named."""
    input:
        checks=get_image_checks(),
    output:
        problems="results/visual_genome/image_problems.csv",
    log:
        "results/logs/tabulate_image_problems/tabulate_image_problems.log",
    benchmark:
        "results/benchmarks/tabulate_image_problems/tabulate_image_problems.tsv"
    conda:
        "../../environment.yml"
    params:
        code=code_digest("tabulate_image_problems.py"),
    message:
        "Listing the images that cannot be used"
    script:
        "../scripts/tabulate_image_problems.py"
