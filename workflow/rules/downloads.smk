rule download_visual_genome_file:
    """Fetch a file of Visual Genome that is not in the user's folder; goes on with what is there of it."""
    input:
        manifest=ancient(MANIFEST),
    output:
        file=protected(f"{DOWNLOADS}/{{file}}"),
    log:
        "results/logs/download_visual_genome_file/{file}.log",
    benchmark:
        "results/benchmarks/download_visual_genome_file/{file}.tsv"
    conda:
        "../../environment.yml"
    message:
        "Fetching {wildcards.file}"
    script:
        "../scripts/download_visual_genome_file.py"


rule validate_visual_genome_files:
    """Compare Visual Genome's files with the manifest, wherever they come from, and record what they are."""
    input:
        files=get_validated_files,
        manifest=MANIFEST,
    output:
        index="results/visual_genome/files.json",
    log:
        "results/logs/validate_visual_genome_files/validate_visual_genome_files.log",
    benchmark:
        "results/benchmarks/validate_visual_genome_files/validate_visual_genome_files.tsv"
    conda:
        "../../environment.yml"
    params:
        code=code_digest("validate_visual_genome_files.py"),
    message:
        "Comparing Visual Genome's files with the manifest"
    script:
        "../scripts/validate_visual_genome_files.py"
