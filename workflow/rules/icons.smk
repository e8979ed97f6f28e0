rule build_icons_visual_genome:
    """Draw the miniature Visual Genome of the icons world."""
    input:
        world=RESOURCES / "icons" / "world.yaml",
    output:
        annotations=[
            f"results/icons/visual_genome/{name}.json.zip"
            for name in visual_genome.ANNOTATIONS
        ],
        images=[
            f"results/icons/visual_genome/{name}" for name in image_files.IMAGE_ZIPS
        ],
    log:
        "results/logs/build_icons_visual_genome/build_icons_visual_genome.log",
    benchmark:
        "results/benchmarks/build_icons_visual_genome/build_icons_visual_genome.tsv"
    conda:
        "../../environment.yml"
    params:
        cfg=config_json("icons", "seed", "n_images"),
        code=code_digest("build_icons_visual_genome.py"),
    message:
        "Drawing the miniature Visual Genome"
    script:
        "../scripts/build_icons_visual_genome.py"


rule build_icons_corpus:
    """Draw one training corpus of the icons world: captions in their native format, and images."""
    input:
        world=RESOURCES / "icons" / "world.yaml",
    output:
        captions=directory("results/icons/corpora/{corpus}/captions"),
        images="results/icons/corpora/{corpus}/images.zip",
        truth="results/icons/corpora/{corpus}/truth.json",
    log:
        "results/logs/build_icons_corpus/{corpus}.log",
    benchmark:
        "results/benchmarks/build_icons_corpus/{corpus}.tsv"
    conda:
        "../../environment.yml"
    params:
        cfg=get_settings(icons_settings.icons_corpus_settings, "corpus"),
        code=code_digest("build_icons_corpus.py"),
    message:
        "Drawing {wildcards.corpus}"
    script:
        "../scripts/build_icons_corpus.py"


rule train_icons_model:
    """Train a mini CLIP on one corpus of the icons world, on one thread."""
    input:
        captions="results/icons/corpora/{corpus}/captions",
        images="results/icons/corpora/{corpus}/images.zip",
    output:
        config=f"results/icons/models/{{corpus}}/text_layers_{{n_layers}}/seed_{{seed}}/{CONFIG_FILE}",
        weights=f"results/icons/models/{{corpus}}/text_layers_{{n_layers}}/seed_{{seed}}/{WEIGHTS_FILE}",
    log:
        "results/logs/train_icons_model/{corpus}_{n_layers}_seed_{seed}.log",
    benchmark:
        "results/benchmarks/train_icons_model/{corpus}_{n_layers}_seed_{seed}.tsv"
    priority: 10
    conda:
        "../../environment.yml"
    params:
        cfg=get_settings(icons_settings.training_settings, "corpus"),
        code=code_digest("train_icons_model.py"),
    message:
        "Training a mini CLIP of {wildcards.n_layers} text layers on {wildcards.corpus}, seed {wildcards.seed}"
    script:
        "../scripts/train_icons_model.py"


rule tabulate_icons_control:
    """Compare the gap of a mini CLIP with that of its twin, trained on the same corpus with nothing held out."""
    input:
        sets=get_retrieval_sets("systematicity"),
        splits=f"results/splits/{CONTROL['corpus']}.parquet",
        scores=f"results/scores/{CONTROL['model']}/systematicity.parquet",
        twin_scores=f"results/scores/{CONTROL['twin']}/systematicity.parquet",
    output:
        table="results/tables/icons_control.csv",
    log:
        "results/logs/tabulate_icons_control/tabulate_icons_control.log",
    benchmark:
        "results/benchmarks/tabulate_icons_control/tabulate_icons_control.tsv"
    conda:
        "../../environment.yml"
    params:
        cfg=to_json(CONTROL),
        code=code_digest("tabulate_icons_control.py"),
    message:
        "Comparing a mini CLIP with its twin"
    script:
        "../scripts/tabulate_icons_control.py"
