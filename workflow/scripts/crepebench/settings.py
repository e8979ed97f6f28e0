"""Checks of the config that a schema cannot express: names must be defined where they are used."""

from pathlib import Path

from crepebench.models import CONFIG_FILE


def read_definition(config: dict, block: str, name: str) -> dict:
    """Returns the definition of a corpus or model.

    Args:
        config: the whole config.
        block: "corpora" or "models".
        name: name of the corpus or model.

    Raises:
        ValueError: nothing of that name is defined.
    """
    definitions = config[block]["definitions"]
    if name not in definitions:
        raise ValueError(f"config: {block}.definitions has no {name!r}; it defines {sorted(definitions)}")
    return definitions[name]


def check_names(config: dict) -> None:
    """Checks that every corpus and model that the config uses is defined, and that bounds are in order.

    Raises:
        ValueError: says which key names what is missing.
    """
    for block in ("corpora", "models"):
        for name in config[block]["use"]:
            read_definition(config, block, name)
    for name, definition in config["corpora"]["definitions"].items():
        if "control_of" in definition:
            other = read_definition(config, "corpora", definition["control_of"])
            if definition["source"] != "icons" or other["source"] != "icons":
                raise ValueError(f"config: corpora.definitions.{name}.control_of is for corpora of the icons world")
    for name in config["models"]["use"]:
        _check_model(config, name)
    for role, name in config["icons"]["control"].items():
        if read_definition(config, "models", name)["source"] != "icons":
            raise ValueError(f"config: icons.control.{role} names {name!r}, which is no model of the icons world")
        _check_training(config, name)
    if config["regions"]["min_aspect"] > config["regions"]["max_aspect"]:
        raise ValueError("config: regions.min_aspect is greater than regions.max_aspect")


def _check_model(config: dict, name: str) -> None:
    """Checks that a model can be loaded and enters a table."""
    definition = read_definition(config, "models", name)
    where = f"config: models.definitions.{name}"
    if definition["source"] == "icons":
        _check_training(config, name)
    elif not Path(definition["weights"]).is_dir() and "architecture" not in definition:
        raise ValueError(f"{where}: an architecture is missing, since weights is no folder with {CONFIG_FILE}")
    elif Path(definition["weights"]).is_dir() and not (Path(definition["weights"]) / CONFIG_FILE).is_file():
        raise ValueError(f"{where}: the folder {definition['weights']} holds no {CONFIG_FILE}")
    used = set(config["corpora"]["use"])
    if not used & set(definition["training_data"]) and not config["evaluation"]["cross_corpus"]:
        raise ValueError(
            f"{where}: it would enter no table, since training_data {definition['training_data']} names none of "
            f"corpora.use {sorted(used)}; name one, or set evaluation.cross_corpus: true"
        )


def _check_training(config: dict, name: str) -> None:
    """Checks that a model of the icons world is trained on a corpus that comes with images."""
    corpus = read_definition(config, "models", name)["training_data"][0]
    if read_definition(config, "corpora", corpus)["source"] != "icons":
        raise ValueError(
            f"config: models.definitions.{name}: only corpora of the icons world come with images to train a model "
            f"of source icons, and {corpus!r} does not"
        )
