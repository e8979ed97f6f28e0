import csv
import json

import numpy as np
import pytest

from crepebench.measures import write_csv
from crepebench.productivity_tables import (
    BY_KIND_COLUMNS,
    PRODUCTIVITY_COLUMNS,
    productivity_cells,
    tabulate_productivity,
)
from crepebench.schema import RETRIEVAL_SETS, SCORES, write_table

TYPES = {"atom": 5, "negate": 5, "overall": 15}


def set_rows():
    """48 captions of 4 to 6 atoms on 12 images; those of 5 atoms have two sources."""
    rows = []
    for i in range(48):
        for foil_type, n_foils in TYPES.items():
            foil = dict.fromkeys(("foil_id", "text", "original", "replacement", "source"), "")
            kinds = ["negated_object" if k % 2 else "negated_relation" for k in range(n_foils)]
            rows.append(
                {
                    "set_id": f"set {i}",
                    "protocol": "refined",
                    "foil_type": foil_type,
                    "image_id": i % 12,
                    "region_id": None,
                    "subgraph_id": i,
                    **dict.fromkeys(("x", "y", "width", "height"), 1),
                    "complexity": 4 + i % 3,
                    "caption": "a",
                    "caption_source": "model" if i % 3 == 1 and i % 2 else "template",
                    "foils": [{**foil, "kind": kind} for kind in kinds],
                }
            )
    return rows


class Run:
    """Writes sets and scores of two models, and tabulates them."""

    def __init__(self, folder):
        self.folder = folder
        self.sets = set_rows()
        write_table(self.path("sets-0"), RETRIEVAL_SETS, self.sets[:50])
        write_table(self.path("sets-1"), RETRIEVAL_SETS, self.sets[50:])
        for name in ("mini", "other"):
            rng = np.random.default_rng(len(name))
            scores = []
            for row in self.sets:
                rank = float(rng.integers(1, len(row["foils"]) + 2))
                wins = [float(k >= rank - 1) for k in range(len(row["foils"]))]
                found = {"rank": rank, "margin": 0.0, "wins": wins, "reason": ""}
                if row["subgraph_id"] == 7:
                    found = {"rank": None, "margin": None, "wins": None, "reason": "image_missing"}
                scores.append({"set_id": row["set_id"], "foil_type": row["foil_type"], **found})
            write_table(self.path(name), SCORES, scores)
        columns = ("protocol", "foil_type", "complexity", "scorer", "recall_at_1")
        blind = [
            dict(zip(columns, ("refined", name, n, scorer, 40.0 if scorer == "strongest" else 99.0), strict=True))
            for name in TYPES
            for n in ("", 4, 5, 6)
            for scorer in ("words", "strongest")
        ]
        write_csv(self.path("blind"), columns, blind)

    def path(self, name):
        return str(self.folder / name)

    def tabulate(self):
        models = [(name, {"seen_images": ["vg"] if name == "other" else []}) for name in ("mini", "other")]
        cfg = json.dumps({"evaluation": {"n_resamples": 100, "seed": 1}, "models": models})
        sets, scores = ([self.path(name) for name in names] for names in (("sets-0", "sets-1"), ("mini", "other")))
        tabulate_productivity(sets, scores, self.path("blind"), self.path("main"), self.path("kind"), cfg)
        tables = []
        for name in ("main", "kind"):
            with open(self.path(name), newline="") as file:
                tables.append(list(csv.DictReader(file)))
        return tables


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return Run(tmp_path_factory.mktemp("productivity"))


@pytest.fixture(scope="module")
def tables(run):
    return run.tabulate()


def test_cells_come_by_foil_type_complexity_and_source(run):
    cells = [key[1:] for key, _ in productivity_cells([row for row in run.sets if row["foil_type"] != "negate"])]
    of_type = [("4", "template"), ("5", "model"), ("5", "template"), ("5", "all"), ("6", "template")]
    of_type += [("all", "model"), ("all", "template"), ("all", "all")]
    assert cells == [(name, *cell) for name in ("atom", "overall") for cell in of_type]


def test_unscored_sets_are_in_no_cell(tables):
    row = next(row for row in tables[0] if row["foil_type"] == "atom" and row["complexity"] == row["caption_source"])
    assert (row["complexity"], row["n_queries"], row["n_images"]) == ("all", "47", "12")


def test_tables_have_their_columns_in_order(tables):
    assert [list(table[0]) for table in tables] == [list(PRODUCTIVITY_COLUMNS), list(BY_KIND_COLUMNS)]


def test_random_lines_follow_from_the_number_of_foils(tables):
    found = {row["foil_type"]: row["random_recall_at_1"] for row in tables[0]}
    assert found == {"atom": "16.67", "negate": "16.67", "overall": "6.25"}  # paper, sections 5 and B.3


def test_cells_carry_the_blind_recall_of_their_complexity_and_marks(tables):
    for row in tables[0]:
        assert row["blind_recall_at_1"] == "40.00"
        assert ("not_above_blind" in row["marks"]) == (float(row["recall_at_1_low"]) <= 40)
        assert ("seen_images_vg" in row["marks"]) == (row["model"] == "other")


def test_kinds_are_pooled_over_all_complexities(tables):
    rows = [row for row in tables[1] if row["model"] == "mini" and row["foil_type"] == "overall"]
    assert [(row["foil_kind"], row["n_pairs"]) for row in rows] == [
        ("negated_object", str(47 * 7)),
        ("negated_relation", str(47 * 8)),
    ]


def test_same_inputs_give_the_same_bytes(run, tables):
    assert run.tabulate() == tables
