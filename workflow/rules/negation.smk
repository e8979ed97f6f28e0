if config["negation"]["data"]["source"] == "released":

    rule build_released_negation_data:
        """Make pairs and questions of negation from COCO by the recipe of PeakPatch's release; runs only if it is named."""
        input:
            instances=config["negation"]["data"]["files"][:1],
            captions=config["negation"]["data"]["files"][1:2],
            images_place=config["negation"]["data"]["images"] or [],
        output:
            pairs="results/negation/data/pairs.parquet",
            questions="results/negation/data/questions.parquet",
            images="results/negation/data/images.parquet",
            sets="results/negation/data/sets.parquet",
            negcap="results/negation/data/negcap.csv",
            mcq="results/negation/data/mcq.csv",
            accounting="results/negation/data/accounting.csv",
        log:
            "results/logs/build_released_negation_data/build_released_negation_data.log",
        benchmark:
            "results/benchmarks/build_released_negation_data/build_released_negation_data.tsv"
        conda:
            "../../environment.yml"
        resources:
            mem_mb=scaled(16000),
        params:
            cfg=to_json({"seed": config["negation"]["data"]["seed"]}),
            code=code_digest("build_released_negation_data.py"),
        message:
            "Making data of negation by the released recipe"
        script:
            "../scripts/build_released_negation_data.py"

else:

    rule build_negation_data:
        """Make pairs and questions of negation from captions with images; runs only if it is named."""
        input:
            captions=get_captioned("negation"),
            image_files=get_captioned_images("negation"),
            forms=RESOURCES / "negation" / "templates.yaml",
            tables=get_foil_tables(),
            wordnet="results/wordnet",
        output:
            pairs="results/negation/data/pairs.parquet",
            questions="results/negation/data/questions.parquet",
            images="results/negation/data/images.parquet",
            sets="results/negation/data/sets.parquet",
            packed=get_packed("negation"),
            accounting="results/negation/data/accounting.csv",
        log:
            "results/logs/build_negation_data/build_negation_data.log",
        benchmark:
            "results/benchmarks/build_negation_data/build_negation_data.tsv"
        conda:
            "../../environment.yml"
        resources:
            mem_mb=scaled(16000),
            runtime=scaled(480),
        params:
            cfg=get_negation_data_settings(),
            code=code_digest("build_negation_data.py"),
        message:
            "Making data of negation"
        script:
            "../scripts/build_negation_data.py"


rule build_negation_benchmark:
    """Make a test of negation from this run's images and their annotations; runs only if it is named."""
    input:
        images="results/visual_genome/images.parquet",
        objects="results/visual_genome/objects.parquet",
        relationships="results/visual_genome/relationships.parquet",
        forms=RESOURCES / "negation" / "templates.yaml",
        tables=get_foil_tables(),
        wordnet="results/wordnet",
    output:
        questions="results/negation/benchmark/questions.jsonl",
        captions="results/negation/benchmark/captions.jsonl",
        classes="results/negation/benchmark/classes.jsonl",
        accounting="results/negation/benchmark/accounting.csv",
    log:
        "results/logs/build_negation_benchmark/build_negation_benchmark.log",
    benchmark:
        "results/benchmarks/build_negation_benchmark/build_negation_benchmark.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
    params:
        cfg=to_json(tuning_settings.negation_test_settings(config)),
        code=code_digest("build_negation_benchmark.py"),
    message:
        "Making a test of negation"
    script:
        "../scripts/build_negation_benchmark.py"


use rule extract_features as extract_training_features with:
    input:
        sets=["results/negation/data/sets.parquet"],
        images="results/negation/data/images.parquet",
        places=get_negation_image_places,
        weights=get_weights,
        shared=get_shared_features,
    log:
        "results/logs/extract_training_features/{model}_{family}.log",
    benchmark:
        "results/benchmarks/extract_training_features/{model}_{family}.tsv"
    wildcard_constraints:
        family="negation",
    params:
        cfg=get_settings(settings.features_settings, "model"),
        image_places=get_negation_image_places,
        code=code_digest("extract_features.py"),


rule analyse_layers:
    """Find where a frozen text encoder tells a caption from its negation, and where it loses that; runs only if it is named."""
    input:
        pairs="results/negation/data/pairs.parquet",
        images="results/negation/data/images.parquet",
        index="results/features/{model}/negation.parquet",
        identity="results/features/{model}/negation.identity.json",
        paraphrases=RESOURCES / "negation" / "paraphrases.yaml",
        aliases=[path for path in get_alias_files() if "object" in path],
        weights=get_weights,
    output:
        layers="results/negation/layers/{model}/layers.json",
        curves="results/negation/layers/{model}/curves.csv",
        accounting="results/negation/layers/{model}/accounting.csv",
    log:
        "results/logs/analyse_layers/{model}.log",
    benchmark:
        "results/benchmarks/analyse_layers/{model}.tsv"
    conda:
        "../../environment.yml"
    resources:
        gpu=1,
        mem_mb=scaled(8000),
    params:
        cfg=get_settings(tuning_settings.layers_settings, "model"),
        code=code_digest("analyse_layers.py"),
    message:
        "Analysing the text layers of {wildcards.model}"
    script:
        "../scripts/analyse_layers.py"


