"""The checked config, wildcard constraints, local rules, and paths and params that depend on the config."""

import json
import os
import sys
from pathlib import Path

import yaml
from snakemake.utils import validate

BASE = Path(os.path.abspath(f"{workflow.current_basedir}/../.."))
SCRIPTS = BASE / "workflow" / "scripts"
RESOURCES = BASE / "resources"

if str(SCRIPTS) not in sys.path:
    sys.path.append(str(SCRIPTS))

from crepebench import (
    clic_settings,
    config_values,
    model_definitions,
    provenance,
    settings,
    tuning_settings,
)
from crepebench.families import FOIL_TYPES
from crepebench.released_files import find_released_paths
from icons_world import settings as icons_settings

SCHEMA = BASE / "workflow" / "schemas" / "config.schema.yaml"
validate(config, str(SCHEMA), set_default=False)
config_values.check_values(config, yaml.safe_load(SCHEMA.read_text()))
icons_settings.check_icons(config)
settings.check_names(config)
settings.check_exclusions(config)
settings.check_benchmarks(config)
tuning_settings.check_negation(config)
tuning_settings.check_clic(config)
MODELS = model_definitions.read_models(config)
USED_MODELS = model_definitions.used_models(config)
FAMILIES = list(FOIL_TYPES)
MODELS_OF = {family: model_definitions.models_of(config, family) for family in FAMILIES}
CONTROL = icons_settings.control_settings(config)
IS_RELEASED = settings.is_released(config)
TABLES = [
    "systematicity",
    "systematicity_gap",
    "systematicity_gap_seeds",
    "systematicity_by_kind",
    "productivity",
    "productivity_by_kind",
    "raw_retrieval",
    "blind_baselines",
    "released_scores" if IS_RELEASED else "parser_quality",
    "imagenet_correlation",
    "published_comparison",
    "dataset_statistics",
    "accounting",
]
PLOTS = [
    "results/plots/systematicity.png",
    "results/plots/systematicity_gap.png",
    "results/plots/productivity.png",
    "results/plots/imagenet_correlation.png",
    "results/plots/accounting.png",
    "results/plots/contact_sheet_systematicity.png",
]
PLOTS += [
    f"results/plots/contact_sheet_productivity_n{complexity}.png"
    for complexity in config["plots"]["contact_sheet_complexities"]
]
REPORT_RESULTS = "1 Results"
REPORT_SETS = "2 Retrieval sets"
REPORT_DROPS = "3 Drops"
REPORT_RUN = "4 Run"


wildcard_constraints:
    corpus="[a-z0-9_]+",
    benchmark="[a-z0-9_]+",
    model="([a-z0-9_]+:)*[a-z0-9_]+",
    family="systematicity|productivity|own",
    part="[0-9]{5}",
    n_parts="[0-9]{5}",
    seed="[0-9]+",
    n_layers="[0-9]+",
    peak="[0-9]+",
    anchor="[0-9]+",
    variant="joint|ecn|scn|no_anchor|detached",
    zero_shot_set="[a-z0-9_]+",
    table="[a-z0-9_]+",


# On a cluster these run where snakemake runs: they take seconds and little memory, or need the network.
localrules:
    build_wordnet,
    download_file,
    fetch_weights,
    plan,
    plot_accounting,
    plot_imagenet_correlation,
    plot_productivity,
    plot_systematicity,
    plot_systematicity_gap,
    plot_thinned_gap,
    tabulate_accounting,
    tabulate_blind_baselines,
    tabulate_image_problems,
    tabulate_imagenet_correlation,
    tabulate_published_comparison,
    write_run_record,
    write_table_formats,


def code_digest(script):
    """Digest of a script and the definitions of ours that it reaches."""
    return provenance.code_digest(str(SCRIPTS), script)


def scaled(amount):
    """Function that gives memory or time of a job: the amount at its first attempt, twice as much at each further one."""
    return lambda wildcards, attempt: amount * 2 ** (attempt - 1)


def get_n_cores(wildcards):
    """Cores of the run; where a cluster has no such number, as many as it runs jobs at once."""
    return workflow.resource_settings.cores or workflow.resource_settings.nodes


