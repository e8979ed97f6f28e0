import csv
from collections import Counter

import pytest

from crepebench.parsing import parse_texts
from crepebench.region_parsing import graph_row
from crepebench.schema import GRAPHS, SPLITS, VOCABULARY, read_table, write_table
from crepebench.splits import decide_split, sort_keys, write_splits
from crepebench.vocabularies import NOT_FOUND, atom_key, vocabulary_keys, vocabulary_rows

CORPUS = ["a red jar above a box", "a blue box", "a key below a jar"]


@pytest.fixture(scope="module")
def seen(parser):
    return set().union(*map(vocabulary_keys, parse_texts(CORPUS, parser)))


@pytest.mark.parametrize(
    ("text", "split", "decided_by"),
    [
        ("a red jar", "SC", ""),
        ("a blue box below", "SC", ""),
        ("a blue jar", "UC", "attribute_object: blue jar"),
        ("a box above a jar", "UC", "object_relation_object: box above jar"),
        ("a red jar behind a box", "UA", "relation: behind"),
        ("a green jar above a box", "UA", "attribute: green"),
        ("a red lamp", "UA", "object: lamp"),
    ],
)
def test_split_is_decided_by_the_first_thing_unseen(parser, seen, text, split, decided_by):
    (graph,) = parse_texts([text], parser)
    row = graph_row({"region_id": 1, "image_id": 1}, graph)
    assert decide_split(row["atoms"], row["compounds"], seen) == (split, decided_by)


def test_unseen_atom_outweighs_an_unseen_compound(parser, seen):
    (graph,) = parse_texts(["a blue jar behind a box"], parser)
    row = graph_row({"region_id": 1, "image_id": 1}, graph)
    assert decide_split(row["atoms"], row["compounds"], seen)[0] == "UA"


@pytest.mark.parametrize(
    ("text", "not_found", "split"),
    [
        ("a blue jar", [("attribute_object", "", "", "jar", "blue")], "undecided"),
        ("a lamp on a jar", [atom_key("object", "lamp")], "UA"),  # "on" is unseen, whatever the lamp is
        ("a red lamp", [atom_key("object", "lamp")], "undecided"),
        ("a blue jar above a box", [("attribute_object", "", "", "jar", "blue")], "undecided"),
        ("a blue jar below a box", [("attribute_object", "", "", "jar", "blue")], "UC"),  # jar below box is unseen
        ("a red jar", [("attribute_object", "", "", "jar", "blue")], "SC"),
    ],
)
def test_region_is_undecided_if_its_split_depends_on_what_a_sample_did_not_find(parser, seen, text, not_found, split):
    (graph,) = parse_texts([text], parser)
    row = graph_row({"region_id": 1, "image_id": 1}, graph)
    assert decide_split(row["atoms"], row["compounds"], seen, set(not_found))[0] == split


def test_what_a_sample_did_not_find_counts_as_unseen_only_if_the_config_says_so():
    jar, box, lamp = (atom_key("object", text) for text in ("jar", "box", "lamp"))
    entries = {
        jar: {"count": 2, "state": "reached"},
        box: {"count": 1, "state": NOT_FOUND},
        lamp: {"count": 0, "state": "counted"},
    }
    assert sort_keys(entries, 2, "leave_out") == ({jar}, {box})
    assert sort_keys(entries, 2, "unseen") == ({jar}, set())


@pytest.mark.parametrize(("min_count", "splits"), [(1, ["SC", "SC", "UA"]), (2, ["UC", "UA", "UA"])])
def test_splits_are_written_and_counted(tmp_path, parser, min_count, splits):
    parsed = parse_texts([*CORPUS, "a red key", "jars"], parser)
    vocabulary = Counter(key for graph in parsed for key in vocabulary_keys(graph))
    paths = [str(tmp_path / f"{name}.parquet") for name in ("graphs", "vocabulary", "splits")]
    graphs = parse_texts(["a red jar", "a blue box", "a lamp on a jar"], parser)
    rows = [graph_row({"region_id": 10 - i, "image_id": 1}, graph) for i, graph in enumerate(graphs)]
    write_table(paths[0], GRAPHS, rows)
    write_table(paths[1], VOCABULARY, vocabulary_rows(vocabulary, 5))
    (tmp_path / "c.json").write_text('{"corpus_id": "cc12m:1"}')
    cfg = f'{{"min_count": {min_count}, "undecided": "leave_out"}}'
    write_splits(*paths[:2], str(tmp_path / "c.json"), paths[2], str(tmp_path / "accounting.csv"), "cc12m", cfg)
    table = read_table(paths[2], SPLITS)
    assert table.schema.equals(SPLITS)
    assert table["region_id"].to_pylist() == [10, 9, 8]
    assert table["split"].to_pylist() == splits
    with open(tmp_path / "accounting.csv", newline="") as file:
        kept = {row["unit"]: int(row["count"]) for row in csv.DictReader(file) if row["reason"] == "kept"}
    assert kept == {f"region_{split}": splits.count(split) for split in ("SC", "UC", "UA")}
