import csv
import json
import sys
import types
import zipfile

import pytest
from PIL import Image

from crepebench import benchmark_building
from crepebench.benchmark_building import build_benchmark_items
from crepebench.benchmark_images import BenchmarkImages
from crepebench.benchmark_items import ImageRef, Item
from crepebench.feature_index import collect_contents
from crepebench.schema import BENCHMARK_ITEMS, IMAGES, read_table


@pytest.fixture
def pictures(tmp_path):
    """A folder of pictures, some of them deep in it."""
    folder = tmp_path / "pictures"
    (folder / "deep" / "er").mkdir(parents=True)
    Image.new("RGB", (30, 20), "red").save(folder / "red.png")
    Image.new("RGB", (40, 20), "blue").save(folder / "deep" / "er" / "blue.png")
    (folder / "bad.png").write_bytes(b"no picture")
    return folder


@pytest.fixture
def build(tmp_path, pictures, monkeypatch):
    """Builds a benchmark of items that a test gives, and returns rows of items, images and the accounting."""

    def run(items, policy="error", roots=None):
        module = types.ModuleType("made_up_reader")
        module.read = lambda paths, options: iter(items)
        monkeypatch.setitem(sys.modules, "made_up_reader", module)
        monkeypatch.setitem(benchmark_building.READERS, "made_up", "made_up_reader")
        names = ("items", "images", "sets", "missing", "accounting", "frames")
        paths = {name: str(tmp_path / name) for name in names}
        roots = {"r": [str(pictures)]} if roots is None else roots
        cfg = {"reader": "made_up", "options": {}, "roots": roots, "missing_images": policy}
        build_benchmark_items(["f"], *(paths[name] for name in names), "b", json.dumps(cfg))
        with open(paths["accounting"], newline="") as file:
            counts = {row["reason"]: int(row["count"]) for row in csv.DictReader(file)}
        return read_table(paths["items"], BENCHMARK_ITEMS).to_pylist(), read_table(paths["images"], IMAGES), counts

    return run


def question(name, number=0, box=None, root="r"):
    return Item(f"q{number}", "s", "choose_caption", (ImageRef(root, name, box),), ("true", "false"))


def test_pictures_are_found_by_file_name_at_any_depth(build):
    (red, blue), images, counts = build([question("/data/author/red.png"), question("x\\blue.png", 1)])
    assert (red["reason"], blue["reason"], len(images), counts) == ("", "", 2, {"read": 2, "kept": 2})
    assert [blue["images"][0][key] for key in ("name", "x", "y", "width", "height")] == ["blue.png", 0, 0, 40, 20]


def test_every_text_and_crop_of_an_item_is_to_be_encoded(build, tmp_path):
    box = (2.4, 3.0, 10.0, 40.0)
    pair = Item("p", "s", "pairs", (ImageRef("r", "red.png", box), ImageRef("r", "blue.png")), ("one", "two"))
    texts_only = Item("t", "s", "text_only", (), ("p1", "p2", "n"))
    build([pair, texts_only])
    texts, crops = collect_contents([str(tmp_path / "sets")])
    assert texts == {"one", "two", "p1", "p2", "n"}
    assert {crop for _, crop in crops} == {(2, 3, 10, 17), (0, 0, 40, 20)}


def test_missing_pictures_stop_the_run_and_are_named(build):
    with pytest.raises(
        ValueError, match=r"2 pictures cannot be used.*2 of 3 items.*r/bad.png, r/lost.png.*searched in"
    ):
        build([question("red.png"), question("a/lost.png", 1), question("bad.png", 2)])


