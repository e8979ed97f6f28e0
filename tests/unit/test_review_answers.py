import json
import zlib

import pytest

from crepebench.review_answers import MOST_BYTES, checksum_of, read_all_answers, read_answers, read_sample

from .review_rows import (
    CAPTION,
    CC12M,
    DOGS,
    JARS,
    LOOSE_CAPTION,
    SAMPLE,
    edited,
    foil_ids,
    good_answers,
    signed,
    write_json,
)

FOIL = foil_ids(JARS)[0]


@pytest.fixture
def sample(tmp_path):
    return read_sample(write_json(tmp_path / "sample.json", SAMPLE))


@pytest.fixture
def read(tmp_path, sample):
    """Writes an annotator's file, a value or bytes, and reads it."""

    def read(file):
        path = tmp_path / "ada.json"
        path.write_bytes(file if isinstance(file, bytes) else json.dumps(file).encode())
        return read_answers(str(path), sample)

    return read


def test_a_whole_file_is_read(read):
    found = read(signed("Ada Lovelace"))
    assert (found.annotator, found.answers) == ("Ada Lovelace", good_answers())


def test_a_byte_order_mark_is_no_edit(read):
    assert read(b"\xef\xbb\xbf" + json.dumps(signed(), indent=1).encode()).annotator == "Ada"


def test_the_checksum_covers_sorted_keys_in_ascii(sample):
    file = {
        "format": "f",
        "sample_id": "s",
        "annotator": "Zoë",
        "n_items": 1,
        "answers": {"b": {"y": 1, "x": "é"}, "a": 2},
    }
    text = r'["f","s","Zo\u00eb",1,{"a":2,"b":{"x":"\u00e9","y":1}}]'
    assert checksum_of({**file, "saved_at": "now"}) == f"{zlib.crc32(text.encode()):08x}" == "92c78eee"


def test_the_time_of_saving_is_no_part_of_the_checksum(read):
    assert read({**signed(), "saved_at": "later"}).annotator == "Ada"


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (b"\xff\xfe{\x00", r"is not UTF-8 \(byte 0\)"),
        (b"", "is no JSON, or only a part of it"),
        (json.dumps(signed()).encode()[:-9], "is no JSON, or only a part of it"),
        (b"[" * 200_000, "is nested too deep"),
        (b'{"n": ' + b"9" * 5_000 + b"}", "is no JSON"),
        ([], "has no field 'format'"),
        ({"answers": {}}, "has no field 'format'"),
        (signed(format="crepe-review-2"), "has the format 'crepe-review-2'; this version reads 'crepe-review-1'"),
        ({**signed(), "score": 5}, r"lacks or adds the fields \['score'\]"),
        ({key: value for key, value in signed().items() if key != "checksum"}, r"fields \['checksum'\]"),
        (signed(sample_id="f" * 16), r"answers the sample 'ffffffffffffffff', and sample\.json is '0123456789abcdef'"),
        (signed(checksum="00000000"), "was edited: its checksum is '00000000' and should be '"),
        ({**signed(), "annotator": "Ben"}, "was edited"),
        ({**signed(), "answers": edited((CAPTION, "faithful", "no"))}, "was edited"),
        (signed(n_items=5), "n_items is 5; the sample has 6 items"),
        (signed(answers=[]), "answers is no object of item_id and answer"),
    ],
    ids=lambda value: None if isinstance(value, str) else "",
)
def test_a_file_that_is_none_of_ours_is_refused_by_name(read, file, message):
    with pytest.raises(ValueError, match=rf"ada\.json: .*({message})"):
        read(file)


@pytest.mark.parametrize("name", ["", " ", "a" * 41, "Ada\n", " Ada", "\ud800", 7, None])
def test_annotators_without_a_name_are_refused(read, name):
    with pytest.raises(ValueError, match=r"ada\.json: the annotator .* is no name of 1 to 40 characters"):
        read(signed(name))


