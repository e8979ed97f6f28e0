rule tabulate_parser_quality:
    """Measure the parser on captions that people have labelled, by style."""
    input:
        captions=RESOURCES / "parser" / "web_captions.jsonl",
        sheets=config["parser_review"]["labelled"],
    output:
        table="results/tables/parser_quality.csv",
    log:
        "results/logs/tabulate_parser_quality/tabulate_parser_quality.log",
    benchmark:
        "results/benchmarks/tabulate_parser_quality/tabulate_parser_quality.tsv"
    conda:
        "../../environment.yml"
    params:
        cfg=to_json(settings.parser_quality_settings(config)),
        code=code_digest("tabulate_parser_quality.py"),
    message:
        "Measuring the parser on labelled captions"
    script:
        "../scripts/tabulate_parser_quality.py"


rule build_parser_review:
    """Write a sheet of captions sampled from each corpus, on which people check the parser."""
    input:
        captions=[
            path
            for corpus in config["corpora"]["use"]
            for path in get_corpus_paths(corpus)
        ],
    output:
        sheet="results/review/parser_captions.csv",
    log:
        "results/logs/build_parser_review/build_parser_review.log",
    benchmark:
        "results/benchmarks/build_parser_review/build_parser_review.tsv"
    conda:
        "../../environment.yml"
    params:
        cfg=to_json(settings.parser_review_settings(config)),
        corpora={
            corpus: get_corpus_paths(corpus) for corpus in config["corpora"]["use"]
        },
        code=code_digest("build_parser_review.py"),
    message:
        "Sampling captions on which people check the parser"
    script:
        "../scripts/build_parser_review.py"