def test_missing_pictures_are_left_out_listed_and_counted_if_wanted(build, tmp_path):
    boxes = {4: (100.0, 0.0, 5.0, 5.0), 5: (0.0, 0.0, 0.0, 5.0)}
    asked = ["red.png", "lost.png", "lost.png", "bad.png", "red.png", "red.png"]
    items = [question(name, number, boxes.get(number)) for number, name in enumerate(asked)]
    rows, images, counts = build([*items, question("red.png", 6, root="elsewhere")], "skip")
    reasons = ["", "image_missing", "image_missing", "image_unreadable", "box_outside", "box_invalid"]
    assert [row["reason"] for row in rows] == [*reasons, "root_not_configured"]
    assert (counts["read"], counts["kept"], counts["image_missing"], len(images)) == (7, 1, 2, 1)
    with open(tmp_path / "missing", newline="") as file:
        listed = list(csv.DictReader(file))
    assert [row["item_id"] for row in listed] == [f"q{number}" for number in range(1, 7)]
    assert listed[0] == {**listed[0], "root": "r", "name": "lost.png", "reason": "image_missing"}


def test_a_benchmark_without_any_picture_stops_the_run_whatever_the_policy(build):
    with pytest.raises(ValueError, match=r"so that no item is left"):
        build([question("lost.png")], "skip")


def test_a_root_may_be_a_zip(build, pictures, tmp_path):
    path = str(tmp_path / "all.zip")
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(pictures / "red.png", "any/where/red.png")
    (row,), images, _ = build([question("red.png")], roots={"r": [path]})
    assert (row["reason"], images["path"].to_pylist()) == ("", ["any/where/red.png"])


def test_a_root_may_be_several_places(build, pictures, tmp_path):
    path = str(tmp_path / "more.zip")
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(pictures / "red.png", "more.png")
    _, images, counts = build([question("red.png"), question("more.png", 1)], roots={"r": [str(pictures), path]})
    assert sorted(images["archive"].to_pylist()) == sorted([str(pictures), path])
    assert counts == {"read": 2, "kept": 2}


def test_different_pictures_of_one_name_stop_the_run_and_equal_ones_do_not(pictures):
    (pictures / "deep" / "red.png").write_bytes((pictures / "red.png").read_bytes())
    ref = ImageRef("r", "red.png")
    assert BenchmarkImages({"r": [str(pictures)]}, [ref]).find(ref).reason == ""
    Image.new("RGB", (30, 20), "green").save(pictures / "deep" / "red.png")
    with pytest.raises(
        ValueError, match=r"root r holds different files named red.png: deep/red.png in .*, red.png in "
    ):
        BenchmarkImages({"r": [str(pictures)]}, [ref]).find(ref)


def test_an_unknown_reader_is_named(build):
    with pytest.raises(ValueError, match="benchmark b: there is no reader 'nobody'"):
        benchmark_building.read_items("nobody", [], {}, "b")


def test_a_benchmark_of_no_item_is_refused(build):
    with pytest.raises(ValueError, match="benchmark b: f: no items"):
        build([])


def test_a_clip_is_one_picture_of_which_the_frames_are_encoded(build, pictures, tmp_path):
    pytest.importorskip("av")
    from .test_video_frames import SIDE, write_clip

    write_clip(pictures / "deep" / "clip.mp4", [(10, 10, 10), (90, 90, 90)] * 4, "mpeg4", "yuv420p")
    rows, images, _ = build(
        [question("x/clip.mp4"), question("lost.mp4", 1), question("red.png", 2, root="p")],
        "skip",
        {"r": [str(pictures)], "p": [str(pictures)]},
    )
    assert [row["reason"] for row in rows] == ["", "image_missing", ""]
    (clip,) = rows[0]["images"]
    assert (clip["name"], clip["width"], clip["height"]) == ("clip.mp4", SIDE, SIDE)
    _, crops = collect_contents([str(tmp_path / "sets")])
    assert len(crops) == len(images) == 5  # four frames and a picture
    assert clip["image_id"] not in {image_id for image_id, _ in crops}


def test_what_a_reader_counts_of_its_records_is_in_the_accounting(build, monkeypatch, tmp_path):
    def read(paths, options, counts):
        counts.update({"read": 3, "kept": 1, "excluded": 2})
        yield question("red.png")

    monkeypatch.setattr(benchmark_building.importlib, "import_module", lambda _: types.SimpleNamespace(read=read))
    build([])
    assert "benchmark_items/b,record,excluded,2" in (tmp_path / "accounting").read_text()
