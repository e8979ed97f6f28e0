"""Which models there are: those that the config defines, and what corrections and tuning make of them."""

import re
from collections.abc import Mapping
from os.path import isdir, isfile, join

from crepebench.clic_settings import METHOD, TEXT, VARIANTS
from crepebench.families import SYSTEMATICITY
from crepebench.models import CONFIG_FILE

HUB = "hf-hub:"
ICONS = "icons"
"""Source of what is made here, from the embedded icons world."""
TEXT_LAYERS = 4
"""Layers of the text encoder of a model that is trained here, unless its definition says it."""


def read_definition(config: Mapping, block: str, name: str) -> dict:
    """Returns the definition of a corpus, model or benchmark.

    Args:
        config: the whole config.
        block: "corpora", "models" or "benchmarks".
        name: name of the corpus, model or benchmark.

    Raises:
        ValueError: nothing of that name is defined.
    """
    definitions = config[block]["definitions"]
    if name not in definitions:
        raise ValueError(f"config: {block}.definitions has no {name!r}; it defines {sorted(definitions)}")
    return definitions[name]


ATTENDS = "valid"
"""Positions that PeakPatch's correction attends to: those up to the end of the text."""
CORRECTIONS = {
    **{"peakpatch": {"family": "peakpatch", "variant": "joint"}, "negvector": {"family": "negvector"}},
    **{
        f"peakpatch_{variant}": {"family": "peakpatch", "variant": variant}
        for variant in ("ecn", "scn", "no_anchor", "detached")
    },
}
"""What corrects a model, by the beginning of its name: `peakpatch:<name>` is the model <name> with PeakPatch."""
CLIC_PREFIX = re.compile(rf"{METHOD}(?:_(?P<variant>{'|'.join(VARIANTS)}))?(?:_seed(?P<seed>[0-9]+))?")
"""Beginning of the name of a tuned model: `clic:<name>`, with another variant than the method's `clic_within:<name>`,
with another seed than the first `clic_seed2:<name>`, `clic_within_seed2:<name>`."""
VARIANT_NAMES = {one["variant"]: name for name, one in CORRECTIONS.items() if "variant" in one}
CORRECTED = "corrected"
"""Source of a model that corrects another one."""


def read_model(config: Mapping, name: str) -> dict:
    """Returns the definition of a model, be it in the config, or a corrected or tuned one.

    The latter have `backbone`, the name of the model that they were made from, whose training data they share.

    Raises:
        ValueError: nothing of that name is defined.
    """
    _, is_corrected, backbone = name.partition(":")
    if not is_corrected:
        return read_definition(config, "models", name)
    return _made_of(config, name, read_model(config, backbone))


def _made_of(config: Mapping, name: str, known: Mapping) -> dict:
    """Returns the definition of a corrected or tuned model.

    Args:
        config: the whole config.
        name: its name.
        known: definition of the model that it is made from.

    Raises:
        ValueError: there is no such correction or tuning.
    """
    correction, _, backbone = name.partition(":")
    made = CORRECTIONS.get(correction) or _tuning(config, correction)
    if not made:
        names = [*sorted(CORRECTIONS), METHOD, *(f"{METHOD}_{variant}" for variant in VARIANTS if variant != METHOD)]
        raise ValueError(f"config: model {name!r}: {correction!r} is none of {', '.join(names)}")
    shared = {key: known[key] for key in ("training_data", "seen_images")}
    return {**made, "source": CORRECTED, "backbone": backbone, **shared}


def _tuning(config: Mapping, prefix: str) -> dict:
    """Returns what the beginning of a tuned model's name says; nothing, if it is of another kind."""
    found = CLIC_PREFIX.fullmatch(prefix)
    if not found:
        return {}
    variant = found["variant"] or METHOD
    seed = int(found["seed"]) if found["seed"] else config["clic"]["seeds"][0]
    return {"family": METHOD, "variant": variant, "tuning_seed": seed}


def shares_images(definition: Mapping) -> bool:
    """Says whether a corrected or tuned model has the features of images of the model that it was made from."""
    return definition["family"] != METHOD or VARIANTS[definition["variant"]].tower == TEXT


def model_names(config: Mapping, model: str) -> dict[str, int | None]:
    """Returns the names under which a model is measured, each with the seed of its training.

    A model that is trained here is trained once for each of `models.seeds`. With several seeds each training has a
    name of its own, `<model>_seed<seed>`; so has each that is corrected. Any other model has its own name, and no seed.
    """
    definition = read_model(config, model)
    if definition["source"] == CORRECTED:
        correction = model.partition(":")[0]
        return {f"{correction}:{name}": seed for name, seed in model_names(config, definition["backbone"]).items()}
    if definition["source"] != ICONS:
        return {model: None}
    seeds = config["models"]["seeds"]
    return {model: seeds[0]} if len(seeds) == 1 else {f"{model}_seed{seed}": seed for seed in seeds}


