"""Negatives are shown to people: a table and a page, with candidates from WordNet where there are any."""

import csv
import json

import pytest

from crepebench.accounting import read_accounting
from crepebench.clic_candidates import build_clic_candidates
from crepebench.clic_negatives import COLUMNS, write_clic_negatives
from crepebench.schema import CLIC_CANDIDATES, CLIC_ROWS, IMAGES, read_table, write_table

from .clic_item_rows import clic_rows

FIRSTS = [
    "a red jar above the box.",
    "a blue bell below the cup.",
    "a green cup above a <jar>.",
    "a red box below the bell.",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("clic")
    rows = clic_rows(FIRSTS)
    write_table(str(path / "rows.parquet"), CLIC_ROWS, rows)
    empty = dict.fromkeys(("archive", "path", "crc32", "coco_id", "flickr_id"))
    images = ({"image_id": row["image_id"], "width": 4, "height": 3, **empty} for row in rows)
    write_table(str(path / "images.parquet"), IMAGES, images)
    return path


@pytest.fixture(scope="module")
def candidates(folder, wordnet_folder, repository):
    tables = [str(path) for path in sorted((repository / "resources" / "foils").glob("*.csv"))]
    outputs = [str(folder / name) for name in ("candidates.parquet", "candidates.csv")]
    cfg = json.dumps({"generator": "wordnet", "min_count": 1})
    build_clic_candidates(str(folder / "rows.parquet"), tables, wordnet_folder, *outputs, cfg)
    return outputs


def write(folder, candidates_path, n=3, out="out"):
    paths = [str(folder / f"{out}.csv"), str(folder / f"{out}.html")]
    cfg = json.dumps({"n": n, "seed": 1})
    write_clic_negatives(str(folder / "rows.parquet"), str(folder / "images.parquet"), candidates_path, *paths, cfg)
    with open(paths[0], newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file)), (folder / f"{out}.html").read_text(encoding="utf-8")


def test_words_of_first_sentences_get_candidates_and_are_counted(candidates):
    rows = {
        (row["word"], row["fine"]): row["candidates"] for row in read_table(candidates[0], CLIC_CANDIDATES).to_pylist()
    }
    assert rows["red", "JJ"] == ["blue", "green"]
    assert rows["above", "IN"] == ["below"]
    counts = {row["reason"]: row["count"] for row in read_accounting([candidates[1]])}
    assert counts["read"] == counts["kept"] + counts["no_candidate"]
    assert counts["kept"] == len(rows)


def test_as_many_negatives_of_each_kind_are_shown_as_are_asked_for(folder, candidates):
    rows, page = write(folder, candidates[0])
    assert [row["negatives"] for row in rows] == ["random"] * 3 + ["candidates"] * 3
    assert tuple(rows[0]) == COLUMNS
    for row in rows:
        assert row["word_of_first"] in row["first"] and row["word_of_second"] in row["second"]
        assert row["negative"] not in ("", f"{row['first']} {row['second']}", f"{row['second']} {row['first']}")
    assert page.count("<tr") == 2 * 4


def test_texts_are_escaped_and_files_are_the_same_each_time(folder, candidates):
    first, page = write(folder, candidates[0], n=9)
    assert "&lt;" in page and "<jar>" not in page
    assert (first, page) == write(folder, candidates[0], n=9, out="again")


def test_without_candidates_random_words_alone_are_shown(folder):
    rows, page = write(folder, None, n=9)
    assert [row["negatives"] for row in rows] == ["random"] * 4
    assert "candidates" not in page
