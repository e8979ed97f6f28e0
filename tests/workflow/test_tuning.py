"""The tables of negation and of CLIC on the tiny run, of one base: data, trainings, controls, gains, export, names."""

import csv
import json
import re
import shutil

import pytest
import yaml
from snakemake.utils import update_config

from .conftest import TINY, assert_nothing_to_do, assert_ok, run_snakemake

NEGATION, CLIC = "results/tables/negation.csv", "results/tables/clic.csv"
MODEL = "mini_clip_cc12m"
CORRECTED, TUNED = f"peakpatch:{MODEL}", f"clic:{MODEL}"
EXPORT = f"results/clic/export/{TUNED}"
PLOTS = ["results/negation/plots/layers.png", f"results/negation/plots/{CORRECTED}/maps.png"]
PLOTS += ["results/clic/plots/gains.png", "results/clic/plots/learning_curves.png"]
TARGETS = [NEGATION, CLIC, *PLOTS, EXPORT]


@pytest.fixture(scope="module")
def overlay(tmp_path_factory):
    config = yaml.safe_load(TINY.read_text(encoding="utf-8"))
    training = {"epochs": 2, "pair_batch": 32, "question_batch": 32}
    negation = {"models": [MODEL], "variants": ["joint"], "data": {"plans_per_caption": 1}, "training": training}
    clic = {"variants": ["clic"], "seeds": [1], "training": {"epochs": 1, "batch_size": 16}}
    update_config(config, {"negation": negation, "clic": clic})
    path = tmp_path_factory.mktemp("overlay") / "overlay.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def run(tiny_run, checkout, overlay, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tuning") / "run"
    shutil.copytree(tiny_run, folder)
    assert_ok(run_snakemake(folder, *TARGETS, "--cores", "2", overlay=overlay, root=checkout))
    return folder


def read_rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def negation(run):
    return read_rows(run / NEGATION)


@pytest.fixture(scope="module")
def clic(run):
    return read_rows(run / CLIC)


def test_all_models_are_measured_alike(negation):
    by_model = {}
    for row in negation:
        if not row["metric"].endswith("_gain") and not row["control"] and row["model"]:
            by_model.setdefault(row["model"], set()).add((row["benchmark"], row["subset"], row["metric"]))
    assert by_model.keys() == {MODEL, f"negvector:{MODEL}", CORRECTED}
    shared = by_model[MODEL]
    assert by_model[f"negvector:{MODEL}"] == shared
    assert {metric for _, _, metric in by_model[CORRECTED] - shared} == {"cosine_to_frozen", "offset_size"}
    assert {benchmark for benchmark, _, _ in shared} == {"negation", "crepe_systematicity", "crepe_productivity"}
    subsets = {subset for benchmark, subset, _ in shared if benchmark == "negation"}
    assert {"mcq", "retrieval", "retrieval_negated", "zero_shot", "near_tie", "template=negative"} <= subsets


def test_a_trained_model_has_every_control_and_the_text_alone_stands_beside(negation):
    controls = {(row["model"], row["control"]) for row in negation if row["control"]}
    trained = {(CORRECTED, name) for name in ("images_permuted", "mean_image", "text_branch_zeroed")}
    assert trained <= controls <= trained | {("", "text_prior")}


def test_values_lie_in_their_intervals(negation):
    assert all(float(row["low"]) <= float(row["value"]) + 0.01 for row in negation)
    assert all(float(row["value"]) <= float(row["high"]) + 0.01 for row in negation)


def test_only_what_is_trained_says_on_what_and_with_which_seed(negation):
    assert {(row["model"], row["trained_on"], row["seed"]) for row in negation if row["model"] == CORRECTED} == {
        (CORRECTED, "mini_cc12m", "1")
    }
    assert all(not row["trained_on"] for row in negation if row["model"] != CORRECTED)


def test_layers_are_chosen_by_the_rule_and_a_missing_collapse_is_said(run):
    report = json.loads((run / "results" / "negation" / "layers" / MODEL / "layers.json").read_text())
    assert 1 <= report["anchor"] <= report["peak"] < report["n_layers"] == 4
    assert len(report["distance"]) == len(report["alignment"]) == 4
    assert isinstance(report["collapse"], bool)
    assert all((run / path).stat().st_size > 5_000 for path in PLOTS)


