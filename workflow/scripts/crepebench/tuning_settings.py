"""What jobs of negation and of CLIC depend on, and checks of their blocks of the config.

As in `crepebench.settings`, the functions named `*_settings` choose from the config what one kind of job depends on.
"""

from collections.abc import Mapping

from crepebench.clic_settings import CANDIDATES, METHOD, training_settings, variant_of
from crepebench.model_definitions import (
    ATTENDS,
    clic_models,
    encoding_of,
    model_names,
    negation_models,
    read_definition,
    read_models,
)
from crepebench.settings import captions_settings, tables_settings


def negation_data_settings(config: Mapping, source: Mapping) -> dict:
    """Returns what pairs and questions of negation depend on.

    Args:
        config: the whole config.
        source: where captions and images are, as `crepebench.captioned_images.read_captioned_images` takes it.
    """
    chosen = dict(config["negation"]["data"])
    for key in ("source", "corpus", "files", "images", "generator"):
        del chosen[key]
    is_worded = config["negation"]["data"]["generator"] == "captioner"
    generator = {**captions_settings(config), "concurrency": config["captioner"]["concurrency"]} if is_worded else None
    spacy_model = config["parser"]["spacy_model"]
    return {**chosen, "source": source, "use": "train", "parser": spacy_model, "generator": generator or "template"}


def negation_test_settings(config: Mapping) -> dict:
    """Returns what the test of negation depends on; the shares of forms are those of the data."""
    data = config["negation"]["data"]
    shared = {key: data[key] for key in ("forms", "attribute_share", "bare_share", "negated_share")}
    return {**shared, **config["negation"]["test"]}


def layers_settings(config: Mapping, model: str) -> dict:
    """Returns what the analysis of a model's text layers depends on."""
    block = config["negation"]["layers"]
    sizes = {"n_triples": block["triples"], "n_controls": block["controls"]}
    rest = {key: block[key] for key in ("peak", "anchor", "batch_size", "seed")}
    return {"model": encoding_of(config, model), **sizes, **rest}


def negation_features_settings(config: Mapping, model: str) -> dict:
    """Returns what the features of tokens depend on."""
    tokens = config["negation"]["training"]["tokens"]
    return {"model": encoding_of(config, model), "tokens": tokens, "attends": ATTENDS}


def peakpatch_settings(config: Mapping, model: str, variant: str) -> dict:
    """Returns what the training of a variant depends on, beside its seed."""
    block = config["negation"]["training"]
    training = {key: value for key, value in block.items() if key not in ("tokens", "seed")}
    return {"model": encoding_of(config, model), "training": {**training, "variant": variant, "attends": ATTENDS}}


def image_controls_settings(config: Mapping, model: str) -> dict:
    """Returns what the controls of a corrected model depend on."""
    return {"model": encoding_of(config, model), "seed": config["evaluation"]["seed"]}


def correction_examples_settings(config: Mapping, model: str) -> dict:
    """Returns what the examples of a correction depend on."""
    return {"model": encoding_of(config, model), "seed": config["plots"]["seed"]}


NEGATION, HELD_OUT = "negation", "clic_held_out"
"""Names of the run's own benchmarks: the test of negation, and captions of images that no training by CLIC sees."""


def compared_benchmarks(config: Mapping) -> list[tuple[str, str]]:
    """Returns name and reader of each benchmark of negation.csv and clic.csv: our own, and those of the config."""
    names = dict.fromkeys([NEGATION, *config["benchmarks"]["use"]])
    return [(name, read_definition(config, "benchmarks", name)["reader"]) for name in names]


def negation_names(config: Mapping) -> list[str]:
    """Returns the names under which the models of negation.csv are measured."""
    return [name for model in negation_models(config) for name in model_names(config, model)]


def negation_tables_settings(config: Mapping) -> dict:
    """Returns what negation.csv depends on."""
    models, data = read_models(config), config["negation"]["data"]
    trained_on = data["corpus"] if data["source"] == "corpus" else data["source"]
    rows, seed = [], config["negation"]["training"]["seed"]
    for name in negation_names(config):
        is_trained = models[name]["family"] == "peakpatch"
        trained = {"trained_on": trained_on if is_trained else "", "seed": seed if is_trained else ""}
        rows.append({"model": name, "backbone": models[name].get("backbone", name), **trained})
    evaluation = {key: config["evaluation"][key] for key in ("n_resamples", "seed")}
    return {"evaluation": evaluation, "benchmarks": compared_benchmarks(config), "models": rows}


N_FILES = {"table": 1, "sentences": 1, "released": 2}
"""Files that a source of captions with images consists of, where their number is fixed."""


