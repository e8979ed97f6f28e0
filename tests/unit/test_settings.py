import copy

import jsonschema
import pytest
import yaml

from crepebench.corpora import FORMATS
from crepebench.model_definitions import models_of, read_definition, read_models, used_models
from crepebench.settings import (
    check_exclusions,
    check_names,
    comparison_settings,
    corpus_record_settings,
    corpus_settings,
    correlation_settings,
    draw_settings,
    features_settings,
    review_page_settings,
    tables_settings,
    visual_genome_settings,
)
from crepebench.tuning_settings import check_negation, negation_tables_settings
from icons_world.settings import check_icons, control_settings, icons_corpus_settings, training_settings


@pytest.fixture(scope="module")
def schema(repository):
    return yaml.safe_load((repository / "workflow" / "schemas" / "config.schema.yaml").read_text())


@pytest.fixture
def config(repository):
    return yaml.safe_load((repository / "config" / "config.yaml").read_text())


def merged(config, overlay):
    """Merges an overlay key by key, as Snakemake does."""
    for key, value in overlay.items():
        config[key] = merged(config[key], value) if isinstance(value, dict) and key in config else value
    return config


def check(config):
    """Checks a config as the Snakefile does."""
    check_icons(config)
    check_names(config)


def objects_of(schema, place=""):
    """Yields (place, schema) of every object in a schema."""
    if schema.get("type") == "object":
        yield place, schema
    for name, child in schema.get("properties", {}).items():
        yield from objects_of(child, f"{place}/{name}")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from objects_of(schema["additionalProperties"], f"{place}/*")


def test_default_config_is_valid(schema, config):
    jsonschema.validate(config, schema)
    check(config)


def test_tiny_overlay_is_valid(schema, config, repository):
    overlay = yaml.safe_load((repository / "tests" / "data" / "tiny.yaml").read_text())
    jsonschema.validate(merged(config, overlay), schema)


def test_schema_itself_is_valid(schema):
    jsonschema.Draft202012Validator.check_schema(schema)


def test_every_object_of_the_schema_is_closed(schema):
    open_ones = [place for place, found in objects_of(schema) if found.get("additionalProperties", True) is True]
    assert open_ones == []


def test_every_key_of_the_schema_is_described(schema):
    keys = [
        (f"{place}/{name}", child)
        for place, found in objects_of(schema)
        for name, child in found.get("properties", {}).items()
    ]
    assert len(keys) > 0
    assert [key for key, child in keys if "description" not in child and "$ref" not in child] == []


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ((), "region"),
        (("regions",), "min_aera"),
        (("foils",), "sed"),
        (("corpora", "definitions", "mini_cc12m"), "fromat"),
        (("models", "definitions", "mini_clip_cc12m"), "wieghts"),
    ],
)
def test_unknown_key_is_refused_by_name(schema, config, path, key):
    block = config
    for name in path:
        block = block[name]
    block[key] = 1
    with pytest.raises(jsonschema.ValidationError, match=key):
        jsonschema.validate(config, schema)


def test_unknown_key_is_refused_in_every_block(schema, config):
    for block in config:
        broken = copy.deepcopy(config)
        broken[block]["typo"] = 1
        with pytest.raises(jsonschema.ValidationError, match="typo"):
            jsonschema.validate(broken, schema)


@pytest.mark.parametrize(
    ("block", "key", "value"),
    [
        ("regions", "min_image_share", 1.5),
        ("graphs", "duplicates", "images"),
        ("foils", "seed", -1),
        ("evaluation", "cross_corpus", "no"),
        ("corpora", "use", []),
    ],
)
def test_value_out_of_bounds_is_refused(schema, config, block, key, value):
    config[block][key] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(config, schema)


@pytest.mark.parametrize("sample", [None, {"share": 0.01}, {"share": 1}, {"ids": [1, 2]}])
def test_sample_is_nothing_a_share_or_ids(schema, config, sample):
    config["visual_genome"]["sample"] = sample
    jsonschema.validate(config, schema)


@pytest.mark.parametrize("sample", [{}, {"share": 0}, {"share": 2}, {"ids": []}, {"share": 0.1, "ids": [1]}, [1], 0.1])
def test_other_samples_are_refused(schema, config, sample):
    config["visual_genome"]["sample"] = sample
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(config, schema)


