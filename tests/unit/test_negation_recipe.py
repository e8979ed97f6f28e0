"""The released recipe of negation data, and its files."""

import csv
import io
import json
import zipfile

import pyarrow.parquet as pq
import pytest
from PIL import Image

from crepebench.negation_recipe import FAMILIES, build_released_data, negate

CATEGORIES = ["dog", "cat", "bus", "orange"]


@pytest.fixture
def built(tmp_path):
    """Tables and CSV files made of 12 images, of which the last has no file."""
    instances = {
        "categories": [{"id": i, "name": name} for i, name in enumerate(CATEGORIES)],
        "images": [{"id": i, "file_name": f"COCO_{i}.jpg"} for i in range(12)],
        "annotations": [{"image_id": i, "category_id": i % 2} for i in range(12)],
    }
    said = [{"image_id": i, "caption": f"a {CATEGORIES[i % 2]} number {i}, {j}."} for i in range(12) for j in range(5)]
    (tmp_path / "instances.json").write_text(json.dumps(instances), encoding="utf-8")
    (tmp_path / "captions.json").write_text(json.dumps({"annotations": said}), encoding="utf-8")
    with zipfile.ZipFile(tmp_path / "images.zip", "w") as archive:
        for i in range(11):
            stream = io.BytesIO()
            Image.new("RGB", (4, 4)).save(stream, "PNG")
            archive.writestr(f"train2014/COCO_{i}.jpg", stream.getvalue())
    names = (
        "instances.json",
        "captions.json",
        "images.zip",
        "p.parquet",
        "q.parquet",
        "i.parquet",
        "s.parquet",
        "a.csv",
    )
    build_released_data(*(str(tmp_path / name) for name in (*names, "negcap.csv", "mcq.csv")), '{"seed": 0}')
    return tmp_path


def test_every_first_caption_gets_a_denial_of_an_absent_category(built):
    pairs = pq.read_table(built / "p.parquet").to_pylist()
    assert len(pairs) == 11 * 3
    for row in pairs:
        assert row["concept"] not in row["caption"] and row["concept"] in row["negated"]
        assert row["caption"].rstrip(".") in row["negated"]
        assert (row["polarity"], row["source"]) == ("affirmative", "released")


def test_rows_are_split_and_not_images(built):
    pairs = pq.read_table(built / "p.parquet").to_pylist()
    assert sum(row["split"] == "train" for row in pairs) == int(0.9 * len(pairs))
    own = {row["image_id"] for row in pairs if row["split"] == "validation"}
    assert own & {row["image_id"] for row in pairs if row["split"] == "train"}


def test_questions_hold_captions_of_images_that_share_a_category(built):
    for row in pq.read_table(built / "q.parquet").to_pylist():
        name = "dog" if "dog number" in row["captions"][0] else "cat"
        assert row["roles"] == ["right", "negated", "other_image", "other_image"]
        assert all(name in text for text in row["captions"])
        assert len(set(row["captions"])) == 4


def test_the_accounting_says_that_captions_labelled_wrong_are_true(built):
    rows = (built / "a.csv").read_text(encoding="utf-8")
    assert "negation_data,labelled_wrong_but_true,kept,33\n" in rows
    assert "negation_data,image,image_missing,1\n" in rows


def test_released_files_hold_what_the_tables_hold(built):
    texts = ((built / name).read_text(encoding="utf-8") for name in ("negcap.csv", "mcq.csv"))
    pairs, questions = (list(csv.DictReader(io.StringIO(text, newline=""))) for text in texts)
    tables = [pq.read_table(built / name).to_pylist() for name in ("p.parquet", "q.parquet")]
    assert [tuple(row.values())[1:] for row in pairs] == [
        (row["caption"], row["negated"], row["template"]) for row in tables[0]
    ]
    for found, own in zip(questions, tables[1], strict=True):
        options = [found[f"caption_{i}"] for i in range(4)]
        assert options[int(found["correct_answer"])] == own["captions"][0] and set(options) == set(own["captions"])


def test_families_have_as_many_templates_as_the_release():
    assert {name: len(own) for name, own in FAMILIES.items()} == {"no_X": 3, "without_X": 2, "not_X": 2}
    assert negate("a dog.", "orange", "without_X", 0) == "a dog, without an orange"


def test_files_that_are_no_annotations_are_named(tmp_path):
    from crepebench.negation_recipe import read_coco

    (tmp_path / "a.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ValueError, match="no annotations of COCO"):
        read_coco(str(tmp_path / "a.json"), str(tmp_path / "a.json"))
