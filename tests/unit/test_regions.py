import csv
import json

import polars as pl
import pytest

from crepebench.regions import canonical_caption, filter_regions, log_shapes, write_regions
from crepebench.schema import IMAGES, REGION_DESCRIPTIONS, REGIONS, read_table, write_table

REGION_TYPES = pl.Schema(pl.from_arrow(REGION_DESCRIPTIONS.empty_table()).schema)
CONFIG = {"min_area": 40000, "min_image_share": 0.1, "min_aspect": 0.5, "max_aspect": 2.0, "exclude_coco": False}


def region(region_id=1, image_id=1, x=0, y=0, width=200, height=200, phrase="a red jar"):
    return {
        "region_id": region_id,
        "image_id": image_id,
        "x": x,
        "y": y,
        "width": width,
        "height": height,
        "phrase": phrase,
    }


def image(image_id=1, width=640, height=480, coco_id=None):
    names = ("archive", "path", "crc32", "flickr_id")
    return {"image_id": image_id, "width": width, "height": height, "coco_id": coco_id, **dict.fromkeys(names)}


def filtered(regions, images=None, config=CONFIG):
    frame = pl.from_dicts(regions, schema=REGION_TYPES)
    columns = dict.fromkeys(("image_id", "width", "height", "coco_id"), pl.Int64)
    sizes = pl.from_dicts([{k: i[k] for k in columns} for i in images or [image()]], schema=columns)
    return filter_regions(frame, sizes, config).to_dicts()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, ""),
        ({"image_id": 2}, "image_unknown"),
        ({"phrase": " .\n"}, "caption_empty"),
        ({"x": 645}, "box_outside_image"),
        ({"y": -300}, "box_outside_image"),
        ({"x": -200}, "box_outside_image"),
        ({"width": 0}, "box_empty"),
        ({"height": -5}, "box_empty"),
        ({"height": 0.4}, "box_empty"),
        ({"width": None}, "box_empty"),
        ({"y": None}, "box_empty"),
        ({"x": float("nan")}, "box_empty"),
        ({"height": float("inf")}, "box_empty"),
        ({"width": 199}, "area"),
        ({"width": 150, "height": 301}, "aspect"),
        ({"width": 401, "height": 200}, "aspect"),
    ],
)
def test_region_is_dropped_for_its_reason(changes, reason):
    assert filtered([region(**changes)])[0]["reason"] == reason


def test_small_share_of_a_large_image_is_a_reason():
    rows = filtered(
        [region(1, width=200, height=200), region(2, width=250, height=200)], [image(width=1000, height=500)]
    )
    assert [row["reason"] for row in rows] == ["image_share", ""]


def test_regions_of_images_that_coco_holds_are_dropped_if_the_config_says_so():
    regions, images = [region(1, image_id=1), region(2, image_id=2)], [image(1, coco_id=7), image(2)]
    assert [row["reason"] for row in filtered(regions, images)] == ["", ""]
    rows = filtered(regions, images, {**CONFIG, "exclude_coco": True})
    assert [row["reason"] for row in rows] == ["coco_image", ""]


def test_regions_without_an_id_are_dropped():
    rows = filtered([region(None), region(None), region(3)])
    assert [row["reason"] for row in rows] == ["region_id_missing", "region_id_missing", ""]


def test_repeated_region_id_is_dropped_but_once():
    rows = filtered([region(7), region(8), region(7, phrase="a blue jar")])
    assert [(row["region_id"], row["reason"]) for row in rows] == [(7, ""), (7, "region_id_repeated"), (8, "")]


@pytest.mark.parametrize(("width", "height"), [(200, 200), (400, 200), (200, 400), (160, 250)])
def test_bounds_are_inclusive(width, height):
    assert filtered([region(width=width, height=height)], [image(width=500, height=400)])[0]["reason"] == ""


@pytest.mark.parametrize(
    ("size", "box"), [((800, 500), (200, 200)), ((402, 1285), (201, 257)), ((1000, 403), (155, 260))]
)
def test_exactly_a_tenth_of_the_image_is_kept(size, box):
    assert 10 * box[0] * box[1] == size[0] * size[1]
    row = filtered([region(width=box[0], height=box[1])], [image(width=size[0], height=size[1])])[0]
    assert row["reason"] == ""


def test_box_is_clipped_to_the_image_and_kept_raw():
    (row,) = filtered([region(x=-2, y=-1, width=302, height=500)])
    assert [row[name] for name in ("x", "y", "width", "height")] == [0, 0, 300, 480]
    assert [row[name] for name in ("x_raw", "y_raw", "width_raw", "height_raw")] == [-2, -1, 302, 500]


