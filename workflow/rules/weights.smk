rule fetch_weights:
    """Fetch the weights of a model that names a tag, a repository of the hub or a URL; jobs that compute are offline."""
    input:
        table=ancient(RESOURCES / "models" / "models.csv"),
    output:
        index="results/weights/{model}.weights.json",
    log:
        "results/logs/fetch_weights/{model}.log",
    benchmark:
        "results/benchmarks/fetch_weights/{model}.tsv"
    conda:
        "../../environment.yml"
    params:
        cfg=get_settings(settings.weights_settings, "model"),
    message:
        "Fetching the weights of {wildcards.model}"
    script:
        "../scripts/fetch_weights.py"
