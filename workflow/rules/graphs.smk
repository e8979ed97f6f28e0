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
        mem_mb=4000,
    params:
        cfg=config_json("parser"),
        code=code_digest("parse_regions.py"),
    message:
        "Parsing regions, part {wildcards.part} of {wildcards.n_parts}"
    script:
        "../scripts/parse_regions.py"


rule filter_graphs:
    """Keep graphs with enough atoms and compounds, one of equal ones, and count the others by reason."""
    input:
        parsed=get_parsed_regions(),
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
        mem_mb=8000,
    params:
        cfg=config_json("graphs", "min_atoms", "min_compounds", "duplicates"),
        code=code_digest("filter_graphs.py"),
    message:
        "Filtering graphs"
    script:
        "../scripts/filter_graphs.py"
