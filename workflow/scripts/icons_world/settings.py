"""What the jobs of the icons world depend on, and checks of the config that concern it."""

from collections.abc import Mapping

from crepebench.model_definitions import ICONS, model_names, read_definition, read_model

NOT_OF_CORPORA = ("n_images", "epochs", "control")
"""Keys of the block `icons` on which no corpus depends."""


def icons_corpus_settings(config: Mapping, corpus: str) -> dict:
    """Returns what drawing a corpus depends on."""
    icons = {key: value for key, value in config["icons"].items() if key not in NOT_OF_CORPORA}
    return {"icons": icons, "definition": read_definition(config, "corpora", corpus)}


def training_settings(config: Mapping, corpus: str) -> dict:
    """Returns what training a mini CLIP on a corpus depends on, beside its seed."""
    return {"epochs": config["icons"]["epochs"], "format": read_definition(config, "corpora", corpus)["format"]}


def control_settings(config: Mapping) -> dict:
    """Returns what icons_control.csv depends on: `evaluation`, the names of model and twin, and the model's corpus.

    Of several seeds both models take the first.
    """
    control = config["icons"]["control"]
    names = {role: next(iter(model_names(config, model))) for role, model in control.items()}
    corpus = read_definition(config, "models", control["model"])["training_data"][0]
    return {"evaluation": config["evaluation"], "corpus": corpus, **names}


def check_icons(config: Mapping) -> None:
    """Checks that models are trained on corpora that come with images, and that controls have what they compare.

    Raises:
        ValueError: names the key.
    """
    for name, definition in config["corpora"]["definitions"].items():
        if "denials" in definition and definition["source"] != ICONS:
            raise ValueError(f"config: corpora.definitions.{name}.denials is for corpora of the icons world")
        is_plain = (definition["source"], definition["format"]) == (ICONS, "cc12m") and "denials" not in definition
        if "sentences" in definition and not is_plain:
            raise ValueError(
                f"config: corpora.definitions.{name}.sentences is for corpora of the icons world in the format cc12m, "
                "without denials"
            )
        if "held_out_of" in definition:
            other = read_definition(config, "corpora", definition["held_out_of"])
            both = (definition, other)
            if any(one["source"] != ICONS or one.keys() & {"control_of"} for one in both) or "held_out_of" in other:
                raise ValueError(
                    f"config: corpora.definitions.{name}.held_out_of is for corpora of the icons world, and names one "
                    "that draws what it holds out"
                )
        if "control_of" in definition:
            other = read_definition(config, "corpora", definition["control_of"])
            if definition["source"] != ICONS or other["source"] != ICONS:
                raise ValueError(f"config: corpora.definitions.{name}.control_of is for corpora of the icons world")
    for role, name in config["icons"]["control"].items():
        if read_definition(config, "models", name)["source"] != ICONS:
            raise ValueError(f"config: icons.control.{role} names {name!r}, which is no model of the icons world")
    used = [*config["models"]["use"], *config["negation"]["models"], *config["icons"]["control"].values()]
    for name in dict.fromkeys(name.rpartition(":")[2] for name in used):
        if read_model(config, name)["source"] == ICONS:
            _check_training(config, name)


def _check_training(config: Mapping, name: str) -> None:
    """Checks that a model is trained on a corpus of the icons world."""
    corpus = read_definition(config, "models", name)["training_data"][0]
    if read_definition(config, "corpora", corpus)["source"] != ICONS:
        raise ValueError(
            f"config: models.definitions.{name}: only corpora of the icons world come with images to train a model "
            f"of source icons, and {corpus!r} does not"
        )
