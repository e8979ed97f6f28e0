rule download_file:
    """Fetch a file that a manifest lists and that the user does not bring; goes on with what is there of it."""
    input:
        manifest=get_manifest,
    output:
        file=protected(f"{STORE}/{{collection}}/{{file}}"),
    log:
        "results/logs/download_file/{collection}/{file}.log",
    benchmark:
        "results/benchmarks/download_file/{collection}/{file}.tsv"
    wildcard_constraints:
        collection=r"visual_genome|corpora/[a-z0-9_]+",
        file="[^/]+",
    conda:
        "../../environment.yml"
    message:
        "Fetching {wildcards.file}"
    script:
        "../scripts/download_file.py"


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