def to_json(value):
    """JSON with sorted keys: the form of every `cfg=` param."""
    return json.dumps(value, sort_keys=True)


def config_json(block, *keys):
    """A config block, or some of its keys, as JSON."""
    chosen = {key: config[block][key] for key in keys} if keys else config[block]
    return to_json(chosen)


def get_settings(select, wildcard):
    """Function of the wildcards that gives what `select` chooses from the config, as JSON."""
    return lambda wildcards: to_json(select(config, wildcards[wildcard]))


def get_parts(n_parts):
    """Names of the parts of a table that is made in n_parts jobs."""
    return [f"part-{part:05d}-of-{n_parts:05d}" for part in range(n_parts)]


def get_image_checks():
    """Checks of all images."""
    parts = get_parts(config["visual_genome"]["image_parts"])
    return [f"results/visual_genome/image_checks/{part}.csv" for part in parts]


def get_unfiltered_graphs():
    """Graphs of all kept regions, by the parser or as annotated."""
    if config["graphs"]["source"] == "visual_genome":
        return ["results/graphs/annotated.parquet"]
    parts = get_parts(config["graphs"]["parts"])
    return [f"results/graphs/parsed/{part}.parquet" for part in parts]


def get_foil_tables():
    """Tables of words that foils depend on."""
    return sorted(map(str, (RESOURCES / "foils").glob("*.csv")))


def get_foil_parts(folder):
    """Parts of the foils, or of their scores."""
    return [f"{folder}/{part}.parquet" for part in get_parts(config["foils"]["parts"])]


def get_foil_scores(folder):
    """Likelihoods of the foils, where a language model gives them."""
    is_scored = config["foils"]["plausibility"] in ("masked", "causal")
    is_used = is_scored and config["foils"]["protocol"] == "refined"
    return get_foil_parts(folder) if is_used else []


def get_entailment(wildcards):
    """Probabilities that foils follow from their truth, where a model of inference gives them."""
    is_asked = config["entailment"]["backend"] == "nli"
    folder = "results/foils/productivity/entailment"
    return (
        get_foil_parts(folder)
        if is_asked and wildcards.family == "productivity"
        else []
    )


def get_prompt_files():
    """Examples of prompts that language models are given."""
    return sorted(map(str, (RESOURCES / "prompts").glob("*.yaml")))


def get_retrieval_sets(family):
    """Retrieval sets of a family."""
    parts = get_parts(config["foils"]["parts"])
    return [f"results/retrieval_sets/{family}/{part}.parquet" for part in parts]


def get_images_table(wildcards):
    """Images of a family's sets."""
    folder = "own_captions" if wildcards.family == "own" else "visual_genome"
    return f"results/{folder}/images.parquet"


def get_accounting_files():
    """Counts of every stage that the tables rest on."""
    built = ("visual_genome", "regions", "graphs", "subgraphs")
    stages = built[:1] if IS_RELEASED else built
    shards = [
        path.removesuffix(".accounting.csv")
        for corpus in config["corpora"]["use"]
        for path in get_corpus_accounting(corpus)
    ]
    splits = [f"results/splits/{corpus}" for corpus in config["corpora"]["use"]]
    captions = [
        f"results/{stage}/{part}"
        for stage in ("subgraphs/sampled", "captions")
        for part in get_parts(config["foils"]["parts"])
    ]
    sets = [
        path.removesuffix(".parquet")
        for family in FAMILIES
        for path in get_retrieval_sets(family)
    ]
    per_model = [
        f"results/{stage}/{model}/{family}"
        for family in FAMILIES
        for stage in ("features", "scores")
        for model in MODELS_OF[family]
    ]
    is_annotated = config["graphs"]["source"] == "visual_genome"
    annotated = ["results/graphs/annotated"] if is_annotated else []
    parsed = [] if IS_RELEASED else annotated + shards + captions
    prefixes = parsed + splits + sets + per_model
    return [f"results/{stage}/accounting.csv" for stage in stages] + [
        f"{prefix}.accounting.csv" for prefix in prefixes
    ]


