import statistics

import numpy as np
import pytest

from crepebench.measures import (
    CHUNK,
    MEASURES,
    bootstrap_means,
    by_kind_rows,
    cell_seed,
    interval,
    marks_of,
    measures_row,
    query_hits,
    recall_at,
    write_csv,
)

from .query_rows import query, random_queries


def naive_bootstrap(groups, n_resamples, seed):
    """Draws images one resample at a time and averages the values of all of their records."""
    image_ids = sorted({int(i) for ids, _ in groups for i in ids})
    rng = np.random.default_rng(seed)
    means = [[] for _ in groups]
    for start in range(0, n_resamples, CHUNK):
        draws = rng.integers(0, len(image_ids), size=(min(CHUNK, n_resamples - start), len(image_ids)))
        for draw in draws:
            for (ids, values), found in zip(groups, means, strict=True):
                chosen = [v for place in draw for i, v in zip(ids, values, strict=True) if i == image_ids[place]]
                found.append(sum(chosen) / len(chosen) if chosen else float("nan"))
    return np.array(means)


@pytest.mark.parametrize(("k", "recall"), [(1, 25.0), (2, 75.0), (3, 75.0), (5, 100.0)])
def test_recall_counts_ranks_up_to_k(k, recall):
    assert recall_at(np.array([1.0, 1.5, 2.0, 3.5]), k) == recall


def test_bootstrap_equals_a_naive_one():
    rng = np.random.default_rng(0)
    groups = [(rng.integers(0, 11, size=n) * 7, rng.integers(0, 2, size=n).astype(float)) for n in (23, 17)]
    found = bootstrap_means(groups, 237, [1, 2])
    assert found.shape == (2, 237)
    np.testing.assert_allclose(found, naive_bootstrap(groups, 237, [1, 2]), rtol=1e-12)


def test_queries_of_one_image_stand_or_fall_together():
    ids, hits = np.array([1] * 50 + [2] * 50), np.array([1.0] * 50 + [0.0] * 50)
    assert set(bootstrap_means([(ids, hits)], 300, [1])[0]) == {0.0, 0.5, 1.0}


def test_resample_that_leaves_a_group_empty_is_nan_and_left_out():
    groups = [(np.array([1, 2]), np.array([1.0, 0.0])), (np.array([3]), np.array([1.0]))]
    means = bootstrap_means(groups, 300, [1])
    assert np.isnan(means[1]).any()
    assert interval(means[1]) == (1.0, 1.0)


@pytest.mark.parametrize("n", [1000, 997])
def test_interval_is_the_middle_95_percent(n):
    low, high = interval(np.random.default_rng(0).permutation(n) / (n - 1))
    assert (low, high) == (pytest.approx(0.025), pytest.approx(0.975))


@pytest.mark.parametrize(("n", "n_images", "n_foils"), [(11, 5, 4), (1, 1, 6), (103, 40, 10)])
def test_measures_equal_naive_ones(n, n_images, n_foils):
    rows = random_queries(n, n_images, seed=n, n_foils=n_foils)
    found = measures_row(rows, 150, [3])
    ranks = [row["rank"] for row in rows]
    hits = [100 * sum(rank <= k for rank in ranks) / n for k in (1, 3, 5, 10)]
    assert (found["n_queries"], found["n_candidates"]) == (n, n_foils + 1)
    assert found["n_images"] == len({row["image_id"] for row in rows})
    assert [found[f"recall_at_{k}"] for k in (1, 3, 5, 10)] == pytest.approx(hits)
    assert found["average_recall"] == pytest.approx((hits[0] + hits[1]) / 2)
    assert found["mean_rank"] == pytest.approx(sum(ranks) / n)
    assert found["median_rank"] == statistics.median(ranks)
    pairs = [win for row in rows for win in row["wins"]]
    assert found["pairwise_accuracy"] == pytest.approx(100 * sum(pairs) / len(pairs))
    assert found["random_recall_at_1"] == pytest.approx(100 / (n_foils + 1))
    for measure in ("recall_at_1", "pairwise_accuracy"):
        assert found[f"{measure}_low"] <= found[measure] <= found[f"{measure}_high"]


@pytest.mark.parametrize(("n_foils", "random"), [(4, "20.00"), (6, "14.29"), (10, "9.09")])
def test_random_lines_are_those_of_the_paper(n_foils, random):
    assert f"{measures_row([query(1, 1.0, n_foils)], 100, [1])['random_recall_at_1']:.2f}" == random


def test_sets_of_different_sizes_in_one_cell_are_refused():
    with pytest.raises(ValueError, match=r"sets of different sizes in one cell: \[5, 7\]"):
        measures_row([query(1, 1.0, 4), query(2, 1.0, 6)], 100, [1])


