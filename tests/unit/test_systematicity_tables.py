import csv
import json

import pytest

from crepebench.measures import write_csv
from crepebench.schema import RETRIEVAL_SETS, SCORES, SPLITS, write_table
from crepebench.systematicity_tables import (
    BY_KIND_COLUMNS,
    GAP_COLUMNS,
    GAP_SEEDS_COLUMNS,
    SYSTEMATICITY_COLUMNS,
    Queries,
    gap_row,
    gap_seeds_rows,
    tabulate_systematicity,
)

from .query_rows import query, random_queries


def test_gap_is_negative_where_unseen_is_worse():
    row = gap_row([query(i, 1.0) for i in range(9)], [query(i, 1.0 + i % 2) for i in range(10)], 200, [1])
    assert (row["seen"], row["unseen"], row["gap"]) == (100.0, 50.0, -50.0)
    assert row["gap_low"] < -50.0 < row["gap_high"] < 0


def test_gap_resamples_both_splits_with_the_same_images():
    rows = random_queries(40, 15, seed=1)
    row = gap_row(rows, rows, 200, [1])
    assert (row["gap"], row["gap_low"], row["gap_high"]) == (0.0, 0.0, 0.0)


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
                        "subgraph_id": None,
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