def test_known_bad_images_concern_the_true_visual_genome_only(config):
    assert visual_genome_settings(config)["exclude_images"] == []
    config["visual_genome"]["source"] = "data/visual_genome"
    assert visual_genome_settings(config)["exclude_images"] == [1592, 1722, 4616, 4617]
    assert "source" not in visual_genome_settings(config)


@pytest.mark.parametrize("block", ["wordnet", "icons", "regions", "stores"])
def test_missing_block_is_refused(schema, config, block):
    del config[block]
    with pytest.raises(jsonschema.ValidationError, match=f"'{block}' is a required property"):
        jsonschema.validate(config, schema)


def test_corpus_from_files_must_name_its_files(schema, config):
    config["corpora"]["definitions"]["mine"] = {"source": "files", "format": "cc12m"}
    with pytest.raises(jsonschema.ValidationError, match="'files' is a required property"):
        jsonschema.validate(config, schema)


FILES = {"source": "files", "files": ["a"]}


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        ({**FILES, "format": "jsonl"}, "'caption' is a required property"),
        ({**FILES, "format": "cc12m", "caption": "text"}, "False schema does not allow 'text'"),
        ({**FILES, "format": "tsv", "caption": 0}, "0 is not valid under any|0 is less than"),
        ({**FILES, "format": "csv", "caption": ["a", 2]}, "'a' is not of type 'integer'"),
        ({**FILES, "format": "parquet", "caption": 2}, "2 is not valid under any of the given schemas"),
        ({**FILES, "format": "webdataset", "caption": ["txt"]}, r"\['txt'\] is not of type 'string'"),
        ({**FILES, "format": "yfcc15m_clip"}, "'subset' is a required property"),
        ({**FILES, "format": "cc12m", "subset": "a"}, "False schema does not allow 'a'"),
        ({**FILES, "format": "cc12m", "manifest": "a"}, r"False schema does not allow \['a'\]"),
        ({"source": "icons", "format": "relaion"}, "'relaion' is not one of"),
        ({"source": "icons", "format": "cc12m", "release": "x"}, "False schema does not allow 'x'"),
        ({**FILES, "format": "yfcc15m"}, "'yfcc15m' is not one of"),
        ({**FILES, "format": "cc12m", "captoin": "x"}, "'captoin' was unexpected"),
    ],
)
def test_definition_of_a_corpus_that_makes_no_sense_is_refused(schema, config, definition, message):
    config["corpora"]["definitions"]["mine"] = definition
    with pytest.raises(jsonschema.ValidationError, match=message):
        jsonschema.validate(config, schema)


@pytest.mark.parametrize(
    "definition",
    [
        {**FILES, "format": "csv", "caption": 2},
        {**FILES, "format": "tsv", "caption": ["title", "text"], "release": "of May"},
        {**FILES, "format": "webdataset", "caption": "json.caption"},
        {**FILES, "format": "yfcc15m_clip", "subset": "a.tsv"},
        {"source": "files", "format": "relaion", "manifest": "a.yaml"},
    ],
)
def test_definition_of_a_corpus_may_have_what_its_format_needs(schema, config, definition):
    config["corpora"]["definitions"]["mine"] = definition
    jsonschema.validate(config, schema)


def test_reading_of_a_corpus_depends_on_what_chooses_its_rows_only(config):
    more = {"format": "yfcc15m_clip", "subset": "a.tsv", "release": "of May"}
    config["corpora"]["definitions"]["mine"] = {**FILES, **more}
    assert corpus_settings(config, "mine") == {
        "definition": {"format": "yfcc15m_clip", "subset": "a.tsv"},
        **config["parser"],
        **config["atoms"],
    }
    assert corpus_record_settings(config, "mine") == {
        "source": "files",
        "release": "of May",
        "reading": {"format": "yfcc15m_clip"},
    }


def test_formats_of_the_schema_are_those_that_are_read(schema):
    definition = schema["properties"]["corpora"]["properties"]["definitions"]["additionalProperties"]
    assert sorted(definition["properties"]["format"]["enum"]) == sorted(FORMATS)


def test_definition_is_found_by_name(config):
    assert read_definition(config, "corpora", "mini_yfcc15m")["format"] == "yfcc_extract"


@pytest.mark.parametrize("block", ["corpora", "models"])
def test_name_without_definition_is_refused(config, block):
    config[block]["use"].append("lainon")
    with pytest.raises(ValueError, match=rf"config: {block}\.definitions has no 'lainon'; it defines \['mini_"):
        check(config)


