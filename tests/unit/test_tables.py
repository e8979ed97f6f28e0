import csv
import json

import numpy as np
import pytest

from crepebench.accounting import write_accounting
from crepebench.schema import RETRIEVAL_SETS, SCORES, SPLITS, write_table
from crepebench.tables import (
    BY_KIND_COLUMNS,
    CHUNK,
    GAP_COLUMNS,
    GAP_SEEDS_COLUMNS,
    SYSTEMATICITY_COLUMNS,
    Queries,
    bootstrap_means,
    by_kind_rows,
    cell_seed,
    gap_row,
    gap_seeds_rows,
    interval,
    marks_of,
    recall_at,
    systematicity_row,
    tabulate_accounting,
    tabulate_systematicity,
    write_csv,
)


def query(image_id, rank, n_foils=4, kind="attribute", wins=None, region_id=None, foil_type="atom"):
    return {
        "image_id": image_id,
        "region_id": region_id or image_id,
        "foil_type": foil_type,
        "rank": rank,
        "foils": [{"kind": kind, "text": str(i)} for i in range(n_foils)],
        "wins": wins if wins is not None else [1.0] * n_foils,
    }


def random_queries(n, n_images, seed, n_foils=4):
    rng = np.random.default_rng(seed)
    return [query(int(rng.integers(n_images)), float(rng.integers(1, n_foils + 2)), n_foils) for _ in range(n)]


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
    found = systematicity_row(rows, 150, [3])
    ranks = [row["rank"] for row in rows]
    hits = [100 * sum(rank <= k for rank in ranks) / n for k in (1, 3, 5)]
    assert (found["n_queries"], found["n_candidates"]) == (n, n_foils + 1)
    assert found["n_images"] == len({row["image_id"] for row in rows})
    assert [found[f"recall_at_{k}"] for k in (1, 3, 5)] == pytest.approx(hits)
    assert found["average_recall"] == pytest.approx((hits[0] + hits[1]) / 2)
    assert found["mean_rank"] == pytest.approx(sum(ranks) / n)
    assert found["random_recall_at_1"] == pytest.approx(100 / (n_foils + 1))
    assert found["recall_at_1_low"] <= found["recall_at_1"] <= found["recall_at_1_high"]


@pytest.mark.parametrize(("n_foils", "random"), [(4, "20.00"), (6, "14.29"), (10, "9.09")])
def test_random_lines_are_those_of_the_paper(n_foils, random):
    assert f"{systematicity_row([query(1, 1.0, n_foils)], 100, [1])['random_recall_at_1']:.2f}" == random


def test_sets_of_different_sizes_in_one_cell_are_refused():
    with pytest.raises(ValueError, match=r"sets of different sizes in one cell: \[5, 7\]"):
        systematicity_row([query(1, 1.0, 4), query(2, 1.0, 6)], 100, [1])


def test_gap_is_negative_where_unseen_is_worse():
    row = gap_row([query(i, 1.0) for i in range(9)], [query(i, 1.0 + i % 2) for i in range(10)], 200, [1])
    assert (row["seen"], row["unseen"], row["gap"]) == (100.0, 50.0, -50.0)
    assert row["gap_low"] < -50.0 < row["gap_high"] < 0


def test_gap_resamples_both_splits_with_the_same_images():
    rows = random_queries(40, 15, seed=1)
    row = gap_row(rows, rows, 200, [1])
    assert (row["gap"], row["gap_low"], row["gap_high"]) == (0.0, 0.0, 0.0)


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
    ("low", "corpus", "seen_images", "marks"),
    [
        (30.0, "cc12m", [], ""),
        (25.0, "cc12m", [], "not_above_blind"),
        (30.0, "laion", [], "cross_corpus"),
        (20.0, "cc12m", [], "not_above_random not_above_blind"),
        (
            19.0,
            "laion",
            ["vg", "coco"],
            "cross_corpus seen_images_vg seen_images_coco not_above_random not_above_blind",
        ),
    ],
)
def test_marks_say_what_to_beware_of(low, corpus, seen_images, marks):
    row = {"recall_at_1_low": low, "random_recall_at_1": 20.0, "blind_recall_at_1": 25.0}
    assert marks_of(row, {"training_data": ["cc12m"], "seen_images": seen_images}, corpus, False, False) == marks


