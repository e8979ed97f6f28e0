"""Captions are taken apart into the sentences that CLIC trains on."""

from collections import Counter

import pytest

from crepebench.clic_sentences import read_sentence_rules, split_sentences, use_sentences


@pytest.fixture(scope="module")
def rules(repository):
    return read_sentence_rules(str(repository / "resources" / "clic" / "sentences.yaml"))


def test_a_caption_falls_apart_at_full_stops_before_capitals(rules):
    assert split_sentences("A red jar stands there. It is small. two keys lie. beside", rules) == [
        "A red jar stands there.",
        "It is small. two keys lie. beside",
    ]


@pytest.mark.parametrize(
    "caption",
    [
        "Mr. Smith rides a horse.",
        "A tank of the U.S. Army on a road.",
        "A jar of 3.5 litres stands there.",
        "A picture by J. Turner of the sea.",
    ],
)
def test_abbreviations_initials_and_decimals_end_no_sentence(rules, caption):
    assert split_sentences(caption, rules) == [caption]


def test_quirks_of_the_release_part_decimals_and_abbreviations(rules):
    assert split_sentences("A jar of 3.5 litres", rules, release_quirks=True) == ["A jar of 3. 5 litres"]
    assert split_sentences("The U.S. Army", rules, release_quirks=True) == ["The U.", "S.", "Army"]


@pytest.mark.parametrize(
    ("caption", "rest"),
    [
        ("The image shows a red jar.", "a red jar."),
        ("This image appears to be a digital representation of a jar.", "a jar."),
        ("The image is isolated.", "isolated."),
        ("The image displayshop has a jar.", "The image displayshop has a jar."),
        ("the image shows a jar.", "the image shows a jar."),
    ],
)
def test_a_beginning_that_says_nothing_goes(rules, caption, rest):
    assert split_sentences(caption, rules) == [rest]


def test_several_beginnings_go_in_the_order_of_the_table(rules):
    assert split_sentences("This image is a screenshot of a red jar", rules) == ["a red jar"]


def test_only_the_first_sentence_loses_its_beginning(rules):
    assert split_sentences("A red jar. The image shows a key.", rules)[1] == "The image shows a key."


def test_sentences_of_4_to_34_words_stay_in_lower_case():
    counts = Counter()
    sentences = ["A red jar.", "A small red jar.", " ".join(["word"] * 34), " ".join(["word"] * 35), "a Small red jar"]
    assert use_sentences(sentences, counts) == ["a small red jar.", " ".join(["word"] * 34)]
    assert counts == {"read": 5, "kept": 2, "sentence_short": 1, "sentence_long": 1, "sentence_repeated": 1}
