PAGES = RESOURCES / "pages"
REVIEWED_CORPORA = {
    corpus: get_corpus_paths(corpus)
    for corpus in config["corpora"]["use"]
    if config["review"]["captions_per_corpus"] and not IS_RELEASED
}


rule build_review_page:
    """Write the page on which people review captions, foils and the parser; runs only if it is named."""
    input:
        systematicity=get_retrieval_sets("systematicity"),
        productivity=get_retrieval_sets("productivity"),
        captions=[
            f"results/captions/{part}.parquet"
            for part in get_parts(config["foils"]["parts"])
            if not IS_RELEASED
        ],
        subgraphs=get_exported_subgraphs(),
        images="results/visual_genome/images.parquet",
        places=get_found_image_places(),
        corpora=[path for paths in REVIEWED_CORPORA.values() for path in paths],
        body=PAGES / "review.html",
        styles=[PAGES / "page.css", PAGES / "review.css"],
        scripts=[
            PAGES / f"review{name}.js"
            for name in ("_answers", "_base", "_start", "_item", "")
        ],
    output:
        page="results/review/index.html",
        sample="results/review/sample.json",
    log:
        "results/logs/build_review_page/build_review_page.log",
    benchmark:
        "results/benchmarks/build_review_page/build_review_page.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
    params:
        cfg=to_json(settings.review_page_settings(config)),
        corpora=REVIEWED_CORPORA,
        code=code_digest("build_review_page.py"),
    message:
        "Drawing a sample for people to review"
    script:
        "../scripts/build_review_page.py"