def test_icons_model_must_be_trained_on_a_defined_corpus(config):
    config["models"]["definitions"][config["models"]["use"][0]]["training_data"] = ["cc13m"]
    with pytest.raises(ValueError, match=r"corpora\.definitions has no 'cc13m'"):
        check(config)


@pytest.mark.parametrize(
    "find",
    [lambda config: config["models"]["use"][0], lambda config: config["icons"]["control"]["twin"]],
    ids=["model in use", "twin of the control"],
)
def test_icons_model_must_be_trained_on_a_corpus_of_icons(config, find):
    name = find(config)
    config["corpora"]["definitions"]["mine"] = {"source": "files", "format": "cc12m", "files": ["a.tsv"]}
    config["corpora"]["use"].append("mine")
    config["models"]["definitions"][name]["training_data"] = ["mine"]
    with pytest.raises(ValueError, match=rf"models\.definitions\.{name}: only corpora of the icons world come with"):
        check(config)


def test_control_of_an_undefined_corpus_is_refused(config):
    config["corpora"]["definitions"]["twin"] = {"source": "icons", "format": "cc12m", "control_of": "cc13m"}
    with pytest.raises(ValueError, match=r"corpora\.definitions has no 'cc13m'"):
        check(config)


def test_control_of_a_corpus_from_files_is_refused(config):
    config["corpora"]["definitions"]["mine"] = {"source": "files", "format": "cc12m", "files": ["a.tsv"]}
    config["corpora"]["definitions"]["twin"] = {"source": "icons", "format": "cc12m", "control_of": "mine"}
    with pytest.raises(ValueError, match=r"corpora\.definitions\.twin\.control_of is for corpora of the icons world"):
        check(config)


def test_denials_in_a_corpus_from_files_are_refused(config):
    config["corpora"]["definitions"]["mine"] = {
        "source": "files",
        "format": "cc12m",
        "files": ["a.tsv"],
        "denials": 0.5,
    }
    with pytest.raises(ValueError, match=r"corpora\.definitions\.mine\.denials is for corpora of the icons world"):
        check(config)


def test_bounds_in_the_wrong_order_are_refused(config):
    config["regions"].update(min_aspect=2.5, max_aspect=2.0)
    with pytest.raises(ValueError, match=r"regions\.min_aspect is greater than regions\.max_aspect"):
        check(config)


def with_weights(config, **changes):
    """Makes the first model in use one whose weights are given."""
    name = config["models"]["use"][0]
    definition = config["models"]["definitions"][name]
    config["models"]["definitions"][name] = {**definition, "source": "weights", **changes}
    config["icons"]["control"]["model"] = config["models"]["use"][1]
    return name


def test_model_from_a_tag_needs_an_architecture(config):
    name = with_weights(config, weights="laion2b_s34b_b79k")
    with pytest.raises(ValueError, match=rf"models\.definitions\.{name}: an architecture is missing"):
        check(config)


def test_model_from_a_tag_with_an_architecture_is_valid(schema, config):
    with_weights(config, weights="laion2b_s34b_b79k", architecture="ViT-B-32")
    jsonschema.validate(config, schema)
    check(config)


def test_folder_of_weights_needs_open_clips_config(config, tmp_path):
    name = with_weights(config, weights=str(tmp_path))
    with pytest.raises(ValueError, match=rf"models\.definitions\.{name}: the folder .* holds no open_clip_config"):
        check(config)
    (tmp_path / "open_clip_config.json").write_text("{}")
    check(config)


def test_models_none_of_which_enters_a_table_of_systematicity_are_refused(config):
    name = with_weights(config, weights="tag", architecture="ViT-B-32", training_data=["laion2b"])
    config["models"]["use"] = [name]
    with pytest.raises(ValueError, match="no model would enter a table of systematicity"):
        check(config)
    config["evaluation"]["cross_corpus"] = True
    check(config)


def test_a_model_of_another_corpus_is_measured_on_productivity_alone(config):
    name = with_weights(config, weights="tag", architecture="ViT-B-32", training_data=["laion2b"])
    config["models"]["use"] = ["mini_clip_yfcc15m", name]
    check(config)
    assert models_of(config, "systematicity") == ["mini_clip_yfcc15m"]
    assert models_of(config, "productivity") == ["mini_clip_yfcc15m", name]
    config["evaluation"]["cross_corpus"] = True
    assert models_of(config, "systematicity") == ["mini_clip_yfcc15m", name]


