import json
import zlib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from crepebench.own_captions import OwnImages, OwnRow, SetAside, file_image_id, read_records, use_records

from .released_rows import image_row

BOX = ("x", "y", "width", "height")


@pytest.fixture
def folder(tmp_path):
    """A folder with an image of 300 x 200 pixels, and a file that is none."""
    (tmp_path / "sub").mkdir()
    Image.new("RGB", (300, 200)).save(tmp_path / "sub" / "a.png")
    (tmp_path / "bad.png").write_bytes(b"no image")
    return tmp_path


def use(folder, *records, known=()):
    images = OwnImages(str(folder), {row["image_id"]: row for row in known})
    return list(use_records(records, images)), images


def record(caption="a red jar", image="sub/a.png", **others):
    return {"image": image, "caption": caption, **others}


def test_a_row_has_image_crop_caption_and_foils(folder):
    (row,), images = use(
        folder, record("  a red  jar ", foils="['a blue jar', \"it's\"]", x="1", y="2.0", width=3, height=4)
    )
    assert row == OwnRow(1, file_image_id("sub/a.png"), (1, 2, 3, 4), "a red jar", ("a blue jar", "it's"))
    image = images.used[row.image_id]
    assert (image["width"], image["height"], image["path"]) == (300, 200, "a.png")
    assert image["crc32"] == zlib.crc32((folder / "sub" / "a.png").read_bytes())


def test_without_a_box_the_crop_is_the_image_and_a_box_is_cut_to_it(folder):
    rows, _ = use(folder, record(x="", y=None, width=float("nan")), record("b", x=250, y=-10, width=100, height=100))
    assert [row.box for row in rows] == [(0, 0, 300, 200), (250, 0, 50, 90)]


def test_an_image_of_visual_genome_is_named_by_its_id(folder):
    known = [image_row(7), image_row(8) | {"archive": None}]
    rows, images = use(folder, *({"image_id": i, "caption": "a"} for i in ("7", 8, 9)), known=known)
    assert (rows[0].image_id, rows[0].box) == (7, (0, 0, 800, 600))
    assert [row.reason for row in rows[1:]] == ["image_missing", "image_unknown"]
    assert images.used == {7: known[0]}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"image": ""}, "image_not_named"),
        ({"image_id": 7}, "image_not_named"),
        ({"image": "c.png"}, "image_missing"),
        ({"image": "sub"}, "image_missing"),
        ({"image": "a\0.png"}, "image_missing"),
        ({"image": "\ud800.png"}, "image_missing"),
        ({"image": "/dev/zero"}, "image_missing"),
        ({"caption": "a jar\ud83d"}, "caption_invalid"),
        ({"caption": ["a jar"]}, "caption_invalid"),
        ({"image": None, "image_id": 10**400}, "image_unknown"),
        ({"image": "bad.png"}, "image_unreadable"),
        ({"caption": " "}, "caption_empty"),
        ({"caption": None}, "caption_empty"),
        ({"x": 1}, "box_invalid"),
        (dict(zip(BOX, (0, 0, 0, 5), strict=True)), "box_invalid"),
        (dict(zip(BOX, (0, 0, 1.5, 5), strict=True)), "box_invalid"),
        (dict(zip(BOX, (300, 0, 5, 5), strict=True)), "box_outside"),
        ({"foils": "a blue jar"}, "foils_unreadable"),
        ({"foils": ["a", 1]}, "foils_unreadable"),
        ({"foils": 5}, "foils_unreadable"),
        ({"foils": {"a": 1}}, "foils_unreadable"),
        ({"foils": ["\ud800"]}, "foils_unreadable"),
        ({"foils": ["a Red  jar"]}, "foil_is_caption"),
        ({"foils": ["a cup", "A cup"]}, "foil_repeated"),
        ({"foils": [" "]}, "foil_empty"),
    ],
)
def test_a_row_that_cannot_be_used_has_a_reason(folder, change, reason):
    (row, good), _ = use(folder, record() | change, record())
    assert isinstance(row, SetAside) and (row.number, row.reason) == (1, reason)
    assert isinstance(good, OwnRow)


def test_a_repeated_row_is_set_aside(folder):
    rows, _ = use(folder, record(), record(), record(foils=["a cup"]), record(x=0, y=0, width=5, height=5))
    assert [row.reason if isinstance(row, SetAside) else "" for row in rows] == ["", "row_repeated", "row_repeated", ""]


def test_tables_of_all_forms_hold_the_same_rows(tmp_path):
    rows = [
        {"image": "a.png", "caption": "a jar", "foils": ["a, cup", "a box"]},
        {"image": "b", "caption": "c", "foils": []},
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet")
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    assert read_records(str(tmp_path / "t.parquet")) == read_records(str(tmp_path / "t.jsonl")) == rows
    (tmp_path / "t.csv").write_text('caption,image,foils\na jar,a.png,"[""a, cup"", ""a box""]"\nc,b\n')
    assert [row["foils"] for row in read_records(str(tmp_path / "t.csv"))] == ['["a, cup", "a box"]', ""]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.txt", "", "not as '.txt'"),
        ("t.csv", "picture,caption\na,b\n", r"needs the columns caption, and image or image_id; it has \['caption'"),
        ("t.jsonl", '{"image": "a", "caption": "b"}\n{"image":\n', "line 2: no JSON"),
        ("t.jsonl", "[1]\n", "line 1: no JSON object"),
    ],
)
def test_a_table_of_another_form_is_refused(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=message):
        read_records(str(tmp_path / name))


@pytest.mark.parametrize("foils", [" ", None, float("nan"), []])
def test_a_cell_without_foils_asks_for_some(folder, foils):
    (row,), _ = use(folder, record(foils=foils))
    assert row.foils == ()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", "image,caption\na.png,caf\u00e9\n".encode("latin-1")),
        ("t.jsonl", '{"caption": "caf\u00e9"}\n'.encode("latin-1")),
        ("t.jsonl", b"[" * 100_000),
        ("t.parquet", b"PAR1 no table PAR1"),
    ],
)
def test_a_damaged_table_is_named(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=name):
        read_records(str(tmp_path / name))