def test_base_and_tuned_model_are_measured_alike_and_gains_stand_beside(clic):
    by_model = {}
    for row in clic:
        if row["seed"] != "mean":
            cell = row["benchmark"], row["subset"], row["metric"]
            by_model.setdefault((row["model"], row["base"], row["variant"], row["seed"]), set()).add(cell)
    assert by_model.keys() == {(MODEL, MODEL, "base", ""), (TUNED, MODEL, "clic", "1")}
    of_base, of_tuned = by_model.values()
    corpus = "mini_cc12m"
    assert {("crepe_systematicity", f"{corpus}/comp/{split}", "recall_at_1") for split in ("SC", "UC")} <= of_base
    assert {("crepe_systematicity", f"{corpus}/comp", "gap"), ("crepe_productivity", "swap", "recall_at_1")} <= of_base
    own = {"negation", "clic_held_out"}
    assert {benchmark for benchmark, *_ in of_base} == {*own, "crepe_systematicity", "crepe_productivity"}
    assert of_base <= of_tuned
    assert all(metric.endswith("_gain") for *_, metric in of_tuned - of_base)
    assert ("crepe_productivity", "swap", "recall_at_1_gain") in of_tuned


def test_negatives_are_told_better_and_images_stay_the_bases(run):
    rows = read_rows(run / "results" / "clic" / "trained" / MODEL / "clic" / "seed_1" / "learning_curve.csv")
    held_out = [row for row in rows if (row["split"], row["kind"]) == ("validation", "joined")]
    assert float(held_out[-1]["loss_negative"]) < float(held_out[0]["loss_negative"])
    log = (run / "results" / "logs" / "extract_features" / f"{TUNED}_systematicity.log").read_text()
    assert "crops have the features of the model under this one" in log
    assert " and 0 crops were encoded" in log


def test_an_exported_model_is_the_tuned_one(run):
    import open_clip
    import torch
    from safetensors.torch import load_file

    model = open_clip.create_model(f"local-dir:{run / EXPORT / 'open_clip'}")
    trained = load_file(run / "results" / "clic" / "trained" / MODEL / "clic" / "seed_1" / "clic.safetensors")
    state = model.state_dict()
    assert trained
    assert all(torch.equal(state[name], tensor) for name, tensor in trained.items())
    assert not any(name.startswith("visual.") for name in trained)


def test_nothing_is_left_to_do_and_no_checkpoint_stays(run, checkout, overlay):
    assert_nothing_to_do(run_snakemake(run, *TARGETS, "-n", overlay=overlay, root=checkout))
    for stage in ("negation", "clic"):
        assert not list((run / "results" / stage / "checkpoints").rglob("seed_*"))


@pytest.mark.parametrize("model", [f"peakpatch:{TUNED}", f"negvector:clic_within_seed3:{MODEL}", f"clic_both:{MODEL}"])
def test_tuned_models_can_be_corrected_and_measured_by_name(run, checkout, overlay, model):
    planned = run_snakemake(run, f"results/scores/{model}/productivity.parquet", "-n", overlay=overlay, root=checkout)
    assert_ok(planned)
    jobs = {line.split()[0] for line in planned.stdout.splitlines() if re.fullmatch(r"\w+ +[0-9]+", line)}
    assert ("train_clic" in jobs) == (model != f"peakpatch:{TUNED}")
    assert ("train_peakpatch" in jobs) == model.startswith("peakpatch:")


def test_an_unknown_variant_is_refused_with_the_known_ones(run, checkout, overlay, tmp_path):
    config = yaml.safe_load(overlay.read_text())
    update_config(config, {"models": {"use": [MODEL, f"clic_wthin:{MODEL}"]}})
    path = tmp_path / "typo.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    refused = run_snakemake(run, "-n", overlay=path, root=checkout)
    assert refused.returncode != 0
    assert "'clic_wthin' is none of" in refused.stdout + refused.stderr


def test_corrected_and_tuned_models_enter_the_tables_like_any_other(run, checkout, overlay, tmp_path):
    config = yaml.safe_load(overlay.read_text())
    update_config(config, {"models": {"use": [MODEL, CORRECTED, TUNED]}})
    path = tmp_path / "both.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    table = "results/tables/productivity.csv"  # whose scores both tables have made already
    assert_ok(run_snakemake(run, table, "--cores", "2", overlay=path, root=checkout))
    assert {row["model"] for row in read_rows(run / table)} == {MODEL, CORRECTED, TUNED}