def check_negation(config: Mapping) -> None:
    """Checks that data of negation have a source, and that the test of negation is defined.

    Whatever the config says of it, nothing of it is asked for unless a user names one of its files.

    Raises:
        ValueError: names the key.
    """
    read_definition(config, "benchmarks", NEGATION)
    _check_captioned(config, "negation")
    data = config["negation"]["data"]
    if data["source"] == "released" and not data["images"]:
        raise ValueError("config: negation.data.source 'released' needs negation.data.images")


def check_clic(config: Mapping) -> None:
    """Checks that there is something to tune with, and that all of its numbers fit each other.

    Raises:
        ValueError: names the key.
    """
    _check_captioned(config, "clic")
    read_definition(config, "benchmarks", HELD_OUT)
    try:
        training_settings(config["clic"]["training"])
    except ValueError as error:
        raise ValueError(f"config: clic.training: {error}") from error


def _check_captioned(config: Mapping, block: str) -> None:
    """Checks that a block names where its captions with images are.

    Raises:
        ValueError: names the key.
    """
    data = config[block]["data"]
    source, n_files = data["source"], len(data["files"])
    if source == "corpus":
        if not data["corpus"]:
            raise ValueError(f"config: {block}.data.source 'corpus' needs a {block}.data.corpus")
        read_definition(config, "corpora", data["corpus"])
    elif n_files != N_FILES.get(source, n_files) or not n_files:
        raise ValueError(
            f"config: {block}.data.source {source!r} needs {N_FILES.get(source, 'one or more')} {block}.data.files, "
            f"and there are {n_files}"
        )


def clic_data_settings(config: Mapping, source: Mapping) -> dict:
    """Returns what the items of CLIC depend on.

    Args:
        config: the whole config.
        source: where captions and images are, as `crepebench.clic_sources.read_image_texts` takes it.
    """
    keys = ("most_items", "validation_share", "release_quirks", "seed")
    chosen = {key: config["clic"]["data"][key] for key in keys}
    return {**chosen, "source": source, "tagger": config["parser"]["spacy_model"]}


def clic_candidates_settings(config: Mapping) -> dict:
    """Returns what the candidates for words depend on."""
    block = config["clic"]["candidates"]
    generator = "wordnet"
    if block["generator"] == "captioner":
        generator = {**captions_settings(config), "concurrency": config["captioner"]["concurrency"]}
    return {"generator": generator, "min_count": block["min_count"]}


def needs_candidates(config: Mapping, variant: str) -> bool:
    """Says whether the negatives of a variant are made of candidates."""
    return variant_of(variant, config["clic"]["training"]).negatives == CANDIDATES


def tuning_settings(config: Mapping, model: str, variant: str) -> dict:
    """Returns what the training of a variant depends on, beside its seed."""
    return {"model": encoding_of(config, model), "variant": variant, "training": config["clic"]["training"]}


def loading_settings(config: Mapping, model: str) -> dict:
    """Returns what depends on a model alone: the features of single images, the checkpoints of an export."""
    return {"model": encoding_of(config, model)}


def clic_benchmarks(config: Mapping) -> list[tuple[str, str]]:
    """Returns name and reader of each benchmark of clic.csv: those of negation.csv, and its own captions, if any."""
    names = [HELD_OUT] if config["clic"]["data"]["validation_share"] else []
    own = [(name, read_definition(config, "benchmarks", name)["reader"]) for name in names]
    return list(dict.fromkeys([*own, *compared_benchmarks(config)]))


def clic_names(config: Mapping) -> list[str]:
    """Returns the names under which the models of clic.csv are measured."""
    return [name for model in clic_models(config) for name in model_names(config, model)]


def clic_tables_settings(config: Mapping) -> dict:
    """Returns what clic.csv depends on."""
    models, rows = read_models(config), []
    for name in clic_names(config):
        definition = models[name]
        is_tuned = definition["family"] == METHOD
        of_tuned = {"base": definition["backbone"], "variant": definition["variant"]} if is_tuned else {}
        published = config["clic"]["published_name"] if of_tuned.get("variant") == METHOD else "" if is_tuned else name
        rows.append(
            {
                **{"model": name, "base": name, "variant": "base", **of_tuned, "published_name": published or ""},
                **{"seed": definition["tuning_seed"] if is_tuned else "", "training_data": definition["training_data"]},
            }
        )
    settings = tables_settings(config)
    chosen = {key: settings[key] for key in ("evaluation", "corpora")}
    return {**chosen, "benchmarks": clic_benchmarks(config), "models": rows}