def test_training_data_may_hold_names_that_are_only_labels(config):
    with_weights(config, weights="tag", architecture="ViT-B-32", training_data=["laion2b", config["corpora"]["use"][0]])
    check(config)


@pytest.mark.parametrize("role", ["model", "twin"])
def test_control_must_name_a_model_of_the_icons_world(config, role):
    config["models"]["definitions"]["mine"] = {
        "family": "open_clip",
        "source": "weights",
        "weights": "tag",
        "architecture": "ViT-B-32",
        "training_data": [],
        "seen_images": [],
    }
    config["icons"]["control"][role] = "mine"
    with pytest.raises(ValueError, match=rf"icons\.control\.{role} names 'mine', which is no model of the icons world"):
        check(config)


def test_one_seed_keeps_the_name_of_a_model(config):
    models = read_models(config)
    assert models["mini_clip_cc12m"]["seed"] == 1
    assert used_models(config) == config["models"]["use"]


def test_several_seeds_make_a_model_of_each(config):
    config["models"]["seeds"] = [1, 7]
    config["models"]["use"] = ["mini_clip_cc12m"]
    assert used_models(config) == ["mini_clip_cc12m_seed1", "mini_clip_cc12m_seed7"]
    found = read_models(config)["mini_clip_cc12m_seed7"]
    assert (found["base"], found["seed"]) == ("mini_clip_cc12m", 7)
    assert [name for name, _ in tables_settings(config)["models"]] == used_models(config)


def test_seeds_do_not_concern_a_model_whose_weights_are_given(config):
    name = with_weights(config, weights="tag", architecture="ViT-B-32")
    config["models"]["seeds"] = [1, 2]
    assert read_models(config)[name]["seed"] is None
    assert used_models(config)[0] == name


def test_two_models_under_one_name_are_refused(config):
    config["models"]["seeds"] = [1, 2]
    definitions = config["models"]["definitions"]
    definitions["mini_clip_cc12m_seed2"] = {**definitions["mini_clip_cc12m"], "source": "weights", "weights": "tag"}
    with pytest.raises(ValueError, match="are both 'mini_clip_cc12m_seed2'"):
        check(config)


def test_control_takes_the_first_of_several_seeds(config):
    config["models"]["seeds"] = [5, 6]
    found = control_settings(config)
    assert (found["model"], found["twin"]) == ("mini_clip_cc12m_seed5", "mini_clip_cc12m_control_seed5")
    assert found["corpus"] == "mini_cc12m"


@pytest.mark.parametrize(
    ("path", "value", "select", "name"),
    [
        (("icons", "n_images"), 99, icons_corpus_settings, "mini_cc12m"),
        (("icons", "epochs"), 99, icons_corpus_settings, "mini_cc12m"),
        (("icons", "seed"), 99, training_settings, "mini_cc12m"),
        (("models", "seeds"), [1, 2], features_settings, "mini_clip_cc12m"),
        (("evaluation", "n_resamples"), 200, features_settings, "mini_clip_cc12m"),
    ],
)
def test_settings_leave_out_what_a_job_does_not_depend_on(config, path, value, select, name):
    before = select(config, name)
    changed = copy.deepcopy(config)
    changed[path[0]][path[1]] = value
    name = f"{name}_seed1" if path == ("models", "seeds") else name
    assert select(changed, name) == before


def test_draw_has_a_number_for_each_complexity(config):
    config["productivity"] |= {"complexities": [4, 7], "max_queries": 9}
    assert draw_settings(config)["max_queries"] == {"4": 9, "7": 9}
    config["productivity"]["max_queries"] = [9, None]
    assert draw_settings(config)["max_queries"] == {"4": 9, "7": None}
    config["productivity"]["max_queries"] = [9]
    with pytest.raises(ValueError, match=r"productivity\.max_queries has 1 numbers for 2 complexities"):
        check_names(config)


