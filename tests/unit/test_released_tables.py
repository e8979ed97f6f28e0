import csv
import json

import pytest

from crepebench.released_tables import COLUMNS, tabulate_released
from crepebench.schema import RELEASED_FLAGS, RETRIEVAL_SETS, SCORES, SPLITS, write_table

DEFINITION = {"training_data": ["cc12m"], "seen_images": [], "base": "m", "seed": None}


def set_row(i, foil_type="atom", family="productivity", complexity=4):
    row = dict.fromkeys(RETRIEVAL_SETS.names) | {"set_id": f"{family}{i}", "foil_type": foil_type, "image_id": i}
    foil = dict.fromkeys(("foil_id", "text", "kind", "original", "replacement", "source"), "")
    region_id = i if family == "systematicity" else None
    return row | {"region_id": region_id, "complexity": complexity, "foils": [foil] * 5}


def score_row(row, rank, reason=""):
    key = {name: row[name] for name in ("set_id", "foil_type")}
    return {**key, "rank": rank, "margin": None if reason else 0.1, "wins": None if reason else [1.0], "reason": reason}


@pytest.fixture
def table(tmp_path):
    """Writes sets with ranks and flags, and returns the rows of the table."""

    def run(productivity, systematicity=(), splits=(), flags=()):
        paths = {}
        for family, found in (("productivity", productivity), ("systematicity", systematicity)):
            paths[family] = [str(tmp_path / family)], [str(tmp_path / f"{family}_scores")]
            write_table(paths[family][0][0], RETRIEVAL_SETS, (row for row, *_ in found))
            write_table(paths[family][1][0], SCORES, (score_row(row, *ranked) for row, *ranked in found))
        rows = [{"region_id": i, "split": name, "decided_by": "", "corpus_id": ""} for i, name in splits]
        write_table(str(tmp_path / "splits"), SPLITS, rows)
        rows = [
            {"set_id": row["set_id"], "foil_type": row["foil_type"], "foil_id": None, "flag": flag, "detail": ""}
            for row, flag in flags
        ]
        write_table(str(tmp_path / "flags"), RELEASED_FLAGS, rows)
        models = {family: [("m", DEFINITION)] for family in paths}
        evaluation = {"n_resamples": 100, "seed": 1, "cross_corpus": False}
        tabulate_released(
            {family: found[0] for family, found in paths.items()},
            {family: found[1] for family, found in paths.items()},
            [str(tmp_path / "splits")],
            str(tmp_path / "flags"),
            str(tmp_path / "table.csv"),
            json.dumps({"evaluation": evaluation, "corpora": ["cc12m"], "models": models}),
        )
        with open(tmp_path / "table.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        assert all(tuple(row) == COLUMNS for row in rows)
        return rows

    return run


def test_recall_is_given_with_and_without_artefacts(table):
    sets = [set_row(i) for i in range(4)]
    row, pooled = table(
        list(zip(sets, (1.0, 2.0, 1.0, 3.0), strict=True)), flags=[(sets[1], "non_word"), (sets[2], "repeated_truth")]
    )
    assert (row["n_queries"], row["recall_at_1"]) == ("4", "50.00")
    assert (row["n_queries_without_artefacts"], row["recall_at_1_without_artefacts"]) == ("3", "66.67")
    assert (row["n_non_word"], row["n_repeated_truth"], row["n_truth_among_foils"]) == ("1", "1", "0")
    assert row["random_recall_at_1"] == "16.67"
    assert (row["complexity"], pooled["complexity"]) == ("4", "all")


@pytest.mark.parametrize("scored", [(1.5,), (None, "equal_tokens"), (None, "equal_after_truncation")])
def test_a_truth_among_the_foils_is_no_hit_whether_scored_or_not(table, scored):
    sets = [set_row(i) for i in range(2)]
    row, _ = table([(sets[0], 1.0), (sets[1], *scored)], flags=[(sets[1], "truth_among_foils")])
    assert (row["n_queries"], row["recall_at_1"], row["recall_at_1_without_artefacts"]) == ("2", "50.00", "100.00")


def test_a_set_without_an_image_is_left_out(table):
    row, _ = table([(set_row(0), 1.0), (set_row(1), None, "image_missing")])
    assert (row["n_queries"], row["recall_at_1"]) == ("1", "100.00")


def test_a_cell_of_artefacts_alone_has_no_recall_without_them(table):
    one = set_row(0)
    row, _ = table([(one, 1.0)], flags=[(one, "non_word")])
    assert (row["n_queries_without_artefacts"], row["recall_at_1_without_artefacts"]) == ("0", "")


def test_systematicity_has_a_row_for_each_split_of_the_models_corpus(table):
    sets = [set_row(i, family="systematicity", complexity=None) for i in range(3)]
    rows = table(
        [(set_row(9), 1.0)],
        list(zip(sets, (1.0, 2.0, 1.0), strict=True)),
        [(0, "SC"), (1, "UC"), (2, "not_released")],
    )
    found = [(row["family"], row["training_corpus"], row["split"], row["recall_at_1"]) for row in rows]
    assert found[:2] == [("systematicity", "cc12m", "SC", "100.00"), ("systematicity", "cc12m", "UC", "0.00")]
    assert [row["family"] for row in rows[2:]] == ["productivity"] * 2
