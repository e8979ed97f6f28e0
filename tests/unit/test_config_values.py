import copy
from pathlib import Path

import pytest
import yaml

from crepebench.config_values import check_values

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = yaml.safe_load((ROOT / "workflow" / "schemas" / "config.schema.yaml").read_text())
CONFIG = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())


def changed(block: str, key: str, value) -> dict:
    config = copy.deepcopy(CONFIG)
    config[block][key] = value
    return config


def with_weights(weights: str) -> dict:
    config = copy.deepcopy(CONFIG)
    model = {"family": "open_clip", "source": "weights", "weights": weights, "training_data": [], "seen_images": []}
    config["models"]["definitions"]["mine"] = model
    return config


def test_config_as_it_is_passes():
    check_values(CONFIG, SCHEMA)
    check_values(with_weights("https://example.org/a@b.pt?x=a@b"), SCHEMA)


@pytest.mark.parametrize(
    ("block", "key", "value"),
    [
        ("graphs", "parts", 2.0),
        ("foils", "seed", 1.0),
        ("regions", "min_area", float("nan")),
        ("foils", "max_lost", float("nan")),
        ("captioner", "timeout", float("inf")),
        ("models", "seeds", [1.0]),
        ("audit", "seed", 10**400),
        ("captioner", "timeout", 10**400),
        ("foils", "seed", 2**63),
    ],
)
def test_number_of_another_kind_is_refused_by_key(block, key, value):
    with pytest.raises(ValueError, match=f"^config: {block}.{key}"):
        check_values(changed(block, key, value), SCHEMA)


@pytest.mark.parametrize(
    ("block", "key"), [("visual_genome", "image_parts"), ("graphs", "parts"), ("corpora", "shards"), ("foils", "parts")]
)
def test_more_jobs_than_names_of_parts_have_digits_for_are_refused(block, key):
    check_values(changed(block, key, 99_999), SCHEMA)
    with pytest.raises(ValueError, match=f"config: {block}.{key} is 100,000, and may be 99,999 at most"):
        check_values(changed(block, key, 100_000), SCHEMA)


@pytest.mark.parametrize(
    "weights", ["https://me:hush@example.org/a.pt", "HTTP://hush@example.org/a.pt", "s3://hush@[/a.pt"]
)
def test_address_with_a_password_is_refused_without_showing_it(weights):
    with pytest.raises(ValueError, match=r"models\.definitions\.mine\.weights is an address with a user") as error:
        check_values(with_weights(weights), SCHEMA)
    assert "hush" not in str(error.value)


@pytest.mark.parametrize(
    ("url", "said"),
    [("https://me:hush@example.org/v1", "is an address"), ("https://example.org/v1?key=hush", "a query")],
)
def test_address_of_the_server_with_a_secret_is_refused_before_any_job(url, said):
    with pytest.raises(ValueError, match=rf"config: captioner\.base_url .*{said}") as error:
        check_values(changed("captioner", "base_url", url), SCHEMA)
    assert "hush" not in str(error.value)


@pytest.mark.parametrize("value", ["sk-abcdef0123456789", "MY KEY", "1KEY", "KEY\n"])
def test_key_in_place_of_the_name_of_its_variable_is_refused_without_showing_it(value):
    with pytest.raises(ValueError, match=r"captioner\.api_key_variable is no name") as error:
        check_values(changed("captioner", "api_key_variable", value), SCHEMA)
    assert value not in str(error.value)
