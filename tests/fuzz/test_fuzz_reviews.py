"""Odd tables that people write by hand: review sheets, exclusion lists, own captions, manifests, labelled captions."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from crepebench.graphs import ATTRIBUTE, OBJECT, RELATION
from crepebench.manifests import read_manifest
from crepebench.own_captions import OwnImages, OwnRow, SetAside, read_records, use_records
from crepebench.own_sets import given_set
from crepebench.parser_labels import read_web_captions
from crepebench.parser_review import SHEET_COLUMNS, read_sheet, sheet_row
from crepebench.schema import IMAGES, RETRIEVAL_SETS, write_table
from crepebench.set_ids import read_exclusions

from .mutations import csv_text, damaged, inputs, mutated, odd_texts, odd_values, only_errors_that_name


def write(data, path: Path, good: bytes) -> Path:
    """Writes bytes, damaged or not, with or without a byte order mark or another encoding."""
    odd = data.draw(damaged(good, most=1))
    encoding = data.draw(st.sampled_from(["utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1"]))
    if encoding != "utf-8":
        odd = odd.decode(errors="replace").encode(encoding, errors="replace")
    path.write_bytes(odd)
    return path


FACTS = {OBJECT: [("dog",), ("hat",)], ATTRIBUTE: [("red", "hat")], RELATION: [("dog", "wear", "hat")]}
SHEET = [
    sheet_row("cc12m", "cc12m", n, caption, FACTS)
    | {"done": "yes", "missed_objects": "tree", "wrong_attributes": "red > hat"}
    for n, caption in enumerate(["a dog wears a red hat", "=SUM(A1) is no dog"], 1)
]
cell_values = st.one_of(
    odd_texts, st.sampled_from(["red > hat", "a > b > c; d", "; ;", ">", "yes", "no", "\n", "dog;dog"])
)


@inputs(0.25)
@given(st.data())
def test_review_sheets_are_read_or_refused_by_name(folder, data):
    rows = data.draw(mutated(SHEET, values=cell_values))
    text = csv_text(rows, SHEET_COLUMNS)
    path = write(data, folder / "sheet.csv", text)
    with only_errors_that_name(path):
        labelled = read_sheet(str(path))
        assert labelled and all(isinstance(each.caption, str) for each in labelled)


@inputs(0.15)
@given(st.data())
def test_exclusion_lists_are_read_or_refused_by_name(folder, data):
    rows = [{"id": "0" * 16, "reason": "true"}, {"id": "f" * 16, "reason": ""}, {"id": "0" * 16, "reason": "blurred"}]
    text = csv_text(data.draw(mutated(rows, values=odd_texts)), ("id", "reason"))
    path = write(data, folder / "exclusions.csv", text)
    with only_errors_that_name(path):
        assert all(len(identity) == 16 for identity in read_exclusions([str(path)]))


RECORDS = [
    {"image": "a.png", "caption": "A jar", "foils": ["a cup", "a box"], "x": 1, "y": 2.0, "width": 30, "height": None},
    {"image_id": 7, "caption": "A dog on a bed", "foils": "['a bed on a dog']"},
    {"image": "a.png", "caption": "two cats"},
]
KNOWN = {
    7: {
        "image_id": 7,
        "width": 300,
        "height": 200,
        "archive": "z.zip",
        "path": "7.jpg",
        "crc32": 1,
        "coco_id": None,
        "flickr_id": None,
    }
}
paths = st.sampled_from(
    ["../../etc/passwd", "/etc/passwd", "a\0.png", "/dev/zero", ".", "a.png/b", "\ud800.png", "x" * 5_000]
)


def use(folder: Path, path: Path) -> None:
    """Uses a table as far as own sets do before captions are parsed."""
    with only_errors_that_name(path):
        records = read_records(str(path))
        images = OwnImages(str(folder), KNOWN)
        found = list(use_records(records, images))
        assert len(found) == len(records)
        rows = [row for row in found if isinstance(row, OwnRow)]
        assert all(isinstance(row, OwnRow) or (isinstance(row, SetAside) and row.reason) for row in found)
        write_table(str(folder / "sets.parquet"), RETRIEVAL_SETS, map(given_set, rows))
        write_table(str(folder / "images.parquet"), IMAGES, images.used.values())
        assert all(row["archive"] == "z.zip" or row["path"] == "a.png" for row in images.used.values())


@inputs(0.3)
@given(st.data())
def test_own_captions_are_used_or_set_aside(folder, data):
    if not (folder / "a.png").exists():
        Image.new("RGB", (40, 30)).save(folder / "a.png")
    rows = data.draw(mutated(RECORDS, values=st.one_of(odd_values, paths)))
    match data.draw(st.sampled_from([".jsonl", ".csv", ".parquet"])):
        case ".jsonl":
            path = write(data, folder / "own.jsonl", "".join(json.dumps(row) + "\n" for row in rows).encode())
        case ".csv":
            rows = [row for row in rows if isinstance(row, dict)]
            names = list(dict.fromkeys(name for row in rows for name in row))
            rows = [{name: row.get(name, "") for name in names} for row in rows]
            path = write(
                data, folder / "own.csv", csv_text(rows, [name.encode(errors="replace").decode() for name in names])
            )
        case ".parquet":
            path = folder / "own.parquet"
            try:
                pq.write_table(pa.Table.from_pylist(rows), path)
            except (pa.ArrowException, TypeError, AttributeError, OverflowError, UnicodeError, ValueError):
                return  # no such table can be
    use(folder, path)


ENTRY = {
    "name": "objects.json.zip",
    "version": "1.4",
    "member": "objects.json",
    "urls": ["https://example.org/objects.json.zip"],
    "bytes": 10,
    "sha256": "0" * 64,
    "confidence": "confirmed",
    "source": "a page",
}
BOMB = "a: &a [x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join(['*' + a] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)
odd_yaml = st.sampled_from(
    [
        BOMB,
        f"{BOMB}files: [*i]",
        "files: [2001-99-99]",
        "[" * 3_000,
        "{[]: 1}",
        "!!python/name:os.system",
        "a: 0b_",
        "\t",
        "--- \n---",
    ]
)


@inputs(0.2)
@given(st.data())
def test_manifests_are_read_or_refused_by_name(folder, data):
    manifest = data.draw(mutated({"files": [ENTRY, {**ENTRY, "name": "b.txt", "bytes": None}]}))
    text = data.draw(st.one_of(st.just(yaml.dump(manifest)), odd_yaml)).encode(errors="surrogatepass")
    path = write(data, folder / "manifest.yaml", text)
    with only_errors_that_name(path):
        assert all(
            entry.urls[0].startswith(("https://", "http://127", "http://localhost"))
            for entry in read_manifest(str(path)).values()
        )


@inputs(0.1)
@given(st.data())
def test_labelled_captions_are_read_or_refused_by_name(folder, data):
    row = {"id": "1", "style": "cc12m", "caption": "a red hat", "objects": ["hat"], "attributes": [["red", "hat"]]}
    rows = data.draw(mutated([{**row, "relations": [["hat", "on", "hat"]]}]))
    path = write(data, folder / "labelled.jsonl", "".join(json.dumps(row) + "\n" for row in rows).encode())
    with only_errors_that_name(path):
        read_web_captions(str(path))
