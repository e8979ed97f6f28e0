rule build_clic_data:
    """Cut captions with images into sentences and tag the first ones, once for all trainings; runs only if it is named."""
    input:
        captions=get_captioned("clic"),
        image_files=get_captioned_images("clic"),
        rules=RESOURCES / "clic" / "sentences.yaml",
    output:
        rows="results/clic/data/rows.parquet",
        images="results/clic/data/images.parquet",
        held_out="results/clic/data/held_out.jsonl",
        packed=get_packed("clic"),
        accounting="results/clic/data/accounting.csv",
    log:
        "results/logs/build_clic_data/build_clic_data.log",
    benchmark:
        "results/benchmarks/build_clic_data/build_clic_data.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(16000),
        runtime=scaled(480),
    params:
        cfg=get_clic_data_settings(),
        code=code_digest("build_clic_data.py"),
    message:
        "Cutting captions into sentences"
    script:
        "../scripts/build_clic_data.py"


rule build_clic_candidates:
    """Find words that could stand in a word's place, for better negatives; runs only if it is named."""
    input:
        rows="results/clic/data/rows.parquet",
        tables=get_foil_tables(),
        wordnet="results/wordnet",
    output:
        candidates="results/clic/data/candidates.parquet",
        accounting="results/clic/data/candidates.accounting.csv",
    log:
        "results/logs/build_clic_candidates/build_clic_candidates.log",
    benchmark:
        "results/benchmarks/build_clic_candidates/build_clic_candidates.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
        runtime=scaled(480),
    params:
        cfg=to_json(tuning_settings.clic_candidates_settings(config)),
        code=code_digest("build_clic_candidates.py"),
    message:
        "Finding candidates for words"
    script:
        "../scripts/build_clic_candidates.py"


rule write_clic_negatives:
    """Write negatives of both kinds for people to judge; runs only if it is named."""
    input:
        rows="results/clic/data/rows.parquet",
        images="results/clic/data/images.parquet",
        candidates="results/clic/data/candidates.parquet",
    output:
        table="results/clic/negatives.csv",
        page="results/clic/negatives.html",
    log:
        "results/logs/write_clic_negatives/write_clic_negatives.log",
    benchmark:
        "results/benchmarks/write_clic_negatives/write_clic_negatives.tsv"
    conda:
        "../../environment.yml"
    params:
        cfg=to_json(config["clic"]["sample"]),
        code=code_digest("write_clic_negatives.py"),
    message:
        "Writing negatives to judge"
    script:
        "../scripts/write_clic_negatives.py"


rule extract_clic_vision:
    """Encode single images once for all trainings that leave the vision tower as it is; runs only if it is named."""
    input:
        images="results/clic/data/images.parquet",
        places=get_captioned_places("clic"),
        weights=get_weights,
    output:
        index="results/clic/vision/{model}/index.json",
        features="results/clic/vision/{model}/features.npy",
        accounting="results/clic/vision/{model}/accounting.csv",
    log:
        "results/logs/extract_clic_vision/{model}.log",
    benchmark:
        "results/benchmarks/extract_clic_vision/{model}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        gpu=1,
        mem_mb=scaled(8000),
        runtime=scaled(240),
    params:
        cfg=get_settings(tuning_settings.loading_settings, "model"),
        code=code_digest("extract_clic_vision.py"),
    message:
        "Encoding the images of CLIC with {wildcards.model}"
    script:
        "../scripts/extract_clic_vision.py"


