"""The table of negation on the tiny run: data, analysis of layers, training, controls; a corrected model elsewhere."""

import csv
import json
import shutil

import pytest
import yaml
from snakemake.utils import update_config

from .conftest import TINY, assert_nothing_to_do, assert_ok, run_snakemake

TABLE = "results/tables/negation.csv"
MODEL = "mini_clip_negation"
CORRECTED = f"peakpatch:{MODEL}"
PLOTS = ["results/negation/plots/layers.png", f"results/negation/plots/{CORRECTED}/maps.png"]


@pytest.fixture(scope="module")
def overlay(tmp_path_factory):
    config = yaml.safe_load(TINY.read_text(encoding="utf-8"))
    update_config(
        config, {"negation": {"variants": ["joint"], "data": {"plans_per_caption": 1}, "training": {"epochs": 2}}}
    )
    path = tmp_path_factory.mktemp("overlay") / "overlay.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def run(tiny_run, checkout, overlay, tmp_path_factory):
    folder = tmp_path_factory.mktemp("negation") / "run"
    shutil.copytree(tiny_run, folder)
    assert_ok(run_snakemake(folder, TABLE, *PLOTS, "--cores", "2", overlay=overlay, root=checkout))
    return folder


@pytest.fixture(scope="module")
def rows(run):
    with open(run / TABLE, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_all_models_are_measured_alike(rows):
    by_model = {}
    for row in rows:
        if not row["metric"].endswith("_gain") and not row["control"] and row["model"]:
            by_model.setdefault(row["model"], set()).add((row["benchmark"], row["subset"], row["metric"]))
    assert by_model.keys() == {MODEL, f"negvector:{MODEL}", CORRECTED}
    shared = by_model[MODEL]
    assert by_model[f"negvector:{MODEL}"] == shared
    assert {metric for _, _, metric in by_model[CORRECTED] - shared} == {"cosine_to_frozen", "offset_size"}
    assert {benchmark for benchmark, _, _ in shared} == {"negation", "crepe_systematicity", "crepe_productivity"}
    subsets = {subset for benchmark, subset, _ in shared if benchmark == "negation"}
    assert {"mcq", "retrieval", "retrieval_negated", "zero_shot", "near_tie", "template=negative"} <= subsets


def test_a_trained_model_has_every_control_and_the_text_alone_stands_beside(rows):
    controls = {(row["model"], row["control"]) for row in rows if row["control"]}
    trained = {(CORRECTED, name) for name in ("images_permuted", "mean_image", "text_branch_zeroed")}
    assert trained <= controls <= trained | {("", "text_prior")}


def test_values_lie_in_their_intervals(rows):
    assert all(float(row["low"]) <= float(row["value"]) + 0.01 for row in rows)
    assert all(float(row["value"]) <= float(row["high"]) + 0.01 for row in rows)


def test_only_what_is_trained_says_on_what_and_with_which_seed(rows):
    assert {(row["model"], row["trained_on"], row["seed"]) for row in rows if row["model"] == CORRECTED} == {
        (CORRECTED, "mini_cc12m", "1")
    }
    assert all(not row["trained_on"] for row in rows if row["model"] != CORRECTED)


def test_layers_are_chosen_by_the_rule_and_a_missing_collapse_is_said(run):
    report = json.loads((run / "results" / "negation" / "layers" / MODEL / "layers.json").read_text())
    assert 1 <= report["anchor"] <= report["peak"] < report["n_layers"] == 6
    assert len(report["distance"]) == len(report["alignment"]) == 6
    assert isinstance(report["collapse"], bool)
    assert all((run / path).stat().st_size > 5_000 for path in PLOTS)


def test_nothing_is_left_to_do_and_no_checkpoint_stays(run, checkout, overlay):
    assert_nothing_to_do(run_snakemake(run, TABLE, *PLOTS, "-n", overlay=overlay, root=checkout))
    checkpoints = run / "results" / "negation" / "checkpoints"
    assert not checkpoints.exists() or not [path for path in checkpoints.rglob("*") if path.is_file()]


def test_a_corrected_model_enters_the_tables_like_any_other(run, checkout, overlay, tmp_path):
    config = yaml.safe_load(overlay.read_text())
    update_config(config, {"models": {"use": ["mini_clip_cc12m", MODEL, CORRECTED]}})
    path = tmp_path / "both.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    table = "results/tables/productivity.csv"  # whose scores negation.csv has made already
    assert_ok(run_snakemake(run, table, "--cores", "2", overlay=path, root=checkout))
    with open(run / table, newline="", encoding="utf-8") as file:
        assert {row["model"] for row in csv.DictReader(file)} == {"mini_clip_cc12m", MODEL, CORRECTED}
