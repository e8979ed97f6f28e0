import csv

import pytest

from crepebench.foils import FOIL_TYPES
from crepebench.retrieval_sets import build_retrieval_sets, foil_id, retrieval_set_row, set_id
from crepebench.schema import FOIL_CANDIDATES, FOIL_CHOICES, RETRIEVAL_SETS, read_table, write_table

from .foil_rows import candidate


@pytest.mark.parametrize(
    "other",
    [
        ("productivity", 9, (1, 2, 3, 4), "a red jar"),
        ("systematicity", 8, (1, 2, 3, 4), "a red jar"),
        ("systematicity", 9, (1, 2, 34, 4), "a red jar"),
        ("systematicity", 9, (1, 2, 3, 4), "a red jar."),
    ],
)
def test_set_id_depends_on_family_image_box_and_caption(other):
    ids = [set_id("systematicity", 9, (1, 2, 3, 4), "a red jar"), set_id(*other)]
    assert len(set(ids)) == 2


def test_ids_are_the_same_in_every_run():
    identity = set_id("systematicity", 9, (1, 2, 3, 4), "a red jar")
    assert (identity, foil_id(identity, "a blue jar")) == ("39312abcce3de43e", "a55dc9fb79bd41ca")


def test_row_holds_the_chosen_foils_with_ids():
    row = retrieval_set_row(candidate(texts=["a blue jar", "a green jar", "a red cup"]), [0, 2])
    assert row["set_id"] == set_id("systematicity", 9, (1, 2, 300, 200), "a red jar")
    assert [foil["text"] for foil in row["foils"]] == ["a blue jar", "a red cup"]
    assert row["foils"][1]["foil_id"] == foil_id(row["set_id"], "a red cup")


@pytest.fixture
def written(tmp_path):
    """Writes candidates and choices, and returns rows and counts of the sets."""

    def write(candidates, choices):
        paths = {name: str(tmp_path / name) for name in ("candidates", "choices", "sets", "counts")}
        write_table(paths["candidates"], FOIL_CANDIDATES, candidates)
        write_table(paths["choices"], FOIL_CHOICES, choices or [])
        chosen = [] if choices is None else [paths["choices"]]
        build_retrieval_sets(paths["candidates"], chosen, paths["sets"], paths["counts"])
        with open(paths["counts"], newline="") as file:
            counts = {(row["unit"], row["reason"]): int(row["count"]) for row in csv.DictReader(file)}
        return read_table(paths["sets"], RETRIEVAL_SETS).to_pylist(), counts

    return write


def test_every_region_is_kept_or_dropped_for_a_reason_in_each_foil_type(written):
    candidates = [candidate(region_id, foil_type=name) for region_id in (1, 2) for name in FOIL_TYPES]
    candidates += [candidate(3, texts=[], reason="atom_foils", foil_type=name) for name in FOIL_TYPES]
    choices = [
        {"region_id": 1, "foil_type": "atom", "chosen": [1], "reason": ""},
        {"region_id": 1, "foil_type": "comp", "chosen": [], "reason": "refinement"},
    ]
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


def test_without_choices_all_candidates_are_taken(written):
    rows, _ = written([candidate()], None)
    assert [foil["text"] for foil in rows[0]["foils"]] == ["a blue jar", "a green jar"]
