"""Names of tuned and corrected models, and what jobs that concern them depend on."""

from copy import deepcopy

import pytest
import yaml

from crepebench.model_definitions import clic_models, encoding_of, model_names, read_model, read_models, shares_images
from crepebench.settings import gallery_settings
from crepebench.tuning_settings import (
    HELD_OUT,
    NEGATION,
    check_clic,
    clic_benchmarks,
    clic_tables_settings,
    needs_candidates,
    tuning_settings,
)

BASE = "mini_clip_cc12m"


@pytest.fixture
def config(repository):
    return yaml.safe_load((repository / "config" / "config.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("prefix", "variant", "seed"),
    [
        ("clic", "clic", 1),
        ("clic_seed2", "clic", 2),
        ("clic_extra_0", "extra_0", 1),
        ("clic_extra_0_seed13", "extra_0", 13),
        ("clic_no_alternation", "no_alternation", 1),
    ],
)
def test_name_says_variant_and_seed_and_the_first_seed_is_not_named(config, prefix, variant, seed):
    found = read_model(config, f"{prefix}:{BASE}")
    assert (found["family"], found["variant"], found["tuning_seed"]) == ("clic", variant, seed)
    assert (found["backbone"], found["training_data"]) == (BASE, ["mini_cc12m"])


@pytest.mark.parametrize(
    "prefix", ["clic_", "clic_seed", "clic_clic_seed", "clic_extra_2", "klic", "clic_seed1_within"]
)
def test_other_names_are_refused(config, prefix):
    with pytest.raises(ValueError, match=f"'{prefix}' is none of .*peakpatch.*clic_within"):
        read_model(config, f"{prefix}:{BASE}")


def test_every_variant_has_a_name_for_each_seed(config):
    config["clic"] |= {"models": [BASE], "variants": ["clic", "within"], "seeds": [4, 5]}
    names = [f"clic:{BASE}", f"clic_seed5:{BASE}", f"clic_within:{BASE}", f"clic_within_seed5:{BASE}"]
    assert clic_models(config) == [BASE, *names]
    assert set(names) <= set(read_models(config))


def test_each_training_of_a_base_is_tuned_and_corrected_under_its_own_name(config):
    config["models"]["seeds"] = [1, 2]
    assert model_names(config, f"peakpatch:clic_within:{BASE}") == {
        f"peakpatch:clic_within:{BASE}_seed1": 1,
        f"peakpatch:clic_within:{BASE}_seed2": 2,
    }


def test_features_of_a_corrected_tuned_model_depend_on_all_below_it(config):
    config["models"]["use"].append(f"peakpatch:clic_within:{BASE}")
    found = encoding_of(config, f"peakpatch:clic_within:{BASE}")
    assert (found["family"], found["variant"]) == ("peakpatch", "joint")
    assert (found["backbone"]["family"], found["backbone"]["variant"]) == ("clic", "within")
    assert found["backbone"]["backbone"]["family"] == "open_clip"


@pytest.mark.parametrize(
    ("name", "shares"), [("clic", True), ("clic_vision", False), ("clic_both", False), ("peakpatch", True)]
)
def test_features_of_images_are_shared_unless_vision_was_trained(config, name, shares):
    assert shares_images(read_model(config, f"{name}:{BASE}")) == shares


def test_gallery_compares_what_was_made_of_a_model_with_it(config):
    assert gallery_settings(config)["pairs"] == []
    config["models"]["use"] = [BASE, f"clic:{BASE}", f"peakpatch:clic:{BASE}", f"negvector:{'mini_clip_yfcc15m'}"]
    pairs = [[BASE, f"clic:{BASE}"], [f"clic:{BASE}", f"peakpatch:clic:{BASE}"]]
    assert gallery_settings(config)["pairs"] == pairs


def test_table_has_bases_variants_and_published_names(config):
    config["clic"] |= {"variants": ["clic", "single"], "seeds": [1, 2], "published_name": "clic_vit_b_32_redcaps"}
    rows = clic_tables_settings(config)["models"]
    assert [(row["variant"], row["seed"], row["published_name"]) for row in rows] == [
        ("base", "", BASE),
        *[("clic", seed, "clic_vit_b_32_redcaps") for seed in (1, 2)],
        *[("single", seed, "") for seed in (1, 2)],
    ]
    assert {row["base"] for row in rows} == {BASE}


def test_held_out_captions_are_measured_if_there_are_any(config):
    assert [name for name, _ in clic_benchmarks(config)] == [HELD_OUT, NEGATION]
    config["clic"]["data"]["validation_share"] = 0
    assert [name for name, _ in clic_benchmarks(config)] == [NEGATION]


def test_candidates_are_needed_by_their_variant_or_by_all(config):
    assert (needs_candidates(config, "candidates"), needs_candidates(config, "clic")) == (True, False)
    config["clic"]["training"]["negatives"] = "candidates"
    assert (needs_candidates(config, "clic"), needs_candidates(config, "negclip")) == (True, False)


def test_training_depends_on_no_seed_and_no_other_variant(config):
    before = deepcopy(tuning_settings(config, BASE, "clic"))
    config["clic"] |= {"seeds": [7], "variants": ["within"], "published_name": "x"}
    assert tuning_settings(config, BASE, "clic") == before
    config["clic"]["training"]["epochs"] += 1
    assert tuning_settings(config, BASE, "clic") != before


@pytest.mark.parametrize(
    ("block", "key", "value", "named"),
    [
        ("data", "corpus", None, "clic.data.source 'corpus' needs a clic.data.corpus"),
        ("data", "source", "sentences", "'sentences' needs 1 clic.data.files, and there are 0"),
        ("training", "initial_learning_rate", 1.0, "clic.training: .*peak_learning_rate"),
    ],
)
def test_what_does_not_fit_is_named(config, block, key, value, named):
    config["clic"][block][key] = value
    with pytest.raises(ValueError, match=f"config: {named}|{named}"):
        check_clic(config)
