"""The checked config, wildcard constraints, and paths and values that depend on the config."""

import json
import os
import sys
from glob import glob
from pathlib import Path

from snakemake.utils import validate

BASE = Path(workflow.basedir)
SCRIPTS = BASE / "workflow" / "scripts"
RESOURCES = BASE / "resources"

if str(SCRIPTS) not in sys.path:
    sys.path.append(str(SCRIPTS))

from crepebench import corpora, provenance, visual_genome
from crepebench.models import CONFIG_FILE, WEIGHTS_FILE
from crepebench.settings import check_names, read_definition

validate(
    config, str(BASE / "workflow" / "schemas" / "config.schema.yaml"), set_default=False
)
check_names(config)


wildcard_constraints:
    corpus="[a-z0-9_]+",
    model="[a-z0-9_]+",
    family="systematicity",
    part="[0-9]{5}",
    n_parts="[0-9]{5}",


def code_digest(script):
    """Digest of a script and the definitions of ours that it reaches."""
    return provenance.code_digest(str(SCRIPTS), script)


def config_json(block, *keys):
    """A config block, or some of its keys, as JSON with sorted keys."""
    chosen = {key: config[block][key] for key in keys} if keys else config[block]
    return json.dumps(chosen, sort_keys=True)


def get_parts(n_parts):
    """Names of the parts of a table that is made in n_parts jobs."""
    return [f"part-{part:05d}-of-{n_parts:05d}" for part in range(n_parts)]


def get_visual_genome_file(name):
    """Path of one of Visual Genome's files, wherever the config takes them from."""
    source = config["visual_genome"]["source"]
    folder = "results/icons/visual_genome" if source == "icons" else source
    return f"{folder}/{name}"


def get_annotation_files():
    """Paths of the annotation zips, in the order of visual_genome.ANNOTATIONS."""
    return [
        get_visual_genome_file(f"{name}.json.zip") for name in visual_genome.ANNOTATIONS
    ]


def get_image_zips():
    """Paths of the image zips."""
    return [get_visual_genome_file(name) for name in visual_genome.IMAGE_ZIPS]


def get_corpus_files(wildcards):
    """Files of a corpus: made by the icons world, or the user's own."""
    definition = read_definition(config, "corpora", wildcards.corpus)
    if definition["source"] == "icons":
        return [f"results/icons/corpora/{wildcards.corpus}/captions"]
    found = [
        path
        for pattern in definition["files"]
        for path in sorted(glob(pattern)) or [pattern]
    ]
    return corpora.list_files(found) if all(map(os.path.exists, found)) else found


def get_corpus_config(wildcards):
    """What parsing a corpus depends on, as JSON."""
    definition = read_definition(config, "corpora", wildcards.corpus)
    return json.dumps(
        {"format": definition["format"], **config["parser"]}, sort_keys=True
    )


def get_icons_corpus_config(wildcards):
    """What drawing a corpus of the icons world depends on, as JSON."""
    icons = {
        key: value
        for key, value in config["icons"].items()
        if key not in ("n_images", "epochs", "control")
    }
    definition = read_definition(config, "corpora", wildcards.corpus)
    return json.dumps({"icons": icons, "definition": definition}, sort_keys=True)


def get_training_config(wildcards):
    """What training a mini CLIP depends on, as JSON."""
    icons = {key: config["icons"][key] for key in ("seed", "epochs")}
    definition = read_definition(config, "corpora", wildcards.corpus)
    return json.dumps({**icons, "format": definition["format"]}, sort_keys=True)


def get_vocabulary_shards(wildcards):
    """Vocabularies of all shards of a corpus."""
    parts = get_parts(config["corpora"]["shards"])
    return [
        f"results/vocabularies/shards/{wildcards.corpus}/{part}.parquet"
        for part in parts
    ]


def get_vocabulary_accounting(wildcards):
    """Counts of all shards of a corpus."""
    return [
        path.replace(".parquet", ".accounting.csv")
        for path in get_vocabulary_shards(wildcards)
    ]


def get_parsed_regions():
    """Graphs of all parsed regions."""
    return [
        f"results/graphs/parsed/{part}.parquet"
        for part in get_parts(config["graphs"]["parts"])
    ]


def get_retrieval_sets(family):
    """Retrieval sets of a family."""
    return [
        f"results/retrieval_sets/{family}/{part}.parquet"
        for part in get_parts(config["foils"]["parts"])
    ]


def get_weights(wildcards):
    """Files of a model's weights that a job needs; none where the config names a tag."""
    definition = read_definition(config, "models", wildcards.model)
    if definition["source"] == "icons":
        folder = f"results/icons/models/{definition['training_data'][0]}"
        return [
            f"{folder}/{CONFIG_FILE}",
            f"{folder}/{WEIGHTS_FILE}",
        ]
    weights = Path(definition["weights"])
    if weights.is_dir():
        return [
            str(weights / CONFIG_FILE),
            *sorted(map(str, weights.glob("open_clip_*model.*"))),
        ]
    is_file = weights.is_file() or weights.suffix or len(weights.parts) > 1
    return [str(weights)] if is_file else []  # else a tag of open_clip


def get_features_config(wildcards):
    """What encoding with a model depends on, as JSON."""
    definition = read_definition(config, "models", wildcards.model)
    encoding = {
        key: definition[key]
        for key in ("family", "architecture", "weights")
        if key in definition
    }
    store = config["stores"]["features"]
    return json.dumps(
        {**config["features"], "store": store, "model": encoding}, sort_keys=True
    )


def get_tables_config():
    """What the tables depend on, as JSON."""
    models = [
        (model, read_definition(config, "models", model))
        for model in config["models"]["use"]
    ]
    chosen = {
        "evaluation": config["evaluation"],
        "corpora": config["corpora"]["use"],
        "models": models,
    }
    return json.dumps(chosen, sort_keys=True)


def get_control_corpus():
    """The corpus on which the icons world's control compares two models."""
    return read_definition(config, "models", config["icons"]["control"]["model"])[
        "training_data"
    ][0]


def get_control_config():
    """What the icons world's control depends on, as JSON."""
    chosen = {
        "evaluation": config["evaluation"],
        "corpus": get_control_corpus(),
        **config["icons"]["control"],
    }
    return json.dumps(chosen, sort_keys=True)


def get_accounting_files():
    """Counts of every stage that the tables rest on."""
    sets = [
        path.replace(".parquet", ".accounting.csv")
        for path in get_retrieval_sets("systematicity")
    ]
    shards = [
        f"results/vocabularies/shards/{corpus}/{part}.accounting.csv"
        for corpus in config["corpora"]["use"]
        for part in get_parts(config["corpora"]["shards"])
    ]
    stages = [
        f"results/{stage}/accounting.csv"
        for stage in ("visual_genome", "regions", "graphs")
    ]
    splits = [
        f"results/splits/{corpus}.accounting.csv" for corpus in config["corpora"]["use"]
    ]
    per_model = [
        f"results/{stage}/{model}/systematicity.accounting.csv"
        for stage in ("features", "scores")
        for model in config["models"]["use"]
    ]
    return stages + shards + splits + sets + per_model
