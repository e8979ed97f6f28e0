rule set_layers:
    """Name a pair of layers of a sweep; runs only if it is named."""
    output:
        layers="results/negation/sweep/{model}/{peak}_{anchor}/layers.json",
    log:
        "results/logs/set_layers/{model}_{peak}_{anchor}.log",
    benchmark:
        "results/benchmarks/set_layers/{model}_{peak}_{anchor}.tsv"
    conda:
        "../../environment.yml"
    params:
        code=code_digest("set_layers.py"),
    message:
        "Layers {wildcards.peak} and {wildcards.anchor} of {wildcards.model}"
    script:
        "../scripts/set_layers.py"


use rule extract_negation_features as extract_swept_features with:
    input:
        pairs="results/negation/data/pairs.parquet",
        questions="results/negation/data/questions.parquet",
        layers="results/negation/sweep/{model}/{peak}_{anchor}/layers.json",
        weights=get_weights,
    output:
        index="results/negation/sweep/{model}/{peak}_{anchor}/captions/index.json",
    log:
        "results/logs/extract_swept_features/{model}_{peak}_{anchor}.log",
    benchmark:
        "results/benchmarks/extract_swept_features/{model}_{peak}_{anchor}.tsv"


use rule train_peakpatch as train_swept_peakpatch with:
    input:
        pairs="results/negation/data/pairs.parquet",
        questions="results/negation/data/questions.parquet",
        images="results/negation/data/images.parquet",
        features="results/features/{model}/negation.parquet",
        identity="results/features/{model}/negation.identity.json",
        captions="results/negation/sweep/{model}/{peak}_{anchor}/captions/index.json",
        weights=get_weights,
    output:
        weights="results/negation/sweep/{model}/{peak}_{anchor}/{variant}_seed_{seed}/peakpatch.safetensors",
        config="results/negation/sweep/{model}/{peak}_{anchor}/{variant}_seed_{seed}/peakpatch.json",
        curve="results/negation/sweep/{model}/{peak}_{anchor}/{variant}_seed_{seed}/learning_curve.csv",
        accounting="results/negation/sweep/{model}/{peak}_{anchor}/{variant}_seed_{seed}/accounting.csv",
    log:
        "results/logs/train_swept_peakpatch/{model}_{peak}_{anchor}_{variant}_seed_{seed}.log",
    benchmark:
        "results/benchmarks/train_swept_peakpatch/{model}_{peak}_{anchor}_{variant}_seed_{seed}.tsv"
    params:
        checkpoints="results/negation/checkpoints/{model}/{peak}_{anchor}/{variant}_seed_{seed}",
        cfg=get_training_settings,
        code=code_digest("train_peakpatch.py"),


rule tabulate_sweep:
    """Compare what PeakPatch makes of questions at each pair of layers; runs only if it is named."""
    input:
        layers=get_backbones("results/negation/layers/{model}/layers.json"),
        configs=get_swept_trainings("peakpatch.json"),
    output:
        table="results/negation/sweep.csv",
    log:
        "results/logs/tabulate_sweep/tabulate_sweep.log",
    benchmark:
        "results/benchmarks/tabulate_sweep/tabulate_sweep.tsv"
    conda:
        "../../environment.yml"
    params:
        models=get_backbones("{model}"),
        code=code_digest("tabulate_sweep.py"),
    message:
        "Comparing layers"
    script:
        "../scripts/tabulate_sweep.py"


rule plot_sweep:
    """Draw the sweep of layers; runs only if it is named."""
    input:
        table="results/negation/sweep.csv",
    output:
        plot="results/negation/plots/sweep.png",
    log:
        "results/logs/plot_sweep/plot_sweep.log",
    benchmark:
        "results/benchmarks/plot_sweep/plot_sweep.tsv"
    conda:
        "../../environment.yml"
    params:
        code=code_digest("plot_sweep.py"),
    message:
        "Drawing the sweep of layers"
    script:
        "../scripts/plot_sweep.py"
