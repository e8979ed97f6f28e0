"""The table of CLIC on the tiny run: data, training with two seeds, gains; an exported checkpoint; names of models."""

import csv
import shutil

import numpy as np
import pytest
import yaml
from snakemake.utils import update_config

from .conftest import TINY, assert_nothing_to_do, assert_ok, run_snakemake

TABLE = "results/tables/clic.csv"
BASE = "mini_clip_cc12m"
TUNED = [f"clic:{BASE}", f"clic_seed2:{BASE}"]
EXPORT = f"results/clic/export/{TUNED[0]}"
OTHERS = ["results/clic/plots/gains.png", "results/clic/plots/learning_curves.png", EXPORT]


@pytest.fixture(scope="module")
def overlay(tmp_path_factory):
    config = yaml.safe_load(TINY.read_text(encoding="utf-8"))
    training = {"epochs": 1, "batch_size": 16}
    update_config(config, {"clic": {"variants": ["clic"], "seeds": [1, 2], "training": training}})
    path = tmp_path_factory.mktemp("overlay") / "overlay.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def run(tiny_run, checkout, overlay, tmp_path_factory):
    folder = tmp_path_factory.mktemp("clic") / "run"
    shutil.copytree(tiny_run, folder)
    assert_ok(run_snakemake(folder, TABLE, *OTHERS, "--cores", "2", overlay=overlay, root=checkout))
    return folder


@pytest.fixture(scope="module")
def rows(run):
    with open(run / TABLE, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_base_and_seeds_are_measured_alike_and_gains_stand_beside(rows):
    by_model = {}
    for row in rows:
        if row["seed"] not in ("mean", "std"):
            cell = row["benchmark"], row["subset"], row["metric"]
            by_model.setdefault((row["model"], row["base"], row["variant"], row["seed"]), set()).add(cell)
    of_base, *of_tuned = [
        by_model.pop(key) for key in [(BASE, BASE, "base", ""), *((TUNED[i], BASE, "clic", str(i + 1)) for i in (0, 1))]
    ]
    assert not by_model
    corpus = "mini_cc12m"
    assert {("crepe_systematicity", f"{corpus}/comp/{split}", "recall_at_1") for split in ("SC", "UC")} <= of_base
    assert {("crepe_systematicity", f"{corpus}/comp", "gap"), ("crepe_productivity", "swap", "recall_at_1")} <= of_base
    assert {benchmark for benchmark, *_ in of_base} == {"negation", "crepe_systematicity", "crepe_productivity"}
    for cells in of_tuned:
        assert of_base <= cells
        assert all(metric.endswith("_gain") for *_, metric in cells - of_base)
        assert ("crepe_productivity", "swap", "recall_at_1_gain") in cells


def test_mean_and_deviation_are_those_of_the_seeds(rows):
    cells = {}
    for row in rows:
        if row["variant"] == "clic":
            cell = cells.setdefault((row["benchmark"], row["subset"], row["metric"]), {})
            cell[row["seed"]] = float(row["value"])
    for cell in cells.values():
        values = [cell["1"], cell["2"]]
        assert np.isclose(cell["mean"], np.mean(values), atol=6e-3)
        assert np.isclose(cell["std"], np.std(values, ddof=1), atol=6e-3)


def test_negatives_are_told_better_and_images_stay_the_bases(run):
    folder = run / "results" / "clic" / "trained" / BASE / "clic" / "seed_1"
    with open(folder / "learning_curve.csv", newline="", encoding="utf-8") as file:
        losses = [
            float(row["loss_negative"])
            for row in csv.DictReader(file)
            if (row["split"], row["kind"]) == ("validation", "joined")
        ]
    assert losses[-1] < losses[0]
    log = (run / "results" / "logs" / "extract_features" / f"{TUNED[0]}_systematicity.log").read_text()
    assert "crops have the features of the model under this one" in log
    assert " and 0 crops were encoded" in log


def test_an_exported_model_is_the_tuned_one(run):
    import open_clip
    import torch
    from safetensors.torch import load_file

    model = open_clip.create_model(f"local-dir:{run / EXPORT / 'open_clip'}")
    trained = load_file(run / "results" / "clic" / "trained" / BASE / "clic" / "seed_1" / "clic.safetensors")
    state = model.state_dict()
    assert trained
    assert all(torch.equal(state[name], tensor) for name, tensor in trained.items())
    assert not any(name.startswith("visual.") for name in trained)


def test_nothing_is_left_to_do_and_no_checkpoint_stays(run, checkout, overlay):
    assert_nothing_to_do(run_snakemake(run, TABLE, *OTHERS, "-n", overlay=overlay, root=checkout))
    checkpoints = run / "results" / "clic" / "checkpoints"
    assert not checkpoints.exists() or not [path for path in checkpoints.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    "model", [f"peakpatch:clic:{BASE}", f"negvector:clic_within_seed3:{BASE}", f"clic_both:{BASE}"]
)
def test_tuned_models_can_be_corrected_and_measured_by_name(run, checkout, overlay, model):
    planned = run_snakemake(run, f"results/scores/{model}/productivity.parquet", "-n", overlay=overlay, root=checkout)
    assert_ok(planned)
    assert "rule train_clic:" in planned.stdout or model == f"peakpatch:{TUNED[0]}"
    assert ("rule train_peakpatch:" in planned.stdout) == model.startswith("peakpatch:")


def test_an_unknown_variant_is_refused_with_the_known_ones(run, checkout, overlay, tmp_path):
    config = yaml.safe_load(overlay.read_text())
    update_config(config, {"models": {"use": [BASE, f"clic_wthin:{BASE}"]}})
    path = tmp_path / "typo.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    refused = run_snakemake(run, "-n", overlay=path, root=checkout)
    assert refused.returncode != 0
    assert "'clic_wthin' is none of" in refused.stdout + refused.stderr
