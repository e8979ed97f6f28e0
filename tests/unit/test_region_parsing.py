import csv
import json

import pytest

from crepebench.parsing import parse_texts
from crepebench.region_parsing import drop_reason, filter_graphs, graph_row, parse_regions
from crepebench.schema import GRAPHS, REGIONS, read_table, write_table

PARSING = '{"spacy_model": "any", "attributes": "adjectives"}'
CONFIG = {"min_atoms": 2, "min_compounds": 1, "duplicates": "image"}


def row(region_id, image_id, text, parser):
    return graph_row({"region_id": region_id, "image_id": image_id}, next(parse_texts([text], parser)))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("jar", "atoms"),
        ("a jar and a box", "compounds"),
        ("a red jar", ""),
    ],
)
def test_graph_is_dropped_for_its_reason(parser, text, reason):
    assert drop_reason(row(1, 1, text, parser), CONFIG, set()) == reason


@pytest.mark.parametrize(
    ("duplicates", "reasons"),
    [
        ("image", ["", "duplicate_graph", "", ""]),
        ("dataset", ["", "duplicate_graph", "duplicate_graph", ""]),
        ("keep", ["", "", "", ""]),
    ],
)
def test_equal_graphs_are_dropped_within_their_scope(parser, duplicates, reasons):
    rows = [
        row(1, 1, "a red jar above a box", parser),
        row(2, 1, "the red jars above the box", parser),
        row(3, 2, "red jar above box", parser),
        row(4, 2, "a blue jar above a box", parser),
    ]
    seen = set()
    assert [drop_reason(r, {**CONFIG, "duplicates": duplicates}, seen) for r in rows] == reasons


def test_graphs_that_differ_in_number_of_objects_are_no_duplicates(parser):
    rows = [row(1, 1, "a red jar", parser), row(2, 1, "a red jar and a jar", parser)]
    seen = set()
    assert [drop_reason(r, CONFIG, seen) for r in rows] == ["", ""]


@pytest.fixture
def parts(tmp_path, parser, monkeypatch):
    """Regions parsed in three parts."""
    monkeypatch.setattr("crepebench.region_parsing.load_parser", lambda model: parser)
    boxes = dict.fromkeys((f"{n}{end}" for n in ("x", "y", "width", "height") for end in ("", "_raw")), 0)
    texts = ["a red jar", "jar", "the red jars", "a jar on a box", "", "a jar and a box", "a blue box"]
    regions = [
        {"region_id": 10 + i, "image_id": 1, **boxes, "caption": text, "caption_raw": text}
        for i, text in enumerate(texts)
    ]
    write_table(str(tmp_path / "regions.parquet"), REGIONS, regions)
    paths = [str(tmp_path / f"part-{part}.parquet") for part in range(3)]
    for part, path in enumerate(paths):
        parse_regions(
            str(tmp_path / "regions.parquet"), path, part, 3, '{"spacy_model": "any", "attributes": "adjectives"}'
        )
    return paths


def test_parts_hold_every_region_once(parts):
    tables = [read_table(path, GRAPHS) for path in parts]
    assert all(table.schema.equals(GRAPHS) for table in tables)
    assert sorted(i for table in tables for i in table["region_id"].to_pylist()) == list(range(10, 17))


def test_kept_graphs_are_sorted_and_drops_counted(parts, tmp_path):
    path = str(tmp_path / "graphs.parquet")
    filter_graphs(parts, path, str(tmp_path / "accounting.csv"), json.dumps(CONFIG))
    assert read_table(path, GRAPHS)["region_id"].to_pylist() == [10, 13, 16]
    with open(tmp_path / "accounting.csv", newline="") as file:
        counts = {r["reason"]: int(r["count"]) for r in csv.DictReader(file)}
    assert counts == {"read": 7, "atoms": 2, "compounds": 1, "duplicate_graph": 1, "kept": 3}
