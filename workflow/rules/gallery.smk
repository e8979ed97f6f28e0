rule build_gallery:
    """Build a page on which people look at retrieval sets and at what each model made of them."""
    input:
        systematicity=get_retrieval_sets("systematicity"),
        productivity=get_retrieval_sets("productivity"),
        systematicity_scores=expand(
            "results/scores/{model}/systematicity.parquet",
            model=MODELS_OF["systematicity"],
        ),
        productivity_scores=expand(
            "results/scores/{model}/productivity.parquet",
            model=MODELS_OF["productivity"],
        ),
        splits=expand(
            "results/splits/{corpus}.parquet", corpus=config["corpora"]["use"]
        ),
        images="results/visual_genome/images.parquet",
        places=get_found_image_places(),
        body=RESOURCES / "pages" / "gallery.html",
        styles=[RESOURCES / "pages" / name for name in ("page.css", "gallery.css")],
        scripts=[
            RESOURCES / "pages" / name
            for name in ("gallery_filters.js", "gallery_cards.js", "gallery.js")
        ],
    output:
        page="results/gallery/index.html",
        report_page=report(
            "results/gallery/report.html",
            caption="../report/gallery.rst",
            category=REPORT_SETS,
            labels={"content": "gallery: sets by filter"},
        ),
    log:
        "results/logs/build_gallery/build_gallery.log",
    benchmark:
        "results/benchmarks/build_gallery/build_gallery.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
    params:
        cfg=to_json(settings.gallery_settings(config)),
        code=code_digest("build_gallery.py"),
    message:
        "Building the gallery of retrieval sets"
    script:
        "../scripts/build_gallery.py"
