"""Odd configs: each passes all checks, and then gives every job its settings, or is refused by the name of a key."""

import copy
import inspect
import json
import math
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, ValidationError

from crepebench import model_definitions, settings, tuning_settings
from crepebench.config_values import check_values
from crepebench.families import FOIL_TYPES
from icons_world import settings as icons_settings

from .mutations import inputs, mutated, odd_texts, odd_values, places_of, value_at

ROOT = Path(__file__).resolve().parents[2]
BLOCKS = st.sampled_from(["corpora", "models", "vocabularies", "foils", "productivity", "captioner", "icons"])


def read_yaml(path: Path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def merge(base: dict, overlay: dict) -> dict:
    """Returns a config with an overlay, as Snakemake merges them."""
    merged = dict(base)
    for key, value in overlay.items():
        both = isinstance(value, dict) and isinstance(base.get(key), dict)
        merged[key] = merge(base[key], value) if both else value
    return merged


DEFAULT = read_yaml(ROOT / "config" / "config.yaml")
CONFIGS = [DEFAULT, *(merge(DEFAULT, read_yaml(path)) for path in sorted((ROOT / "config").glob("*.yaml")))]
SCHEMA = read_yaml(ROOT / "workflow" / "schemas" / "config.schema.yaml")
VALIDATOR = Draft202012Validator(SCHEMA)
CHOICES = ["icons", "files", "weights", "csv", "parquet", "nli", "openai", "budget", "masked", "crepe_release", "all"]
NAMES = [*DEFAULT["corpora"]["definitions"], *DEFAULT["models"]["definitions"]]
values = st.one_of(odd_values, st.sampled_from([*CHOICES, *NAMES]), st.integers(0, 9), st.floats(0, 1))


def check(config: dict) -> None:
    """Does with a config what common.smk does."""
    VALIDATOR.validate(config)
    check_values(config, SCHEMA)
    icons_settings.check_icons(config)
    settings.check_names(config)
    settings.check_exclusions(config)
    settings.check_benchmarks(config)
    tuning_settings.check_negation(config)
    tuning_settings.check_clic(config)


def all_settings(config: dict) -> None:
    """Asks for what every kind of job depends on."""
    icons_settings.control_settings(config)
    choices = {
        "corpus": config["corpora"]["use"],
        "model": list(model_definitions.read_models(config)),
        "family": list(FOIL_TYPES),
        "code": ["0"],
        "block": [],
        "benchmark": config["benchmarks"]["use"],
        "source": [{"kind": config["negation"]["data"]["source"]}],
        "zero_shot_set": list(config["benchmarks"]["zero_shot"]),
    }
    functions = dict(
        found for module in (settings, tuning_settings) for found in inspect.getmembers(module, inspect.isfunction)
    )
    for name, function in functions.items():
        parameters = list(inspect.signature(function).parameters)
        if name.endswith("_settings") and parameters[0] == "config":
            arguments = [[value] for value in choices[parameters[1]]] if len(parameters) > 1 else [[]]
            for chosen in arguments:
                given_ = [*chosen, *["0"] * (len(parameters) - 1 - len(chosen))]
                assert json.loads(json.dumps(function(config, *given_))) is not None
    for block, key in (
        ("graphs", "parts"),
        ("foils", "parts"),
        ("corpora", "shards"),
        ("visual_genome", "image_parts"),
    ):
        assert len(f"{config[block][key] - 1:05d}") == 5  # else no wildcard matches it


def passes(config: dict) -> bool:
    """Says whether a config passes; an error must name a key."""
    try:
        check(config)
    except ValidationError as error:
        assert error.absolute_path or "is a required property" in error.message or "Additional" in error.message
        return False
    except ValueError as error:
        assert str(error).startswith("config: "), error
        return False
    return True


@pytest.mark.parametrize("config", CONFIGS)
def test_our_own_configs_pass(config):
    check(config)
    all_settings(config)


NUMBERS = [path for path in places_of(DEFAULT) if type(value_at(DEFAULT, path)) in (int, float)]
odd_numbers = st.one_of(
    st.sampled_from([float("nan"), float("inf"), -1, 0, 1.0, 2.0, 1e9, 10**9, 2**64]), st.floats(0, 1)
)


@inputs(0.2)
@given(path=st.sampled_from(NUMBERS), number=odd_numbers)
def test_odd_number_passes_or_is_refused_by_key(path, number):
    config = copy.deepcopy(DEFAULT)
    value_at(config, path[:-1])[path[-1]] = number
    if passes(config):
        all_settings(config)
        assert math.isfinite(number)


@inputs(0.5)
@given(st.data())
def test_odd_config_passes_whole_or_is_refused_by_key(data):
    config = data.draw(mutated(data.draw(st.sampled_from(CONFIGS)), most=2, values=values))
    if passes(config):
        all_settings(config)


@inputs(0.3)
@given(st.data())
def test_config_with_an_odd_block_passes_whole_or_is_refused_by_key(data):
    config, block = data.draw(st.sampled_from(CONFIGS)), data.draw(BLOCKS)
    odd = {**config, block: data.draw(mutated(config[block], most=2, values=values))}
    if data.draw(st.booleans()):
        definition = {"source": "files", "format": "csv", "caption": data.draw(st.one_of(odd_texts, st.integers(0, 3)))}
        of_corpora = {**odd["corpora"], "definitions": {**config["corpora"]["definitions"], "added": definition}}
        of_corpora["definitions"]["added"] |= data.draw(
            mutated({"files": ["a.csv"], "release": "1"}, most=2, values=values)
        )
        odd["corpora"] = of_corpora
    if passes(odd):
        all_settings(odd)