def get_statistics_accounting():
    """Counts of what sets are made of: regions, and captions of each complexity."""
    parts = get_parts(config["foils"]["parts"])
    sets = [
        path.removesuffix(".parquet") for path in get_retrieval_sets("systematicity")
    ]
    captions = [] if IS_RELEASED else [f"results/captions/{part}" for part in parts]
    return [f"{prefix}.accounting.csv" for prefix in [*captions, *sets]]


def get_resources():
    """The committed inputs."""
    return sorted(path for path in RESOURCES.rglob("*") if path.is_file())


def get_report_category(wildcards):
    """Category of a table in the report."""
    return REPORT_DROPS if wildcards.table == "accounting" else REPORT_RESULTS


def get_splits(wildcards):
    """Splits by every corpus; the productivity family has none."""
    if wildcards.family == "productivity":
        return []
    return expand("results/splits/{corpus}.parquet", corpus=config["corpora"]["use"])


def get_released_files():
    """Released CSV files, and zips that may hold some, in the folder that the config names."""
    folder = config["data"]["folder"]
    paths = find_released_paths(folder) if Path(folder).is_dir() else []
    return paths or [folder]


def get_exported_subgraphs():
    """Subgraphs of the productivity sets; released sets are of none."""
    return [] if IS_RELEASED else ["results/subgraphs/subgraphs.parquet"]


def get_own_table(wildcards):
    """The table of own captions that the config names."""
    table = config["own_captions"]["table"]
    if not table:
        raise WorkflowError(
            "own_captions.table of the config names no table: see docs/own_captions.md"
        )
    return table


def get_benchmark_files(wildcards):
    """Files of a benchmark."""
    definition = model_definitions.read_definition(
        config, "benchmarks", wildcards.benchmark
    )
    return definition["files"]


def get_benchmark_folder(wildcards):
    """Folder of the benchmark that a family of features (bench_...) is of."""
    return f"results/benchmark_items/{wildcards.family.removeprefix('bench_')}"


def get_benchmark_sets(wildcards):
    """Texts and pictures of a benchmark, in the form of retrieval sets."""
    return [f"{get_benchmark_folder(wildcards)}/sets.parquet"]


def get_benchmark_images(wildcards):
    """Pictures of a benchmark."""
    return f"{get_benchmark_folder(wildcards)}/images.parquet"


def get_benchmark_reader(wildcards):
    """Digest of the module that reads a benchmark; it is loaded by name, so that of the script does not see it."""
    definition = model_definitions.read_definition(
        config, "benchmarks", wildcards.benchmark
    )
    reader = definition["reader"]
    path = f"crepebench/benchmark_readers/{reader}.py"
    if not (SCRIPTS / path).exists():
        raise WorkflowError(
            f"benchmarks.definitions.{wildcards.benchmark}: there is no reader {reader!r}: see docs/benchmarks.md"
        )
    return code_digest(path)


def get_benchmark_results(pattern):
    """Function that gives the files of all benchmarks that the config uses, benchmark by benchmark."""

    def found(wildcards):
        used = config["benchmarks"]["use"]
        if not used:
            raise WorkflowError(
                "benchmarks.use of the config names no benchmark: see docs/benchmarks.md"
            )
        models = USED_MODELS if "{model}" in pattern else [""]
        return [
            pattern.format(benchmark=benchmark, model=model)
            for benchmark in used
            for model in models
        ]

    return found


def get_benchmark_manifests():
    """Manifests of the readers that the config uses, where they have one."""
    readers = {reader for _, reader in settings.used_benchmarks(config)}
    paths = (RESOURCES / "benchmarks" / f"{reader}.yaml" for reader in sorted(readers))
    return [str(path) for path in paths if path.exists()]


def get_review_answers(wildcards):
    """The annotators' files that the config names."""
    answers = config["review"]["answers"]
    if not answers:
        raise WorkflowError(
            "review.answers of the config names no file of an annotator: make the page with `snakemake "
            "results/review/index.html`, let people answer it, and name the files that they download "
            "(docs/review.md)"
        )
    return answers
