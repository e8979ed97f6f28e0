import copy
import re
import shutil

import pytest
import yaml

from crepebench.plan import (
    count_units,
    format_bytes,
    format_seconds,
    lay_out,
    missing_text,
    parse_job_counts,
    plan_rows,
    plan_text,
    read_costs,
    read_relative_costs,
)

DRY_RUN = """Building DAG of jobs...
Job stats:
job                     count
--------------------  -------
parse_regions               2
all                         1
total                       3

host 7
"""
COST = {
    "unit": "image",
    "seconds_per_job": "2",
    "seconds_per_unit": "0.5",
    "bytes_per_job": "1",
    "bytes_per_unit": "100",
    "source": "here",
}


@pytest.fixture
def config(repository):
    return yaml.safe_load((repository / "config" / "config.yaml").read_text(encoding="utf-8"))


def test_job_counts_are_read_from_a_dry_run():
    assert parse_job_counts(DRY_RUN) == {"parse_regions": 2, "all": 1}


def test_finished_run_has_no_jobs():
    assert parse_job_counts("Nothing to be done (all requested files are present and up to date).\n") == {}


def test_time_grows_with_jobs_and_units():
    rows = plan_rows({"parse_regions": 4}, {"parse_regions": 4}, {"parse_regions": COST}, {"image": 10})
    assert rows == [{"rule": "parse_regions", "jobs": 4, "seconds": 4 * 2 + 10 * 0.5, "bytes": 1004.0, "basis": "here"}]


def test_part_of_the_jobs_has_its_part_of_the_units():
    rows = plan_rows({"parse_regions": 1}, {"parse_regions": 4}, {"parse_regions": COST}, {"image": 10})
    assert rows[0]["seconds"] == 2 + 10 / 4 * 0.5


def test_rule_without_a_cost_is_named():
    with pytest.raises(ValueError, match="no row for the rule 'parse_words'"):
        plan_rows({"parse_words": 1}, {}, {}, {"image": 1})


def test_rules_that_do_no_work_are_left_out():
    assert plan_rows({"all": 1, "plan": 1}, {}, {}, {}) == []


def test_icons_world_holds_the_images_and_captions_of_the_config(config):
    units = count_units(config, {corpus: [] for corpus in config["corpora"]["use"]}, {})
    assert units["image"] == 1600
    assert units["caption"] == 3 * 6000
    assert units["caption_epoch"] == 3 * 6000 * 12
    assert units["model_image"] == units["weighted_model_image"] == 3 * 1600


def test_several_seeds_are_several_trainings(config):
    config["models"]["seeds"] = [1, 2]
    units = count_units(config, {}, {})
    assert units["caption_epoch"] == 2 * 3 * 6000 * 12
    assert units["model_image"] == 6 * 1600


def test_captions_that_are_not_there_yet_are_those_of_the_published_corpus(config, tmp_path):
    config["corpora"]["definitions"]["mine"] = {"source": "files", "format": "cc12m", "files": ["a.tsv"]}
    assert count_units(config, {"mine": [str(tmp_path / "a.tsv")]}, {})["caption"] == 12_400_000
    (tmp_path / "a.tsv").write_text("u\ta jar\n" * 7)
    assert count_units(config, {"mine": [str(tmp_path / "a.tsv")]}, {})["caption"] == 7


def test_larger_architecture_costs_more(config):
    full = copy.deepcopy(config)
    definition = {"family": "open_clip", "source": "weights", "weights": "tag", "training_data": [], "seen_images": []}
    full["models"]["definitions"] |= {
        "small": {**definition, "architecture": "ViT-B-32"},
        "large": {**definition, "architecture": "ViT-L-14"},
    }
    full["models"]["use"] = ["small", "large"]
    full["visual_genome"]["source"] = "data"
    units = count_units(full, {}, {"ViT-B-32": 1.0, "ViT-L-14": 18.0})
    assert units["weighted_model_image"] == 108_077 * 19.0


@pytest.mark.parametrize(("sample", "n_images"), [(None, 1600), ({"share": 0.25}, 400), ({"ids": [7, 14]}, 2)])
def test_a_sample_has_fewer_images(config, sample, n_images):
    config["visual_genome"]["sample"] = sample
    assert count_units(config, {}, {})["image"] == n_images


