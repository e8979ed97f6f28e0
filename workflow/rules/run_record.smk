rule write_run_record:
    """Record what the results rest on: versions, config, seeds, hashes, time and memory of the rules."""
    input:
        tables=expand("results/tables/{table}.csv", table=TABLES),
        pages=expand("results/report/{table}.html", table=TABLES),
        plots=PLOTS,
        identities=expand(
            "results/features/{model}/productivity.identity.json", model=USED_MODELS
        ),
        resources=get_resources(),
        files=get_file_index(),
        corpora=expand(
            "results/corpora/{corpus}.json",
            corpus=[] if IS_RELEASED else config["corpora"]["use"],
        ),
        requirements=BASE / "requirements.txt",
    output:
        record="results/run.json",
        page=report(
            "results/report/run.html",
            caption="../report/run.rst",
            category=REPORT_RUN,
            labels={"content": "versions, seeds, hashes, time and memory"},
        ),
    log:
        "results/logs/write_run_record/write_run_record.log",
    conda:
        "../../environment.yml"
    params:
        cfg=to_json(config),
        benchmarks="results/benchmarks",
        code=code_digest("write_run_record.py"),
    message:
        "Recording what the results rest on"
    script:
        "../scripts/write_run_record.py"