class Models(dict):
    """Definitions of models by name; those of what is made of them are found when they are asked for.

    Args:
        config: the whole config.
    """

    def __init__(self, config: Mapping):
        super().__init__()
        self._config = config

    def __missing__(self, name: str) -> dict:
        _, is_made, backbone = name.partition(":")
        if not is_made:
            raise ValueError(f"config: there is no model {name!r}; models.definitions defines {sorted(self)}")
        known = self[backbone]
        self[name] = {**_made_of(self._config, name, known), "base": name, "seed": known["seed"]}
        return self[name]


def read_models(config: Mapping) -> Models:
    """Returns the definition of every model by the name under which it is measured.

    Each holds, beside the keys of the config, `base` (its name in the config) and `seed`.

    Raises:
        ValueError: two models are measured under one name.
    """
    models = Models(config)
    named = [*config["models"]["use"], *negation_models(config), *clic_models(config)]
    for base in dict.fromkeys([*config["models"]["definitions"], *named]):
        definition = read_model(config, base)
        for name, seed in model_names(config, base).items():
            if name in models:
                raise ValueError(f"config: models.definitions: {base!r} and {models[name]['base']!r} are both {name!r}")
            models[name] = {**definition, "base": base, "seed": seed}
            if definition["source"] == CORRECTED:
                models[name]["backbone"] = name.partition(":")[2]
            if definition["source"] == ICONS:
                models[name].setdefault("text_layers", TEXT_LAYERS)
    return models


def negation_models(config: Mapping) -> list[str]:
    """Returns the models that negation.csv compares: each backbone, and all that corrects it."""
    block = config["negation"]
    corrections = ["negvector", *(VARIANT_NAMES[variant] for variant in block["variants"])]
    return [name for backbone in block["models"] for name in (backbone, *(f"{one}:{backbone}" for one in corrections))]


def clic_models(config: Mapping) -> list[str]:
    """Returns the models that clic.csv compares: each base, and its variants with every seed."""
    block = config["clic"]
    prefixes = [
        (METHOD if variant == METHOD else f"{METHOD}_{variant}") + ("" if seed == block["seeds"][0] else f"_seed{seed}")
        for variant in block["variants"]
        for seed in block["seeds"]
    ]
    return [name for base in block["models"] for name in (base, *(f"{prefix}:{base}" for prefix in prefixes))]


def used_models(config: Mapping) -> list[str]:
    """Returns the names under which the models of `models.use` are measured."""
    return [name for model in config["models"]["use"] for name in model_names(config, model)]


def models_of(config: Mapping, family: str) -> list[str]:
    """Returns the names of the models that a family measures.

    Productivity measures all of `models.use`. Systematicity measures those that were trained on a corpus of
    `corpora.use`, since its splits are of these; with `evaluation.cross_corpus` all.
    """
    names = used_models(config)
    if family != SYSTEMATICITY or config["evaluation"]["cross_corpus"]:
        return names
    models, corpora = read_models(config), set(config["corpora"]["use"])
    return [name for name in names if corpora & set(models[name]["training_data"])]


WEIGHT_KEYS = ("family", "architecture", "weights", "tokenizer")
"""Keys of a model's definition that choose its files."""
MODEL_KEYS = (*WEIGHT_KEYS, "image_size", "precision", "activation", "variant")
"""And those that its features depend on."""


def encoding_of(config: Mapping, model: str) -> dict:
    """Returns what of a model's definition its features depend on; of a corrected one with those of its backbone."""
    return _encoding(read_models(config), model)


def _encoding(models: Models, model: str) -> dict:
    definition = models[model]
    encoding = {key: definition[key] for key in MODEL_KEYS if key in definition}
    if definition["source"] == CORRECTED:
        encoding["backbone"] = _encoding(models, definition["backbone"])
    return encoding


def check_model(config: Mapping, name: str) -> None:
    """Checks that a model can be loaded."""
    definition = read_model(config, name)
    if definition["source"] == CORRECTED:
        check_model(config, definition["backbone"])
        return
    where = f"config: models.definitions.{name}"
    family = definition["family"]
    if family in ("openai_clip", "clip_fine_tune") and "architecture" not in definition:
        raise ValueError(f"{where}: an architecture is missing")
    if definition["source"] != ICONS and family == "open_clip" and not definition["weights"].startswith(HUB):
        is_folder = isdir(definition["weights"])  # Path.is_dir raises on a name that is too long
        if not is_folder and "architecture" not in definition:
            raise ValueError(f"{where}: an architecture is missing, since weights is no folder with {CONFIG_FILE}")
        if is_folder and not isfile(join(definition["weights"], CONFIG_FILE)):
            raise ValueError(f"{where}: the folder {definition['weights']} holds no {CONFIG_FILE}")
