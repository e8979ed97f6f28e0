import csv

import pytest

from crepebench.families import FOIL_TYPES
from crepebench.retrieval_sets import build_retrieval_sets, retrieval_set_row
from crepebench.schema import FOIL_CANDIDATES, FOIL_CHOICES, RETRIEVAL_SETS, read_table, write_table
from crepebench.set_ids import foil_id, set_id

from .foil_rows import candidate

TYPES = FOIL_TYPES["systematicity"]


def test_row_holds_the_chosen_foils_with_ids():
    row = retrieval_set_row(candidate(texts=["a blue jar", "a green jar", "a red cup"]), [0, 2])
    assert row["set_id"] == set_id("systematicity", 9, (1, 2, 300, 200), "a red jar")
    assert [foil["text"] for foil in row["foils"]] == ["a blue jar", "a red cup"]
    assert row["foils"][1]["foil_id"] == foil_id(row["set_id"], "a red cup")


@pytest.fixture
def written(tmp_path):
    """Writes candidates and choices, and returns rows and counts of the sets."""

    def write(candidates, choices, family="systematicity"):
        paths = {name: str(tmp_path / name) for name in ("candidates", "choices", "sets", "counts")}
        write_table(paths["candidates"], FOIL_CANDIDATES, candidates)
        write_table(paths["choices"], FOIL_CHOICES, choices)
        build_retrieval_sets(paths["candidates"], paths["choices"], paths["sets"], paths["counts"], family)
        with open(paths["counts"], newline="") as file:
            counts = {(row["unit"], row["reason"]): int(row["count"]) for row in csv.DictReader(file)}
        return read_table(paths["sets"], RETRIEVAL_SETS).to_pylist(), counts

    return write


def test_every_region_is_kept_or_dropped_for_a_reason_in_each_foil_type(written):
    candidates = [candidate(region_id, foil_type=name) for region_id in (1, 2) for name in TYPES]
    candidates += [candidate(3, texts=[], reason="atom_foils", foil_type=name) for name in TYPES]
    choices = [
        {"source_id": region_id, "foil_type": name, "chosen": [1], "reason": ""}
        for region_id in (1, 2)
        for name in TYPES
    ]
    choices[1] |= {"chosen": [], "reason": "refinement"}
    rows, counts = written(candidates, choices)
    assert len(rows) == 5
    assert [foil["text"] for foil in rows[0]["foils"]] == ["a green jar"]
    assert {key: count for key, count in counts.items() if key[0] == "region_comp"} == {
        ("region_comp", "read"): 3,
        ("region_comp", "refinement"): 1,
        ("region_comp", "atom_foils"): 1,
        ("region_comp", "kept"): 1,
    }
    assert counts["region_combined", "kept"] == 2


def test_sets_name_their_region_or_subgraph(written):
    choices = [{"source_id": 5, "foil_type": "atom", "chosen": [0], "reason": ""}]
    (row,), counts = written([candidate()], choices)
    assert (row["region_id"], row["subgraph_id"]) == (5, None)
    (row,), counts = written([candidate(family="productivity")], choices, "productivity")
    assert (row["region_id"], row["subgraph_id"]) == (None, 5)
    assert {unit for unit, _ in counts} == {f"subgraph_{name}" for name in FOIL_TYPES["productivity"]}
