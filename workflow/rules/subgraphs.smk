rule sample_subgraphs:
    """Sample subgraphs of every complexity from the scene graphs of one part of the images."""
    input:
        images="results/visual_genome/images.parquet",
        objects="results/visual_genome/objects.parquet",
        relationships="results/visual_genome/relationships.parquet",
    output:
        subgraphs="results/subgraphs/sampled/part-{part}-of-{n_parts}.parquet",
        accounting="results/subgraphs/sampled/part-{part}-of-{n_parts}.accounting.csv",
    log:
        "results/logs/sample_subgraphs/part-{part}-of-{n_parts}.log",
    benchmark:
        "results/benchmarks/sample_subgraphs/part-{part}-of-{n_parts}.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
    params:
        cfg=to_json(settings.subgraphs_settings(config)),
        code=code_digest("sample_subgraphs.py"),
    message:
        "Sampling subgraphs, part {wildcards.part} of {wildcards.n_parts}"
    script:
        "../scripts/sample_subgraphs.py"


rule filter_subgraphs:
    """Keep at most productivity.max_queries subgraphs of each complexity, drawn over all parts."""
    input:
        parts=get_foil_parts("results/subgraphs/sampled"),
    output:
        subgraphs="results/subgraphs/subgraphs.parquet",
        accounting="results/subgraphs/accounting.csv",
    log:
        "results/logs/filter_subgraphs/filter_subgraphs.log",
    benchmark:
        "results/benchmarks/filter_subgraphs/filter_subgraphs.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
    params:
        cfg=to_json(settings.draw_settings(config)),
        code=code_digest("filter_subgraphs.py"),
    message:
        "Drawing subgraphs"
    script:
        "../scripts/filter_subgraphs.py"