def test_published_figures_depend_on_what_says_which_model_it_is(config):
    model = config["models"]["use"][0]
    before = correlation_settings(config), comparison_settings(config)
    config["evaluation"]["n_resamples"] += 1
    config["models"]["definitions"][model]["seen_images"] = ["vg"]
    assert (correlation_settings(config), comparison_settings(config)) == before
    config["models"]["definitions"][model]["parameters"] = 7
    assert dict(correlation_settings(config)["models"])[model]["parameters"] == 7


def test_comparison_says_what_part_of_the_images_is_used(config):
    assert comparison_settings(config)["method"] == {"is_released": False, "is_image_sample": False}
    config["visual_genome"]["sample"] = {"share": 0.5}
    assert comparison_settings(config)["method"]["is_image_sample"]


@pytest.mark.parametrize("path", ["results/review/exclusions.csv", "./results/review//exclusions.csv"])
def test_an_exclusion_list_that_its_own_sets_give_is_refused(path):
    with pytest.raises(ValueError, match="made from the sets that it would change: copy it"):
        check_exclusions({"foils": {"exclusions": ["mine.csv", path]}})
    check_exclusions({"foils": {"exclusions": ["mine.csv", "/data/review/exclusions.csv"]}})


def test_the_review_page_does_not_depend_on_who_has_answered_it(config):
    expected = review_page_settings(config)
    assert "answers" not in expected and set(expected["definitions"]) == set(config["corpora"]["use"])
    changed = {**config, "review": {**config["review"], "answers": ["ann.json"]}}
    assert review_page_settings(changed) == expected
    released = {**config, "data": {**config["data"], "source": "crepe_release"}}
    assert "definitions" not in review_page_settings(released)


def test_a_corrected_model_shares_names_seeds_and_training_data_with_its_backbone(config):
    config["models"]["use"] = ["peakpatch:mini_clip_negation", "negvector:mini_clip_cc12m"]
    check(config)
    assert used_models(config) == config["models"]["use"]
    models = read_models(config)
    found = models["peakpatch:mini_clip_negation"]
    assert (found["family"], found["variant"], found["backbone"]) == ("peakpatch", "joint", "mini_clip_negation")
    assert found["training_data"] == models["mini_clip_negation"]["training_data"]
    assert features_settings(config, "peakpatch:mini_clip_negation")["model"] == {
        **{"family": "peakpatch", "variant": "joint"},
        "backbone": features_settings(config, "mini_clip_negation")["model"],
    }
    config["models"]["seeds"] = [3, 4]
    assert used_models(config)[:2] == [f"peakpatch:mini_clip_negation_seed{seed}" for seed in (3, 4)]
    assert read_models(config)["peakpatch:mini_clip_negation_seed4"]["backbone"] == "mini_clip_negation_seed4"


@pytest.mark.parametrize(
    ("name", "message"),
    [("patch:mini_clip_cc12m", "'patch' is none of"), ("peakpatch:nobody", "models.definitions has no 'nobody'")],
)
def test_a_correction_or_backbone_that_is_not_known_is_named(config, name, message):
    config["models"]["use"] = [name]
    with pytest.raises(ValueError, match=message):
        check(config)


def test_negation_compares_each_backbone_with_what_corrects_it(config):
    config["negation"]["variants"] = ["joint", "ecn"]
    rows = negation_tables_settings(config)["models"]
    assert [row["model"] for row in rows] == [
        f"{correction}mini_clip_negation" for correction in ("", "negvector:", "peakpatch:", "peakpatch_ecn:")
    ]
    assert {row["backbone"] for row in rows} == {"mini_clip_negation"}
    assert [bool(row["trained_on"]) for row in rows] == [False, False, True, True]


def test_weights_of_a_name_too_long_for_a_file_are_no_folder(config):
    name = with_weights(config, weights="9" * 5000, architecture="RN50")
    check(config)
    assert read_models(config)[name]["weights"] == "9" * 5000


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"corpus": None}, "needs a negation.data.corpus"),
        ({"corpus": "nobody"}, "corpora.definitions has no 'nobody'"),
        ({"source": "table", "files": []}, "needs 1 negation.data.files, and there are 0"),
        ({"source": "webdataset", "files": []}, "needs one or more negation.data.files"),
        ({"source": "released", "files": ["a.json", "b.json"]}, "needs negation.data.images"),
    ],
)
def test_data_of_negation_need_their_source(config, data, message):
    check_negation(config)
    config["negation"]["data"].update(data)
    with pytest.raises(ValueError, match=message):
        check_negation(config)
