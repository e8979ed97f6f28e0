"""Benchmarks whose items search a pool, from their files to the table, with an encoder without weights."""

import json

import numpy as np
import pytest
from PIL import Image

from crepebench.zero_shot_sets import lay_pictures

from .benchmark_run import build, measure
from .fake_encoder import FakeEncoder


class Colours(FakeEncoder):
    """Reads "red", "green" and "blue" in a text, and the mean colour of a picture."""

    def encode_tokens(self, tokens):
        texts = ["".join(chr(letter) for letter in row if letter) for row in tokens.ids.tolist()]
        rows = [[0.02 + (name in text) for name in ("red", "green", "blue")] for text in texts]
        return np.array([np.array(row) / np.linalg.norm(row) for row in rows], np.float32)

    def encode_images(self, images):
        found = images.numpy()[:, :3] + 0.02
        return found / np.linalg.norm(found, axis=1, keepdims=True)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs a benchmark and returns its table: value, chance and number of items by subset and metric."""

    def run_one(reader, files, roots, missing="error", options=None):
        folder = tmp_path / "results"
        build(folder, reader, files, {name: [place] for name, place in roots.items()}, missing, options)
        return measure(folder, reader, Colours(), monkeypatch)

    return run_one


def colour(folder, name, value):
    folder.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (12, 8), value).save(folder / name)


def values(table, subset, *names):
    """Value, chance, number of items and of missing ones, of each metric."""
    keys = ("value", "chance", "n_items", "n_missing")
    return {name: tuple(float(table[subset, name][key]) for key in keys) for name in names}


def test_coco_retrieval(run, tmp_path):
    captions = {"a.png": ["a red bus", "red"], "b.png": ["a green tree", "a red tree"], "c.png": ["blue", "a red sea"]}
    for name, value in zip(captions, ("red", "lime", "blue"), strict=True):
        colour(tmp_path / "val", name, value)
    images = [
        {"filename": name, "filepath": "val2014", "split": "test", "sentences": [{"raw": text} for text in own]}
        for name, own in captions.items()
    ]
    (tmp_path / "dataset_coco.json").write_text(json.dumps({"images": images}), encoding="utf-8")
    files = [str(tmp_path / "dataset_coco.json")]
    table = run("coco_retrieval", files, {"coco_val2014": str(tmp_path / "val")})
    found = values(table, "coco_5k", "text_to_image_recall_at_1", "image_to_text_recall_at_1")
    assert found["text_to_image_recall_at_1"] == (66.67, 33.33, 6, 0)  # the red tree and sea find the red picture
    assert found["image_to_text_recall_at_1"] == (
        66.67,
        33.33,
        3,
        0,
    )  # four captions tie for the red picture, two are its own
    assert table["coco_5k", "image_to_text_recall_at_1_ties_split"]["value"] == "83.33"


def test_missing_pictures_leave_the_pool_and_are_counted(run, tmp_path):
    colour(tmp_path / "pictures", "a.png", "red")
    rows = [("x/a.png", "['red']"), ("x/lost.png", "['green', 'no green']")]
    path = tmp_path / "COCO_val_retrieval.csv"
    path.write_text("filepath,captions\n" + "".join(f'{a},"{b}"\n' for a, b in rows), encoding="utf-8")
    roots = {"coco_val2017": str(tmp_path / "pictures")}
    table = run("negbench_retrieval", [str(path)], roots, missing="skip")
    assert values(table, "coco", "text_to_image_recall_at_1") == {"text_to_image_recall_at_1": (100, 100, 1, 2)}
    marks = table["coco", "text_to_image_recall_at_1"]["marks"].split()
    assert marks == ["count_differs_coco_3_of_25014", "images_missing", "not_above_chance"]


def test_negbench_retrieval_of_clips_with_cues(run, tmp_path):
    pytest.importorskip("av")
    from .test_video_frames import write_clip

    clips = tmp_path / "clips"
    clips.mkdir()
    write_clip(clips / "video1.mp4", [(250, 0, 0)] * 20, "libx264", "yuv420p")
    write_clip(clips / "video2.mp4", [(250, 0, 0)] * 5 + [(0, 0, 250)] * 15, "libx264", "yuv420p")
    rows = [("x/video1.mp4", "['red, no blue']"), ("x/video2.mp4", "['blue']")]
    path = tmp_path / "msr_vtt_retrieval_rephrased_llama.csv"
    path.write_text("filepath,captions\n" + "".join(f'{a},"{b}"\n' for a, b in rows), encoding="utf-8")
    table = run("negbench_retrieval", [str(path)], {"msr_vtt": str(clips)})
    name = "text_to_image_recall_at_1"
    assert values(table, "msr_vtt_negated", name)[name] == (50, 50, 2, 0)  # "red, no blue" is half blue
    assert values(table, "with_cue=msr_vtt_negated", name)[name] == (0, 50, 1, 0)


def test_negbench_questions_on_clips(run, tmp_path):
    pytest.importorskip("av")
    from .test_video_frames import write_clip

    (tmp_path / "clips").mkdir()
    write_clip(tmp_path / "clips" / "video1.mp4", [(250, 0, 0)] * 20, "libx264", "yuv420p")
    path = tmp_path / "msr_vtt_mcq_rephrased_llama.csv"
    columns = "image_path,correct_answer,caption_0,caption_1,caption_2,caption_3,correct_answer_template"
    path.write_text(f"{columns}\nx/video1.mp4,0,red,green,blue,a sea,positive\n", encoding="utf-8")
    table = run("negbench_mcq", [str(path)], {"msr_vtt": str(tmp_path / "clips")})
    assert values(table, "all", "accuracy") == {"accuracy": (100, 25, 1, 0)}


def test_zero_shot(run, tmp_path):
    from .test_zero_shot_sets import write_food

    write_food(tmp_path)
    for number, value in enumerate(("red", "lime", "red")):
        colour(tmp_path / "food-101" / "images" / "apple_pie", f"{number}.jpg", value)
        colour(tmp_path / "food-101" / "images" / "waffles", f"{number}.jpg", "blue")
    pictures, path = str(tmp_path / "laid"), str(tmp_path / "food101.json")
    cfg = {"set": "food101", "class_names": ["red", "blue"], "n_images": None, "seed": 0}
    lay_pictures(str(tmp_path), pictures, path, json.dumps(cfg))
    table = run("zero_shot", [path], {"zero_shot_food101": pictures}, options={"templates": ["{}", "a {} dish"]})
    found = values(table, "all", "top_1_accuracy", "top_5_accuracy", "top_1_accuracy_macro_class")
    assert found["top_5_accuracy"] == (100, 100, 6, 0)
    assert found["top_1_accuracy"][1:] == (50, 6, 0)
    assert found["top_1_accuracy"][0] == found["top_1_accuracy_macro_class"][0] >= 83.33