rule plot_layers:
    """Draw the analysis of text layers; runs only if it is named."""
    input:
        layers=get_backbones("results/negation/layers/{model}/layers.json"),
        published=RESOURCES / "negation" / "published_layers.csv",
    output:
        curves="results/negation/plots/layers.png",
        controls="results/negation/plots/controls.png",
        probe="results/negation/plots/probe.png",
    log:
        "results/logs/plot_layers/plot_layers.log",
    benchmark:
        "results/benchmarks/plot_layers/plot_layers.tsv"
    conda:
        "../../environment.yml"
    params:
        code=code_digest("plot_layers.py"),
    message:
        "Drawing the analysis of text layers"
    script:
        "../scripts/plot_layers.py"


rule extract_negation_features:
    """Encode the captions of pairs and questions as PeakPatch reads them: tokens of two layers; runs only if it is named."""
    input:
        pairs="results/negation/data/pairs.parquet",
        questions="results/negation/data/questions.parquet",
        layers="results/negation/layers/{model}/layers.json",
        weights=get_weights,
    output:
        index="results/negation/captions/{model}/index.json",
    log:
        "results/logs/extract_negation_features/{model}.log",
    benchmark:
        "results/benchmarks/extract_negation_features/{model}.tsv"
    conda:
        "../../environment.yml"
    resources:
        gpu=1,
        mem_mb=scaled(8000),
        runtime=scaled(240),
    params:
        cfg=get_settings(tuning_settings.negation_features_settings, "model"),
        code=code_digest("extract_negation_features.py"),
    message:
        "Encoding the captions of negation with {wildcards.model}"
    script:
        "../scripts/extract_negation_features.py"


rule train_peakpatch:
    """Train PeakPatch, or what is left of it without a part, on a frozen model; goes on after a kill; runs only if it is named."""
    input:
        pairs="results/negation/data/pairs.parquet",
        questions="results/negation/data/questions.parquet",
        images="results/negation/data/images.parquet",
        features="results/features/{model}/negation.parquet",
        identity="results/features/{model}/negation.identity.json",
        captions="results/negation/captions/{model}/index.json",
        weights=get_weights,
    output:
        weights="results/negation/peakpatch/{model}/{variant}/seed_{seed}/peakpatch.safetensors",
        config="results/negation/peakpatch/{model}/{variant}/seed_{seed}/peakpatch.json",
        curve="results/negation/peakpatch/{model}/{variant}/seed_{seed}/learning_curve.csv",
        accounting="results/negation/peakpatch/{model}/{variant}/seed_{seed}/accounting.csv",
    log:
        "results/logs/train_peakpatch/{model}_{variant}_seed_{seed}.log",
    benchmark:
        "results/benchmarks/train_peakpatch/{model}_{variant}_seed_{seed}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        gpu=1,
        mem_mb=scaled(16000),
        runtime=scaled(480),
    params:
        checkpoints="results/negation/checkpoints/{model}/{variant}/seed_{seed}",
        cfg=get_training_settings,
        code=code_digest("train_peakpatch.py"),
    message:
        "Training PeakPatch ({wildcards.variant}) on {wildcards.model}, seed {wildcards.seed}"
    script:
        "../scripts/train_peakpatch.py"


rule plot_learning_curves:
    """Draw losses and validation accuracy of PeakPatch's trainings; runs only if it is named."""
    input:
        curves=get_trainings("learning_curve.csv"),
    output:
        plot="results/negation/plots/learning_curves.png",
    log:
        "results/logs/plot_learning_curves/plot_learning_curves.log",
    benchmark:
        "results/benchmarks/plot_learning_curves/plot_learning_curves.tsv"
    conda:
        "../../environment.yml"
    params:
        labels=get_training_labels(),
        code=code_digest("plot_learning_curves.py"),
    message:
        "Drawing the learning curves of PeakPatch"
    script:
        "../scripts/plot_learning_curves.py"


