"""Questions of word order are made once, by a seed, and are read from the file that was written."""

import json
from types import SimpleNamespace

import pytest

from crepebench.accounting import KEPT, READ
from crepebench.benchmark_readers.aro_order import (
    NO_SHUFFLE,
    SHUFFLES,
    build_order_file,
    order_words,
    shuffle_words,
)

from .benchmark_files import ORDER, read_items, write_file

WORDS = "a small dog sits under the old table near two chairs".split()
TAGS = "DT JJ NN VBZ IN DT JJ NN IN CD NNS".split()
NAMED = [1, 2, 6, 7, 10]
"""Places of nouns and adjectives."""


@pytest.fixture(scope="module")
def shuffles() -> dict[str, list[str]]:
    return {name: text.split() for name, text in shuffle_words(WORDS, TAGS, "0 x.jpg:0").items()}


def test_every_shuffle_holds_the_same_words_in_another_order(shuffles):
    assert tuple(shuffles) == SHUFFLES
    assert all(sorted(words) == sorted(WORDS) for words in shuffles.values())
    assert len({*map(tuple, shuffles.values()), tuple(WORDS)}) == 5


def test_nouns_and_adjectives_move_among_their_places_alone(shuffles):
    kept = [i for i in range(len(WORDS)) if i not in NAMED]
    assert [shuffles["nouns_adjectives"][i] for i in kept] == [WORDS[i] for i in kept]
    assert [shuffles["other_words"][i] for i in NAMED] == [WORDS[i] for i in NAMED]


def test_runs_of_three_move_whole_or_within(shuffles):
    runs = [WORDS[i : i + 3] for i in range(0, len(WORDS), 3)]
    text = " ".join(shuffles["runs"])
    assert all(" ".join(run) in text for run in runs)
    within = [shuffles["within_runs"][i : i + 3] for i in range(0, len(WORDS), 3)]
    assert [sorted(run) for run in within] == [sorted(run) for run in runs]


def test_shuffles_depend_on_the_key_alone():
    assert shuffle_words(WORDS, TAGS, "0 a") == shuffle_words(WORDS, TAGS, "0 a")
    assert shuffle_words(WORDS, TAGS, "0 a") != shuffle_words(WORDS, TAGS, "1 a")


@pytest.mark.parametrize(
    ("words", "tags"),
    [
        (["a", "dog", "runs"], ["DT", "NN", "VBZ"]),  # one run of words, and one noun
        (["dog", "dog", "cat", "cat"], ["NN"] * 4),  # no other word
        (["go", "go", "go", "go"], ["VB"] * 4),  # all are the same
    ],
)
def test_caption_without_four_new_orders_gives_none(words, tags):
    assert shuffle_words(words, tags, "0 x") is None


def test_words_are_in_lower_case_without_punctuation_and_at_most_thirty():
    assert order_words('A "Big" dog, (black); runs: #1!') == ["a", "big", "dog", "black", "runs", "1"]
    assert order_words("word " * 40) == ["word"] * 30


class Tagger:
    """Stands for spaCy's pipeline: tags words of a list, and no others, as nouns."""

    def __init__(self):
        import spacy

        self.vocab = spacy.blank("en").vocab

    def __call__(self, doc):
        nouns = {"dog", "table", "chairs", "cup"}
        return [SimpleNamespace(tag_="NN" if token.text in nouns else "IN") for token in doc]


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    return Tagger()


def test_file_is_written_byte_for_byte_again_and_read_as_items(tmp_path, tagger):
    captions = [
        {"image": "val2014/COCO_val2014_000000000001.jpg", "caption": [" ".join(WORDS).title() + ".", "A dog."]},
        {"image": "COCO_val2014_000000000002.jpg", "caption": "A cup on a table under two chairs."},
    ]
    path = write_file(tmp_path, "captions.json", captions)
    counts = build_order_file(path, str(tmp_path / "coco_a.jsonl"), 0, tagger)
    assert counts == {READ: 3, KEPT: 2, NO_SHUFFLE: 1}
    build_order_file(path, str(tmp_path / "coco_b.jsonl"), 0, tagger)
    assert (tmp_path / "coco_a.jsonl").read_bytes() == (tmp_path / "coco_b.jsonl").read_bytes()
    one, two = read_items("aro_order", [tmp_path / "coco_a.jsonl"])
    assert one.captions[0] == " ".join(WORDS)
    assert [(image.root, image.name) for item in (one, two) for image in item.images] == [
        ("coco_val2014", "COCO_val2014_000000000001.jpg"),
        ("coco_val2014", "COCO_val2014_000000000002.jpg"),
    ]
    assert len(set(two.captions)) == 5


def test_another_caption_leaves_the_shuffles_of_the_others(tmp_path, tagger):
    rows = [{"image": f"{i}.jpg", "caption": f"a dog under a table near chairs number {i}"} for i in range(3)]
    for name, some in (("coco_all.jsonl", rows), ("coco_part.jsonl", rows[1:])):
        build_order_file(write_file(tmp_path, "captions.json", some), str(tmp_path / name), 7, tagger)
    lines = [(tmp_path / name).read_text().splitlines() for name in ("coco_all.jsonl", "coco_part.jsonl")]
    assert lines[0][1:] == lines[1]


def test_frozen_line_with_two_equal_captions_is_refused(tmp_path):
    path = write_file(tmp_path, "flickr30k_order.jsonl", [ORDER, {**ORDER, "id": "x", "runs": ORDER["caption"]}])
    with pytest.raises(ValueError, match="line 2: two of the five captions are the same"):
        read_items("aro_order", [path])


def test_caption_that_is_no_text_is_named(tmp_path, tagger):
    path = write_file(tmp_path, "captions.json", [{"image": "1.jpg", "caption": ["a dog", 5]}])
    with pytest.raises(ValueError, match=r"captions.json, record 0, caption: no text: 5"):
        build_order_file(path, str(tmp_path / "coco.jsonl"), 0, tagger)
    assert not (tmp_path / "coco.jsonl").exists()


def test_spacys_tags_tell_nouns_and_adjectives(parser, tmp_path):
    path = write_file(tmp_path, "captions.json", [{"image": "1.jpg", "caption": "a small dog sits under an old table"}])
    build_order_file(path, str(tmp_path / "flickr30k_order.jsonl"), 0, parser)
    (row,) = map(json.loads, (tmp_path / "flickr30k_order.jsonl").read_text().splitlines())
    assert row["seed"] == 0
    moved = row["nouns_adjectives"].split()
    assert [moved[i] for i in (0, 3, 4, 5)] == ["a", "sits", "under", "an"]
    assert sorted(moved[i] for i in (1, 2, 6, 7)) == ["dog", "old", "small", "table"]