def test_splits_from_a_sample_are_marked():
    row = {"recall_at_1_low": 30.0, "random_recall_at_1": 20.0, "blind_recall_at_1": 25.0}
    assert marks_of(row, {"training_data": ["cc12m"], "seen_images": []}, "cc12m", True, False) == "undecided_left_out"
    assert marks_of(row, {"training_data": ["cc12m"], "seen_images": []}, "cc12m", False, True) == "matched"


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


class Run:
    """Writes the inputs of the stage for three foil types and 24 regions on 8 images, and runs it."""

    def __init__(self, folder):
        self.folder = folder
        self.models = [
            ("mini", {"base": "mini", "training_data": ["a"], "seen_images": []}),
            ("other", {"base": "other", "training_data": ["b"], "seen_images": ["vg"]}),
        ]

    def path(self, name):
        return str(self.folder / name)

    def write(self):
        foil_types = {"atom": 4, "comp": 6, "combined": 10}
        sets, scores = [], {"mini": [], "other": []}
        for region_id in range(24):
            for foil_type, n_foils in foil_types.items():
                foil = dict.fromkeys(("foil_id", "text", "original", "replacement", "source"), "")
                kinds = ["object" if i % 2 else "attribute" for i in range(n_foils)]
                sets.append(
                    {
                        "set_id": f"set {region_id}",
                        "protocol": "paper",
                        "foil_type": foil_type,
                        "image_id": region_id % 8,
                        "region_id": region_id,
                        **dict.fromkeys(("x", "y", "width", "height", "complexity"), 1),
                        "caption": "a",
                        "caption_source": "visual_genome",
                        "foils": [{**foil, "kind": kind} for kind in kinds],
                    }
                )
                for model, found in scores.items():
                    rank = 1.0 + (region_id % 3 if model == "mini" else region_id % 2)
                    wins = [float(i >= rank - 1) for i in range(n_foils)]
                    key = {"set_id": f"set {region_id}", "foil_type": foil_type}
                    if region_id == 5:
                        found.append({**key, "rank": None, "margin": None, "wins": None, "reason": "image_missing"})
                    else:
                        found.append({**key, "rank": rank, "margin": 0.0, "wins": wins, "reason": ""})
        write_table(self.path("sets-0.parquet"), RETRIEVAL_SETS, sets[:30])
        write_table(self.path("sets-1.parquet"), RETRIEVAL_SETS, sets[30:])
        for model, rows in scores.items():
            write_table(self.path(f"{model}.parquet"), SCORES, rows[::-1])
        self.write_blind(dict.fromkeys(foil_types, 20.0))
        for corpus in ("a", "b"):
            names = ["SC", "UC", "UA"] if corpus == "a" else ["UC", "SC", "SC"]
            self.write_splits(corpus, [names[i // 8] for i in range(24)])

    def write_splits(self, corpus, splits):
        others = {"decided_by": "", "corpus_id": f"{corpus}:1"}
        rows = [{"region_id": i, "split": split, **others} for i, split in enumerate(splits)]
        write_table(self.path(f"split-{corpus}.parquet"), SPLITS, rows)

    def write_blind(self, recalls):
        columns = ("protocol", "family", "corpus", "split", "foil_type", "scorer", "recall_at_1")
        rows = [
            ("paper", "systematicity", corpus, split, foil_type, scorer, recall if scorer == "strongest" else 99.0)
            for foil_type, recall in recalls.items()
            for corpus in ("all", "a", "b")
            for split in ("all", "SC", "UC", "UA")
            for scorer in ("words", "strongest")
        ]
        write_csv(self.path("blind.csv"), columns, [dict(zip(columns, row, strict=True)) for row in rows])

    def tabulate(self, cross_corpus=False, out="", matched=False):
        names = [f"{out}{name}.csv" for name in ("main", "gap", "seeds", "kind")]
        evaluation = {"n_resamples": 100, "seed": 1, "cross_corpus": cross_corpus, "matched": matched}
        tabulate_systematicity(
            [self.path("sets-0.parquet"), self.path("sets-1.parquet")],
            [self.path(f"{model}.parquet") for model, _ in self.models],
            [self.path(f"split-{corpus}.parquet") for corpus in ("a", "b")],
            self.path("blind.csv"),
            *map(self.path, names),
            json.dumps({"evaluation": evaluation, "corpora": ["a", "b"], "models": self.models}),
        )
        tables = []
        for name in names:
            with open(self.path(name), newline="") as file:
                tables.append(list(csv.DictReader(file)))
        return tables


@pytest.fixture
def run(tmp_path):
    run = Run(tmp_path)
    run.write()
    return run


def test_unscored_sets_are_left_out(run):
    queries = Queries([run.path("sets-0.parquet"), run.path("sets-1.parquet")], run.path("mini.parquet"))
    assert len(queries.rows) == 3 * 23
    assert 5 not in {row["region_id"] for row in queries.rows}


def test_cells_come_in_the_order_of_foil_types_and_splits(run):
    queries = Queries([run.path("sets-0.parquet"), run.path("sets-1.parquet")], run.path("mini.parquet"))
    split_of = {i: ["SC", "UC", "UA"][i // 8] for i in range(24)}
    cells = [(foil_type, split, len(rows)) for _, foil_type, split, rows in queries.cells(split_of)]
    sizes = {"SC": 7, "UC": 8, "UA": 8}
    assert cells == [(f, s, sizes[s]) for f in ("atom", "comp", "combined") for s in ("SC", "UC", "UA")]


def test_tables_have_their_columns_in_order(run):
    run.tabulate()
    for name, columns in (
        ("main", SYSTEMATICITY_COLUMNS),
        ("gap", GAP_COLUMNS),
        ("seeds", GAP_SEEDS_COLUMNS),
        ("kind", BY_KIND_COLUMNS),
    ):
        with open(run.path(f"{name}.csv")) as file:
            assert file.readline() == ",".join(columns) + "\n"


def test_model_enters_only_the_corpus_that_it_was_trained_on(run):
    main, gap, seeds, kind = run.tabulate()
    for table in (main, gap, seeds, kind):
        assert {(row["training_corpus"], row["model"]) for row in table} == {("a", "mini"), ("b", "other")}
    assert len(main) == 3 * 3 + 3 * 2
    assert len(gap) == 3 + 3


def test_cross_corpus_adds_the_other_pairs_and_marks_them(run):
    main, *_ = run.tabulate(cross_corpus=True)
    pairs = {(row["training_corpus"], row["model"], "cross_corpus" in row["marks"]) for row in main}
    assert pairs == {("a", "mini", False), ("a", "other", True), ("b", "mini", True), ("b", "other", False)}


def test_every_row_names_the_files_of_its_corpus(run):
    for table in run.tabulate():
        assert {(row["training_corpus"], row["corpus_id"]) for row in table} == {("a", "a:1"), ("b", "b:1")}


def test_regions_that_a_sample_could_not_sort_are_in_no_cell_and_the_others_are_marked(run):
    run.write_splits("a", ["SC"] * 8 + ["UC"] * 8 + ["undecided"] * 8)
    main, *_ = run.tabulate()
    run.write()
    of_a = [row for row in main if row["training_corpus"] == "a"]
    assert {row["split"] for row in of_a} == {"SC", "UC"}
    assert all("undecided_left_out" in row["marks"] for row in of_a)
    assert not any("undecided_left_out" in row["marks"] for row in main if row["training_corpus"] == "b")


def test_cell_holds_the_recall_of_its_own_queries(run):
    main, gap, *_ = run.tabulate()
    cell = {(row["training_corpus"], row["foil_type"], row["split"]): row for row in main}
    seen = [region_id for region_id in range(8) if region_id != 5]
    expected = 100 * sum(region_id % 3 == 0 for region_id in seen) / len(seen)
    unseen = 100 * sum(region_id % 3 == 0 for region_id in range(8, 16)) / 8
    assert cell["a", "comp", "SC"]["recall_at_1"] == f"{expected:.2f}"
    assert (cell["a", "comp", "SC"]["n_queries"], cell["a", "comp", "SC"]["n_candidates"]) == ("7", "7")
    assert gap[0]["gap"] == f"{unseen - expected:.2f}"


def test_every_cell_carries_the_recall_of_the_strongest_blind_scorer_and_is_marked_if_it_is_not_above(run):
    run.write_blind({"atom": 0.0, "comp": 99.0, "combined": 99.0})
    main, *_ = run.tabulate()
    for row in main:
        blind = 0.0 if row["foil_type"] == "atom" else 99.0
        assert float(row["blind_recall_at_1"]) == blind
        assert ("not_above_blind" in row["marks"]) == (float(row["recall_at_1_low"]) <= blind)


def test_gaps_of_several_seeds_become_mean_and_range():
    key = {"protocol": "paper", "training_corpus": "a", "foil_type": "atom", "corpus_id": "a:1"}
    found = [(30.0, 20.0), (40.0, 34.0), (50.0, 42.0)]
    gaps = [
        {**key, "model": f"mini_seed{i}", "seen": seen, "unseen": unseen, "gap": unseen - seen}
        for i, (seen, unseen) in enumerate(found)
    ]
    other = {**key, "model": "other", "seen": 1.0, "unseen": 2.0, "gap": 1.0}
    base_of = {"other": "other", **{f"mini_seed{i}": "mini" for i in range(3)}}
    rows = list(gap_seeds_rows([*gaps, other], base_of))
    assert [(row["model"], row["n_seeds"]) for row in rows] == [("mini", 3), ("other", 1)]
    assert (rows[0]["seen_mean"], rows[0]["unseen_mean"]) == (40.0, 32.0)
    assert (rows[0]["gap_mean"], rows[0]["gap_lowest"], rows[0]["gap_highest"]) == (-8.0, -10.0, -6.0)
    assert rows[1]["gap_lowest"] == rows[1]["gap_mean"] == rows[1]["gap_highest"] == 1.0


def test_interval_of_a_cell_does_not_depend_on_other_cells(run):
    alone, *_ = run.tabulate()
    together, *_ = run.tabulate(cross_corpus=True, out="x-")
    assert [row for row in together if row["marks"].find("cross_corpus") < 0] == alone


def test_same_inputs_give_the_same_bytes(run):
    run.tabulate(out="1-")
    run.tabulate(out="2-")
    for name in ("main.csv", "gap.csv", "seeds.csv", "kind.csv"):
        first, second = ((run.folder / f"{i}-{name}").read_bytes() for i in (1, 2))
        assert first == second != b""


def test_accounting_of_all_stages_is_joined(tmp_path):
    paths = [str(tmp_path / f"{i}.csv") for i in range(3)]
    write_accounting(paths[0], "regions", {"region": {"read": 3, "kept": 2, "area": 1}})
    write_accounting(paths[1], "sets", {"region": {"read": 2, "kept": 1, "atom_foils": 1}})
    write_accounting(paths[2], "sets", {"region": {"read": 4, "kept": 3, "comp_foils": 1}})
    tabulate_accounting(paths, str(tmp_path / "all.csv"))
    assert (tmp_path / "all.csv").read_text().splitlines() == [
        "stage,unit,reason,count",
        "regions,region,read,3",
        "regions,region,area,1",
        "regions,region,kept,2",
        "sets,region,read,6",
        "sets,region,atom_foils,1",
        "sets,region,comp_foils,1",
        "sets,region,kept,4",
    ]


def test_accounting_that_loses_a_record_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("stage,unit,reason,count\nregions,region,read,3\nregions,region,kept,2\n")
    with pytest.raises(ValueError, match="regions: 3 regions read, but 2 kept or dropped"):
        tabulate_accounting([str(tmp_path / "a.csv")], str(tmp_path / "all.csv"))
    assert not (tmp_path / "all.csv").exists()
