rule extract_features:
    """Encode the texts and crops of a family's retrieval sets that the feature store does not hold yet."""
    input:
        sets=get_retrieval_sets("{family}"),
        images=get_images_table,
        places=get_found_image_places(),
        weights=get_weights,
        shared=get_shared_features,
    output:
        index="results/features/{model}/{family}.parquet",
        identity="results/features/{model}/{family}.identity.json",
        accounting="results/features/{model}/{family}.accounting.csv",
    log:
        "results/logs/extract_features/{model}_{family}.log",
    benchmark:
        "results/benchmarks/extract_features/{model}_{family}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        gpu=1,
        mem_mb=scaled(8000),
        runtime=scaled(240),
    params:
        cfg=get_settings(settings.features_settings, "model"),
        image_places=get_image_places(),
        code=code_digest("extract_features.py"),
    message:
        "Encoding {wildcards.family} sets with {wildcards.model}"
    script:
        "../scripts/extract_features.py"


rule prune_stores:
    """Remove what no result points to from the stores of features and likelihoods; runs only if it is named."""
    log:
        "results/logs/prune_stores/prune_stores.log",
    conda:
        "../../environment.yml"
    params:
        cfg=config_json("stores"),
        code=code_digest("prune_stores.py"),
    message:
        "Pruning the stores of features and likelihoods"
    script:
        "../scripts/prune_stores.py"