def test_plan_names_missing_files_and_at_least_the_longest_job():
    rows = [
        {"rule": "train", "jobs": 1, "seconds": 600.0, "bytes": 2.5e6, "basis": "measured"},
        {"rule": "parse", "jobs": 4, "seconds": 40.0, "bytes": 1.5e9, "basis": "measured"},
    ]
    text = plan_text(rows, 8) + missing_text(["data/images.zip"])
    assert "On 8 cores: 10 min or more" in text
    assert "data/images.zip" in text
    assert "(1)" in text
    total = next(line for line in text.splitlines() if line.startswith("total"))
    assert total.split() == ["total", "5", "10.7", "min", "1.5", "GB"]


def test_plan_of_a_finished_run_says_so():
    assert plan_text([], 8).startswith("Nothing has to be done")


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (89, "89 s"), (600, "10 min"), (7200, "2 h"), (1e6, "11.6 days")]
)
def test_durations_are_shown_in_a_fitting_unit(seconds, text):
    assert format_seconds(seconds) == text


@pytest.mark.parametrize(("n_bytes", "text"), [(2_500_000, "2.5 MB"), (15.2e9, "15.2 GB"), (2e12, "2 TB")])
def test_sizes_are_shown_in_a_fitting_unit(n_bytes, text):
    assert format_bytes(n_bytes) == text


@pytest.mark.parametrize("world", ["icons", "visual_genome"])
def test_cost_table_knows_every_rule_that_a_run_may_need(repository, world):
    costs = read_costs(str(repository / "resources" / "plan" / "costs.csv"), world)
    rules = {
        name
        for path in (repository / "workflow" / "rules").glob("*.smk")
        for name in re.findall(r"^ *(?:rule|use rule \w+ as) (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    units = ("image", "caption", "caption_epoch", "model_image", "weighted_model_image")
    only_in_the_other_world = {
        "icons": {"validate_visual_genome_files"},
        "visual_genome": {"build_icons_visual_genome"},
    }
    needless = {"plan", "prune_stores"} | only_in_the_other_world[world]
    assert set(costs) == rules - needless
    for rule, cost in costs.items():
        assert cost["source"], rule
        assert cost["unit"] in units, rule


def test_architectures_of_the_full_run_have_a_relative_cost(repository):
    known = read_relative_costs(str(repository / "resources" / "plan" / "architectures.csv"))
    full = yaml.safe_load((repository / "config" / "crepe.yaml").read_text(encoding="utf-8"))
    for definition in full["models"]["definitions"].values():
        assert known[definition.get("architecture", "ViT-B-32")] > 0


def test_files_that_are_there_are_linked_and_missing_ones_are_empty_files(tmp_path, monkeypatch):
    for name in ("here/images/VG_100K/7.jpg", "here/objects.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("7")
    monkeypatch.chdir(tmp_path)
    present = ["here/objects.json", "here/images/VG_100K", "here/images", str(tmp_path / "here" / "objects.json")]
    lay_out(str(tmp_path / "there"), present, ["captions/*.tsv"])
    assert (tmp_path / "there" / "here" / "objects.json").read_text() == "7"
    assert (tmp_path / "there" / "here" / "images" / "VG_100K" / "7.jpg").read_text() == "7"
    assert (tmp_path / "there" / "captions" / "*.tsv").read_text() == ""
    assert sorted(path.name for path in (tmp_path / "here").iterdir()) == ["images", "objects.json"]


def test_missing_file_beyond_the_folder_is_refused_and_not_made(tmp_path, monkeypatch):
    (tmp_path / "run" / "mine").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "run")
    for path in (str(tmp_path / "weights.pt"), "../weights.pt", "mine/weights.pt"):
        with pytest.raises(RuntimeError, match=r"the jobs cannot be counted: a run with .*weights\.pt cannot"):
            lay_out(str(tmp_path / "there"), ["mine"], [path])
        shutil.rmtree(tmp_path / "there")
    assert not list(tmp_path.rglob("weights.pt"))
