rule plan:
    """Estimate jobs, time and disk of the configured run, and list missing files; make nothing."""
    input:
        costs=RESOURCES / "plan" / "costs.csv",
        architectures=RESOURCES / "plan" / "architectures.csv",
    log:
        "results/logs/plan/plan.log",
    conda:
        "../../environment.yml"
    params:
        cfg=to_json(config),
        sources=get_source_files(),
        images=get_found_image_places(),
        others=get_manifest_files() + get_corpus_manifests(*config["corpora"]["use"]),
        downloads=get_missing_downloads(),
        corpora={
            corpus: get_corpus_paths(corpus) for corpus in config["corpora"]["use"]
        },
        snakefile=workflow.main_snakefile,
        profile=str(BASE / "profiles" / "plain"),
        n_cores=get_n_cores,
        code=code_digest("plan.py"),
    message:
        "Planning the run"
    script:
        "../scripts/plan.py"
