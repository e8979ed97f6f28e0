rule parse_regions:
    """Parse one part of the regions' captions into scene graphs."""
    input:
        regions="results/regions/regions.parquet",
    output:
        graphs="results/graphs/parsed/part-{part}-of-{n_parts}.parquet",
    log:
        "results/logs/parse_regions/part-{part}-of-{n_parts}.log",
    benchmark:
        "results/benchmarks/parse_regions/part-{part}-of-{n_parts}.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(4000),
    params:
        cfg=to_json(settings.parser_settings(config)),
        code=code_digest("parse_regions.py"),
    message:
        "Parsing regions, part {wildcards.part} of {wildcards.n_parts}"
    script:
        "../scripts/parse_regions.py"


rule build_region_graphs:
    """Take the regions' graphs from Visual Genome's annotations, as far as their captions say the same."""
    input:
        regions="results/regions/regions.parquet",
        objects="results/visual_genome/objects.parquet",
        relationships="results/visual_genome/relationships.parquet",
        region_graphs=get_region_graph_files(),
    output:
        graphs="results/graphs/annotated.parquet",
        accounting="results/graphs/annotated.accounting.csv",
    log:
        "results/logs/build_region_graphs/build_region_graphs.log",
    benchmark:
        "results/benchmarks/build_region_graphs/build_region_graphs.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
    params:
        code=code_digest("build_region_graphs.py"),
    message:
        "Aligning annotated graphs with captions"
    script:
        "../scripts/build_region_graphs.py"


rule filter_graphs:
    """Keep graphs with enough atoms and compounds, one of equal ones, and count the others by reason."""
    input:
        graphs=get_unfiltered_graphs(),
    output:
        graphs="results/graphs/regions.parquet",
        accounting="results/graphs/accounting.csv",
    log:
        "results/logs/filter_graphs/filter_graphs.log",
    benchmark:
        "results/benchmarks/filter_graphs/filter_graphs.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(12000),
    params:
        cfg=config_json("graphs", "min_atoms", "min_compounds", "duplicates"),
        code=code_digest("filter_graphs.py"),
    message:
        "Filtering graphs"
    script:
        "../scripts/filter_graphs.py"
