"""Checks of the config that a schema cannot express: names must be defined where they are used."""


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
        definition = read_definition(config, "models", name)
        if definition["source"] == "icons":
            read_definition(config, "corpora", definition["training_data"][0])
    if config["regions"]["min_aspect"] > config["regions"]["max_aspect"]:
        raise ValueError("config: regions.min_aspect is greater than regions.max_aspect")