rule score_image_controls:
    """Score questions with other images, no image, no text branch, and measure what was corrected; runs only if it is named."""
    input:
        items_table="results/benchmark_items/{benchmark}/items.parquet",
        index="results/features/{model}/bench_{benchmark}.parquet",
        identity="results/features/{model}/bench_{benchmark}.identity.json",
        frozen_index=get_frozen_features,
        weights=get_weights,
    output:
        controls="results/negation/controls/{model}/{benchmark}.parquet",
        changes="results/negation/changes/{model}/{benchmark}.parquet",
    log:
        "results/logs/score_image_controls/{model}_{benchmark}.log",
    benchmark:
        "results/benchmarks/score_image_controls/{model}_{benchmark}.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
    params:
        cfg=get_settings(tuning_settings.image_controls_settings, "model"),
        code=code_digest("score_image_controls.py"),
    message:
        "Scoring {wildcards.benchmark} with controls of {wildcards.model}"
    script:
        "../scripts/score_image_controls.py"


rule tabulate_negation:
    """Write what corrections of negation gain, lose and rest on; runs only if it is named."""
    input:
        items_table=get_negation_results(
            "results/benchmark_items/{benchmark}/items.parquet"
        ),
        scores=get_negation_results(
            "results/benchmark_scores/{model}/{benchmark}.parquet", "all"
        ),
        blind=get_negation_results("results/benchmark_items/{benchmark}/blind.parquet"),
        controls=get_negation_results(
            "results/negation/controls/{model}/{benchmark}.parquet", "trained"
        ),
        changes=get_negation_results(
            "results/negation/changes/{model}/{benchmark}.parquet", "trained"
        ),
        systematicity_sets=get_retrieval_sets("systematicity"),
        productivity_sets=get_retrieval_sets("productivity"),
        systematicity_scores=get_negation_scores("systematicity"),
        productivity_scores=get_negation_scores("productivity"),
        manifests=get_compared_manifests(tuning_settings.compared_benchmarks(config)),
        published=[RESOURCES / "published" / "benchmarks.csv"],
    output:
        table="results/tables/negation.csv",
    log:
        "results/logs/tabulate_negation/tabulate_negation.log",
    benchmark:
        "results/benchmarks/tabulate_negation/tabulate_negation.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(8000),
    params:
        cfg=to_json(tuning_settings.negation_tables_settings(config)),
        code=code_digest("tabulate_negation.py"),
    message:
        "Writing the table of corrections of negation"
    script:
        "../scripts/tabulate_negation.py"


rule write_correction_examples:
    """Show what a correction does to prompts: maps, attention of its heads, features for a generator; runs only if it is named."""
    input:
        templates=RESOURCES / "negation" / "map_templates.yaml",
        attention=RESOURCES / "negation" / "attention_prompts.yaml",
        prompts=config["negation"]["judge"]["prompts"] or [],
        weights=get_weights,
    output:
        points="results/negation/examples/{model}/points.csv",
        cosines="results/negation/examples/{model}/cosines.csv",
        heads="results/negation/examples/{model}/attention.csv",
        embeddings="results/negation/examples/{model}/embeddings.safetensors",
        lines="results/negation/examples/{model}/prompts.jsonl",
    log:
        "results/logs/write_correction_examples/{model}.log",
    benchmark:
        "results/benchmarks/write_correction_examples/{model}.tsv"
    conda:
        "../../environment.yml"
    resources:
        gpu=1,
    params:
        cfg=get_settings(tuning_settings.correction_examples_settings, "model"),
        code=code_digest("write_correction_examples.py"),
    message:
        "Showing what {wildcards.model} corrects"
    script:
        "../scripts/write_correction_examples.py"


rule plot_correction:
    """Draw maps of texts before and after a correction, and the attention of its heads; runs only if it is named."""
    input:
        points="results/negation/examples/{model}/points.csv",
        cosines="results/negation/examples/{model}/cosines.csv",
        heads="results/negation/examples/{model}/attention.csv",
    output:
        maps="results/negation/plots/{model}/maps.png",
        attention="results/negation/plots/{model}/attention.png",
    log:
        "results/logs/plot_correction/{model}.log",
    benchmark:
        "results/benchmarks/plot_correction/{model}.tsv"
    conda:
        "../../environment.yml"
    params:
        code=code_digest("plot_correction.py"),
    message:
        "Drawing what {wildcards.model} corrects"
    script:
        "../scripts/plot_correction.py"


rule tabulate_judged_prompts:
    """Tabulate how a judge saw what a generator made of prompts; runs only if it is named."""
    input:
        prompts=get_judge_file("prompts"),
        judgements=get_judge_file("judgements"),
    output:
        table="results/tables/judged_prompts.csv",
        accounting="results/negation/judged_prompts/accounting.csv",
    log:
        "results/logs/tabulate_judged_prompts/tabulate_judged_prompts.log",
    benchmark:
        "results/benchmarks/tabulate_judged_prompts/tabulate_judged_prompts.tsv"
    conda:
        "../../environment.yml"
    params:
        cfg=to_json({"bad_rows": config["negation"]["judge"]["bad_rows"]}),
        code=code_digest("tabulate_judged_prompts.py"),
    message:
        "Tabulating the judge's answers"
    script:
        "../scripts/tabulate_judged_prompts.py"
