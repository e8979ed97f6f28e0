import json
from itertools import permutations

import pytest
from scipy.stats import spearmanr

from crepebench.correlations import COLUMNS, pearson, spearman, tabulate_imagenet_correlation
from crepebench.recall_series import measured_series

from .published_files import productivity_row, published_paths, read_csv, systematicity_row, write_tables

PARTS = ("models", "recalls", "correlations", "checkpoints")
FOUR = ["vit_b_32_laion400m", "vit_b_16_laion400m", "vit_b_16_plus_240_laion400m", "vit_l_14_laion400m"]


@pytest.fixture
def correlate(repository, tmp_path):
    """Writes imagenet_correlation.csv for rows of our tables and returns its rows."""

    def tabulate(systematicity=(), productivity=(), models=()):
        tables = write_tables(tmp_path, systematicity, productivity)
        path, cfg = str(tmp_path / "table.csv"), json.dumps({"models": models})
        tabulate_imagenet_correlation(**tables, **published_paths(repository, *PARTS), table_path=path, cfg=cfg)
        return read_csv(path)

    return tabulate


@pytest.fixture
def published(correlate):
    return {
        (row["models"], row["foil_type"], row["split"] or int(row["complexity"])): row
        for row in correlate()
        if row["recalls"] == "published"
    }


@pytest.mark.parametrize(
    ("foil_type", "cell", "r_squared", "stated"),
    [
        ("atom", "SC", "0.955", "0.95"),
        ("atom", "UC", "0.805", "0.80"),
        ("comp", "SC", "0.907", "0.91"),
        ("comp", "UC", "0.971", "0.97"),
        ("swap", 4, "0.072", "0.07"),
        ("swap", 12, "0.468", "0.47"),
        ("atom", "gap", "0.929", ""),
        ("comp", "gap", "0.963", ""),
        ("combined", "gap", "0.815", ""),
    ],
)
def test_squared_correlations_of_the_paper_follow_from_its_recalls(published, foil_type, cell, r_squared, stated):
    row = published["paper_seven", foil_type, cell]
    assert (row["n_models"], row["r_squared"], row["published_r_squared"]) == ("7", r_squared, stated)


@pytest.mark.parametrize(
    ("foil_type", "cell", "r_squared"),
    [("atom", "SC", "0.992"), ("atom", "UC", "0.987"), ("comp", "SC", "0.843"), ("comp", "UC", "0.877")],
)
def test_laion_models_are_correlated_alone(published, foil_type, cell, r_squared):
    row = published["laion400m", foil_type, cell]
    assert (row["n_models"], row["r_squared"], row["published_r_squared"]) == ("4", r_squared, "")
    assert (row["spearman_training_pairs"], row["p_training_pairs"]) == ("", "")  # all have the same


def test_all_cells_of_the_paper_are_reported(published):
    splits = [(name, split) for name in ("atom", "comp", "combined") for split in ("SC", "UC", "gap")]
    complexities = [(name, n) for name in ("atom", "swap", "negate") for n in (4, 12)]
    assert {key[1:] for key in published if key[0] == "paper_seven"} == {*splits, *complexities, ("swap", 8)}


def test_correlation_without_recalls_is_only_stated(published):
    row = published["paper_seven", "swap", 8]
    assert (row["n_models"], row["r_squared"], row["published_r_squared"]) == ("", "", "0.08")


def test_gap_grows_over_clusters_and_shrinks_within_one(published):
    assert float(published["paper_seven", "atom", "gap"]["pearson"]) < -0.9
    assert float(published["laion400m", "atom", "gap"]["pearson"]) > 0.9


@pytest.mark.parametrize("y", [[3, 1, 4, 1, 5], [1, 2, 3, 4, 5], [2, 2, 2, 1, 7]])
def test_p_of_spearman_is_that_of_all_orders(y):
    x = [1, 2, 2, 4, 8]
    rho, p = spearman(x, y)
    assert rho == pytest.approx(spearmanr(x, y).statistic)
    found = [abs(spearmanr(x, order).statistic) >= abs(rho) - 1e-9 for order in permutations(y)]
    assert p == pytest.approx(sum(found) / len(found))


def test_many_models_have_no_exact_p():
    assert spearman(range(8), range(8)) == (pytest.approx(1), pytest.approx(2 / 40_320))
    assert spearman(range(9), range(9)) == (pytest.approx(1), None)


def test_constant_values_have_no_correlation():
    assert pearson([1, 2, 3], [5, 5, 5]) is None
    assert spearman([4, 4, 4], [1, 2, 3]) == (None, None)


def test_measured_recalls_are_correlated_from_three_models_on(correlate):
    models = [(name, {"training_data": ["laion400m"]}) for name in FOUR]
    rows = [systematicity_row(name, "laion400m", recall=50.0 + i) for i, name in enumerate(FOUR)]
    measured = [row for row in correlate(rows[:3], models=models) if row["recalls"] == "measured"]
    assert [(row["models"], row["split"], row["n_models"]) for row in measured] == [("all", "SC", "3")]
    assert (measured[0]["spearman_top1"], measured[0]["p_top1"]) == ("1.000", "0.333")
    assert tuple(measured[0]) == COLUMNS
    assert [row for row in correlate(rows[:2], models=models) if row["recalls"] == "measured"] == []


def test_measured_models_of_one_corpus_are_correlated_alone(correlate):
    names = ["rn50_cc12m", *FOUR]
    models = [(name, {"training_data": [name.rpartition("_")[2]]}) for name in names]
    productivity = [productivity_row(name, 4, recall=20.0 + i) for i, name in enumerate(names)]
    measured = [row for row in correlate(productivity=productivity, models=models) if row["recalls"] == "measured"]
    assert [(row["models"], row["complexity"], row["n_models"]) for row in measured] == [
        ("all", "4", "5"),
        ("laion400m", "4", "4"),
    ]


def test_model_of_unknown_size_leaves_that_correlation_out(correlate):
    tags = [("ViT-B-16-SigLIP", "webli"), ("ViT-SO400M-14-SigLIP", "webli"), ("ViT-g-14", "laion2b_s34b_b88k")]
    models = [
        (f"m{i}", {"architecture": a, "weights": w, "training_data": ["x"], "parameters": 10 + i})
        for i, (a, w) in enumerate(tags)
    ]
    rows = [productivity_row(f"m{i}", 4, recall=20.0 + i) for i in range(3)]
    (row,) = [row for row in correlate(productivity=rows, models=models) if row["recalls"] == "measured"]
    assert (row["n_models"], row["spearman_parameters"], row["spearman_training_pairs"]) == ("3", "1.000", "")


def test_controls_and_unseen_atoms_are_left_out():
    rows = [
        systematicity_row("a", "x", recall=40.0),
        systematicity_row("a", "y", recall=60.0),
        systematicity_row("a", "z", recall=90.0, marks="cross_corpus matched"),
        systematicity_row("a", "x", split="UA"),
    ]
    (series,) = measured_series(rows, [])
    assert (series.split, series.values) == ("SC", {"a": 50.0})


def test_equal_gaps_tie():
    recalls = {"a": (23.26, 19.96), "b": (23.38, 20.08)}
    rows = [
        systematicity_row(name, "x", split=split, recall=recall)
        for name, both in recalls.items()
        for split, recall in zip(("SC", "UC"), both, strict=True)
    ]
    *_, gap = measured_series(rows, [])
    assert (gap.split, gap.values) == ("gap", {"a": -3.3, "b": -3.3})
