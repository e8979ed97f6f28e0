import pytest

from crepebench.negation_parts import split_negation


@pytest.mark.parametrize(
    ("caption", "affirmed", "denied"),
    [
        ("a photo of a dog without a collar", "a photo of a dog", ["collar"]),
        ("a red jar above a box, but there is no fan", "a red jar above a box", ["fan"]),
        ("a jar that is not red", "a jar", ["red"]),
        ("a man not wearing a hat", "a man", ["wearing a hat"]),
        ("the ring isn\u2019t blue", "the ring", ["blue"]),
        ("a street with no cars on it, and a tree", "a street, and a tree", ["cars"]),
        ("a table without plates or cups and a red chair", "a table and a red chair", ["plates or cups"]),
        ("a box. there is no lid. there is a fan", "a box. there is a fan", ["lid"]),
        ("a street free of cars", "a street", ["cars"]),
        ("a plate devoid of food", "a plate", ["food"]),
        ("a woman who lacks a hat", "a woman", ["hat"]),
        ("a ring; a star is absent", "a ring", ["a star"]),
        ("no dog and no cat, only a tree", "only a tree", ["dog", "cat"]),
    ],
)
def test_caption_is_split_into_what_it_affirms_and_denies(caption, affirmed, denied):
    found = split_negation(caption)
    concepts = [concept.removeprefix("a ") for concept in denied]
    assert (found.affirmed, list(found.denied)) == (affirmed, concepts)


@pytest.mark.parametrize("caption", ["a red jar", "A man in an unlit room, seated.", "", "nothing"])
def test_caption_that_denies_nothing_named_stays_as_it_is(caption):
    assert split_negation(caption) == (caption, ())


def test_where_nothing_else_is_left_the_whole_is_affirmed():
    assert split_negation("There is no fan.") == ("There is no fan.", ("fan",))