rule train_clic:
    """Fine-tune a model by CLIC, an ablation or a baseline of it; goes on after a kill; runs only if it is named."""
    input:
        rows="results/clic/data/rows.parquet",
        images="results/clic/data/images.parquet",
        places=get_captioned_places("clic"),
        candidates=get_clic_candidates,
        vision=get_clic_vision,
        weights=get_weights,
    output:
        weights="results/clic/trained/{model}/{variant}/seed_{seed}/clic.safetensors",
        config="results/clic/trained/{model}/{variant}/seed_{seed}/clic.json",
        curve="results/clic/trained/{model}/{variant}/seed_{seed}/learning_curve.csv",
        accounting="results/clic/trained/{model}/{variant}/seed_{seed}/accounting.csv",
    log:
        "results/logs/train_clic/{model}_{variant}_seed_{seed}.log",
    benchmark:
        "results/benchmarks/train_clic/{model}_{variant}_seed_{seed}.tsv"
    wildcard_constraints:
        variant="|".join(clic_settings.VARIANTS),
    conda:
        "../../environment.yml"
    threads: 1 + config["clic"]["training"]["workers"] * config["clic"]["training"]["gpus"]
    resources:
        gpu=config["clic"]["training"]["gpus"],
        mem_mb=scaled(16000),
        runtime=scaled(480),
    params:
        checkpoints="results/clic/checkpoints/{model}/{variant}/seed_{seed}",
        cfg=get_clic_settings,
        code=code_digest("train_clic.py"),
    message:
        "Tuning {wildcards.model} by CLIC ({wildcards.variant}), seed {wildcards.seed}"
    script:
        "../scripts/train_clic.py"


rule tabulate_clic:
    """Write what models gain and lose by CLIC; runs only if it is named."""
    input:
        items_table=get_clic_results(
            "results/benchmark_items/{benchmark}/items.parquet"
        ),
        scores=get_clic_results("results/benchmark_scores/{model}/{benchmark}.parquet"),
        systematicity_sets=get_retrieval_sets("systematicity"),
        productivity_sets=get_retrieval_sets("productivity"),
        systematicity_scores=get_clic_scores("systematicity"),
        productivity_scores=get_clic_scores("productivity"),
        splits=expand(
            "results/splits/{corpus}.parquet", corpus=config["corpora"]["use"]
        ),
        manifests=get_compared_manifests(tuning_settings.clic_benchmarks(config)),
        published=[RESOURCES / "published" / "benchmarks.csv"],
    output:
        table="results/tables/clic.csv",
    log:
        "results/logs/tabulate_clic/tabulate_clic.log",
    benchmark:
        "results/benchmarks/tabulate_clic/tabulate_clic.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
    params:
        cfg=to_json(tuning_settings.clic_tables_settings(config)),
        code=code_digest("tabulate_clic.py"),
    message:
        "Writing the table of CLIC"
    script:
        "../scripts/tabulate_clic.py"


rule plot_clic:
    """Draw learning curves and gains of CLIC; runs only if it is named."""
    input:
        curves=get_clic_trainings("learning_curve.csv"),
        table="results/tables/clic.csv",
    output:
        curves="results/clic/plots/learning_curves.png",
        gains="results/clic/plots/gains.png",
    log:
        "results/logs/plot_clic/plot_clic.log",
    benchmark:
        "results/benchmarks/plot_clic/plot_clic.tsv"
    conda:
        "../../environment.yml"
    params:
        labels=get_clic_labels(),
        cells=get_clic_cells(),
        code=code_digest("plot_clic.py"),
    message:
        "Drawing learning curves and gains of CLIC"
    script:
        "../scripts/plot_clic.py"


rule export_clic:
    """Write a tuned model as checkpoints of open_clip and, where it can hold it, of transformers; runs only if it is named."""
    input:
        weights=get_weights,
    output:
        folder=directory("results/clic/export/{model}"),
    log:
        "results/logs/export_clic/{model}.log",
    benchmark:
        "results/benchmarks/export_clic/{model}.tsv"
    wildcard_constraints:
        model="clic[a-z0-9_]*:.+",
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
    params:
        cfg=get_settings(tuning_settings.loading_settings, "model"),
        code=code_digest("export_clic.py"),
    message:
        "Exporting {wildcards.model}"
    script:
        "../scripts/export_clic.py"