def test_nobody_is_called_as_the_rows_of_all(read):
    with pytest.raises(ValueError, match="the annotator is called 'All'"):
        read(signed("All"))


def test_a_huge_file_is_refused_unread(tmp_path, sample):
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(ValueError, match=rf"huge\.json: has {MOST_BYTES + 1} bytes"):
        read_answers(str(path), sample)


def test_a_half_finished_file_says_how_many_items_are_open_and_which(read):
    answers = {CAPTION: {"faithful": "yes"}, JARS: {"pick": "truth"}}
    with pytest.raises(ValueError, match=f"half finished: 5 of 6 items are open, the first {LOOSE_CAPTION}, {JARS}, "):
        read(signed(answers=answers))


@pytest.mark.parametrize(
    "change",
    [
        (JARS, "pick", None),
        (JARS, "faithful", None),
        (JARS, "foils", {}),
        (JARS, "foils", FOIL, {"false": "yes"}),
        (CC12M, "n_missed", None),
        (CAPTION, "faithful", None),
    ],
)
def test_an_item_with_an_open_question_is_open(read, change):
    with pytest.raises(ValueError, match=f"1 of 6 items are open, the first {change[0]}; "):
        read(signed(answers=edited(change)))


def test_items_that_the_sample_lacks_are_named(read):
    with pytest.raises(ValueError, match="answers items that the sample does not have: eeeeeeeeeeeeeeee"):
        read(signed(answers={**good_answers(), "e" * 16: {"faithful": "yes"}}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((CAPTION, "faithful", "maybe"), "faithful is 'maybe', which is none of yes, no, unsure"),
        ((CAPTION, "faithful", ["yes"]), r"faithful is \['yes'\]"),
        ((CAPTION, "remark", "?"), r"the answer has the fields \['remark'\]"),
        ((CAPTION, "yes"), "the answer is 'yes', and no object"),
        ((JARS, "pick", foil_ids(DOGS)[0]), "pick is '.*', which is none of truth, "),
        ((JARS, "foils", foil_ids(DOGS)[0], {"false": "no"}), "judges foils that the set does not have: "),
        ((JARS, "foils", FOIL, "natural", "unsure"), "natural is 'unsure', which is none of yes, no"),
        ((JARS, "foils", ["a"]), r"foils is \['a'\], and no object"),
        ((CC12M, "n_missed", -1), "n_missed is -1, and no whole number from 0 to 999"),
        ((CC12M, "n_missed", 10**400), "n_missed is 1000"),
        ((CC12M, "n_missed", 1.0), "n_missed is 1.0"),
        ((CC12M, "n_missed", True), "n_missed is True"),
        ((CC12M, "n_wrong", 5), "n_wrong is 5, and no whole number from 0 to 4"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_answer_that_the_page_does_not_offer_is_named_with_its_item(read, change, message):
    with pytest.raises(ValueError, match=rf"ada\.json: item {change[0]} \(\w+\): {message}"):
        read(signed(answers=edited(change)))


def test_annotators_stand_in_the_order_of_their_names(tmp_path, sample):
    paths = [write_json(tmp_path / f"{name}.json", signed(name)) for name in ("Zoë", "ben", "Ada")]
    assert [each.annotator for each in read_all_answers(paths, sample)] == ["Ada", "ben", "Zoë"]


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (signed("Ada", saved_at="later"), "with the same answers"),
        (signed("ada", edited((CAPTION, "faithful", "no"))), "they differ in 1 of 6 items"),
    ],
)
def test_two_files_of_one_annotator_are_refused(tmp_path, sample, other, what):
    paths = [write_json(tmp_path / "1.json", signed("Ada")), write_json(tmp_path / "2.json", other)]
    with pytest.raises(ValueError, match=rf"1\.json and .*2\.json are both of the annotator .*, {what}: keep one"):
        read_all_answers(paths, sample)


def test_no_file_at_all_says_what_to_do(sample):
    with pytest.raises(ValueError, match=r"review\.answers of the config names no file .*docs/review\.md"):
        read_all_answers([], sample)
