rule write_crepe_csv:
    """Write all sets in the format of CREPE's released files, for its authors' scripts; runs only if it is named."""
    input:
        systematicity=get_retrieval_sets("systematicity"),
        productivity=get_retrieval_sets("productivity"),
        subgraphs=get_exported_subgraphs(),
        splits=expand(
            "results/splits/{corpus}.parquet", corpus=config["corpora"]["use"]
        ),
    output:
        folder=directory("results/export/crepe_csv"),
        accounting="results/export/crepe_csv.accounting.csv",
    log:
        "results/logs/write_crepe_csv/write_crepe_csv.log",
    benchmark:
        "results/benchmarks/write_crepe_csv/write_crepe_csv.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
    params:
        cfg=to_json(settings.crepe_csv_settings(config)),
        code=code_digest("write_crepe_csv.py"),
    message:
        "Exporting the sets in CREPE's format"
    script:
        "../scripts/write_crepe_csv.py"


rule write_datasets_folder:
    """Write all sets as Parquet with a card, for Hugging Face's datasets; runs only if it is named."""
    input:
        systematicity=get_retrieval_sets("systematicity"),
        productivity=get_retrieval_sets("productivity"),
        splits=expand(
            "results/splits/{corpus}.parquet", corpus=config["corpora"]["use"]
        ),
    output:
        folder=directory("results/export/datasets"),
    log:
        "results/logs/write_datasets_folder/write_datasets_folder.log",
    benchmark:
        "results/benchmarks/write_datasets_folder/write_datasets_folder.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
    params:
        cfg=to_json(settings.card_settings(config)),
        code=code_digest("write_datasets_folder.py"),
    message:
        "Exporting the sets as Parquet with a card"
    script:
        "../scripts/write_datasets_folder.py"


rule write_webdataset:
    """Write all sets with their crops as tar shards for WebDataset; runs only if it is named."""
    input:
        systematicity=get_retrieval_sets("systematicity"),
        productivity=get_retrieval_sets("productivity"),
        images="results/visual_genome/images.parquet",
        places=get_found_image_places(),
        splits=expand(
            "results/splits/{corpus}.parquet", corpus=config["corpora"]["use"]
        ),
    output:
        folder=directory("results/export/webdataset"),
        accounting="results/export/webdataset.accounting.csv",
    log:
        "results/logs/write_webdataset/write_webdataset.log",
    benchmark:
        "results/benchmarks/write_webdataset/write_webdataset.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
        runtime=scaled(480),
    params:
        cfg=to_json(settings.crepe_csv_settings(config)),
        code=code_digest("write_webdataset.py"),
    message:
        "Exporting the sets with their crops"
    script:
        "../scripts/write_webdataset.py"