@pytest.mark.parametrize(
    ("ranks", "median"), [([1.0, 1.5, 7.0], 1.5), ([1.0, 1.5, 2.0, 9.0], 1.75), ([1.5, 1.5], 1.5), ([3.0], 3.0)]
)
def test_median_rank_keeps_the_halves_of_ties(ranks, median):
    rows = [query(i, rank) for i, rank in enumerate(ranks)]
    assert measures_row(rows, 100, [1])["median_rank"] == median


def test_interval_of_the_pairwise_accuracy_comes_from_images():
    rows = [query(1, 1.0, wins=[1.0] * 4)] * 30 + [query(2, 5.0, wins=[0.0] * 4)] * 30
    found = measures_row(rows, 200, [1])
    assert (found["pairwise_accuracy_low"], found["pairwise_accuracy_high"]) == (0.0, 100.0)


def test_pairwise_accuracy_does_not_move_the_interval_of_recall():
    rows = random_queries(40, 12, seed=3)
    alone = interval(100 * bootstrap_means([query_hits(rows)], 150, [3])[0])
    found = measures_row(rows, 150, [3])
    assert (found["recall_at_1_low"], found["recall_at_1_high"]) == alone


def test_measures_have_the_columns_of_the_tables():
    found = measures_row(random_queries(9, 4, seed=1), 100, [1])
    assert set(found) | {"blind_recall_at_1", "marks"} == set(MEASURES)


def test_pairwise_accuracy_equals_a_naive_one():
    rng = np.random.default_rng(2)
    rows = []
    for image_id in range(13):
        wins = [float(w) for w in rng.choice([0, 0.5, 1], size=4)]
        row = query(image_id % 5, 1.0, wins=wins)
        for foil in row["foils"]:
            foil["kind"] = str(rng.choice(["object", "attribute", "relation"]))
        rows.append(row)
    found = {row["foil_kind"]: row for row in by_kind_rows(rows, 100, 1, ("cell",))}
    assert set(found) == {"object", "attribute", "relation"}
    for kind, row in found.items():
        pairs = [
            (r["image_id"], w) for r in rows for f, w in zip(r["foils"], r["wins"], strict=True) if f["kind"] == kind
        ]
        assert row["n_pairs"] == len(pairs)
        assert row["n_images"] == len({image_id for image_id, _ in pairs})
        assert row["pairwise_accuracy"] == pytest.approx(100 * sum(win for _, win in pairs) / len(pairs))


@pytest.mark.parametrize(
    ("low", "before", "seen_images", "after", "marks"),
    [
        (30.0, [], [], [], ""),
        (25.0, [], [], [], "not_above_blind"),
        (30.0, ["cross_corpus"], [], [], "cross_corpus"),
        (20.0, [], [], ["matched"], "matched not_above_random not_above_blind"),
        (
            19.0,
            ["cross_corpus"],
            ["vg", "coco"],
            ["undecided_left_out"],
            "cross_corpus seen_images_vg seen_images_coco undecided_left_out not_above_random not_above_blind",
        ),
    ],
)
def test_marks_say_what_to_beware_of(low, before, seen_images, after, marks):
    measures = {"recall_at_1_low": low, "random_recall_at_1": 20.0, "blind_recall_at_1": 25.0}
    assert marks_of(measures, {"seen_images": seen_images}, before, after) == marks


def test_table_without_a_blind_line_has_no_mark_for_it():
    measures = {"recall_at_1_low": 0.0, "random_recall_at_1": 20.0}
    assert marks_of(measures, {"seen_images": []}) == "not_above_random"


def test_seed_of_a_cell_depends_on_its_names_and_their_borders():
    seeds = [cell_seed(1, "a", "bc"), cell_seed(1, "ab", "c"), cell_seed(2, "a", "bc"), cell_seed(1, "a")]
    assert len(set(map(tuple, seeds))) == 4
    assert cell_seed(1, "a", "bc") == seeds[0]


def test_table_is_written_with_two_decimals_and_line_feeds(tmp_path):
    path = tmp_path / "table.csv"
    rows = [{"a": 1, "b": 100 / 3, "c": "x, y"}, {"a": 2, "b": np.float64(0.005), "c": ""}]
    write_csv(str(path), ("b", "a", "c"), rows)
    assert path.read_bytes() == b'b,a,c\n33.33,1,"x, y"\n0.01,2,\n'


@pytest.mark.parametrize("gap", [-0.001, -0.0, np.float64(-0.004), 0.0])
def test_gap_that_rounds_to_zero_has_no_sign(tmp_path, gap):
    write_csv(str(tmp_path / "table.csv"), ("gap",), [{"gap": gap}])
    assert (tmp_path / "table.csv").read_text() == "gap\n0.00\n"