def test_box_a_little_outside_is_clipped_and_kept_raw():
    """Of version 1.2's regions 5,654 have a negative x or y, mostly -1 or -2."""
    (row,) = filtered([region(x=1, y=-1, width=277, height=170)], [image(width=500, height=375)])
    assert [row[name] for name in ("x", "y", "width", "height", "reason")] == [1, 0, 277, 169, ""]
    assert [row[name] for name in ("x_raw", "y_raw", "width_raw", "height_raw")] == [1, -1, 277, 170]


@pytest.mark.parametrize(
    ("raw", "crop"),
    [
        ((0.4, 0.5, 210.0, 210.0), (0, 1, 210, 210)),
        ((0.6, 1.5, 210.3, 210.9), (1, 2, 210, 210)),
        ((10.0, 10.0, 210.5, 210.49), (10, 10, 211, 210)),
        ((-0.5, -0.6, 210.5, 210.6), (0, 0, 210, 210)),
        ((429.7, 269.5, 210.0, 210.4), (430, 270, 210, 210)),
        ((429.7, 269.5, 210.9, 210.9), (430, 270, 210, 210)),
    ],
)
def test_edges_are_rounded_to_the_nearest_pixel_halves_up(raw, crop):
    (row,) = filtered([region(1, 1, *raw)])
    assert tuple(row[name] for name in ("x", "y", "width", "height")) == crop
    assert tuple(row[name] for name in ("x_raw", "y_raw", "width_raw", "height_raw")) == raw


def test_neighbouring_boxes_stay_neighbours():
    left, right = filtered([region(1, width=250.5), region(2, x=250.5, width=250.2)])
    assert left["x"] + left["width"] == right["x"]


def test_shapes_of_the_kept_crops_are_logged(caplog):
    caplog.set_level("INFO")
    log_shapes(pl.DataFrame({"width": [200, 400, 300], "height": [200, 200, 200]}))
    assert (
        "width / height of the 3 crops, percentiles (0, 5, 25, 50, 75, 95, 100): 1.00, 1.05, 1.25, 1.50" in caplog.text
    )
    assert "shows 72.2% of a crop on average, and under two thirds of 33.3% of the crops" in caplog.text
    caplog.clear()
    log_shapes(pl.DataFrame({"width": [], "height": []}))
    assert caplog.text == ""


def test_bounds_apply_to_the_clipped_box():
    (row,) = filtered([region(x=500, width=400, height=400)])
    assert (row["width"], row["reason"]) == (140, "aspect")


@pytest.mark.parametrize(
    ("phrase", "caption"),
    [
        ("crosswalk\n", "crosswalk"),
        (" A  red\tjar. ", "a red jar"),
        ("Cafe\u0301 table", "caf\u00e9 table"),
        ("the man's 2.5 m board", "the man's 2.5 m board"),
        ("...", ""),
    ],
)
def test_caption_is_canonical(phrase, caption):
    assert canonical_caption(phrase) == caption


def test_written_tables_hold_the_kept_regions_and_all_counts(tmp_path):
    paths = [str(tmp_path / f"{name}.parquet") for name in ("descriptions", "images", "regions")]
    write_table(paths[0], REGION_DESCRIPTIONS, [region(3), region(2, width=10), region(1, phrase="A Jar.")])
    write_table(paths[1], IMAGES, [image()])
    write_regions(*paths, str(tmp_path / "accounting.csv"), json.dumps(CONFIG))
    table = read_table(paths[2], REGIONS)
    assert table.schema.equals(REGIONS)
    assert table.select(["region_id", "caption", "caption_raw"]).to_pylist() == [
        {"region_id": 1, "caption": "a jar", "caption_raw": "A Jar."},
        {"region_id": 3, "caption": "a red jar", "caption_raw": "a red jar"},
    ]
    with open(tmp_path / "accounting.csv", newline="") as file:
        assert {row["reason"]: row["count"] for row in csv.DictReader(file)} == {"read": "3", "area": "1", "kept": "2"}


def test_images_without_regions_give_an_empty_table(tmp_path):
    paths = [str(tmp_path / f"{name}.parquet") for name in ("descriptions", "images", "regions")]
    write_table(paths[0], REGION_DESCRIPTIONS, [])
    write_table(paths[1], IMAGES, [image()])
    write_regions(*paths, str(tmp_path / "accounting.csv"), json.dumps(CONFIG))
    assert read_table(paths[2], REGIONS).num_rows == 0
    assert (tmp_path / "accounting.csv").read_text().splitlines()[1:] == [
        "regions,region,read,0",
        "regions,region,kept,0",
    ]
