import pytest

from crepebench.caption_edits import (
    countability,
    first_mention,
    in_number,
    is_replaceable,
    phrase_start,
    reword,
    splice,
    with_surfaces,
)
from crepebench.captions import write_template_caption

from .subgraph_rows import caption_of, graph_atom

MASS = frozenset(["water", "grass"])
ATOMS = [
    graph_atom("object", "man"),
    graph_atom("object", "hat"),
    graph_atom("attribute", "red", object_=1),
    graph_atom("relation", "wear", "wearing", subject=0, object_=1),
]


def named(text, name=""):
    return {"text": text, "name": name or text}


def test_template_is_written_anew():
    caption = write_template_caption(ATOMS, MASS)
    assert caption.text == "a man wearing a red hat"
    assert reword(caption, ATOMS, {}, MASS) == caption
    assert reword(caption, ATOMS, {2: named("orange")}, MASS).text == "a man wearing an orange hat"
    assert reword(caption, ATOMS, {0: named("water")}, MASS).text == "water wearing a red hat"


def test_another_goes_with_the_name_that_was_repeated():
    atoms = [graph_atom("object", "man"), graph_atom("object", "man")]
    caption = write_template_caption(atoms, MASS)
    assert caption.text == "there is a man. there is another man"
    assert reword(caption, atoms, {1: named("woman")}, MASS).text == "there is a man. there is a woman"


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({0: named("apple")}, "an apple wears a red hat"),
        ({0: named("hat", "hats"), 1: named("man")}, "a hat wears a red man"),
        ({2: named("orange")}, "a man wears an orange hat"),
        ({3: named("hold", "holding")}, "a man is holding a red hat"),
    ],
)
def test_caption_of_a_model_is_edited_where_atoms_are_mentioned(changed, text):
    caption = caption_of("a man wears a red hat", "man", "hat", "red", "wears")
    assert reword(caption, ATOMS, changed, MASS).text == text


def test_all_mentions_of_an_object_change():
    caption = caption_of("a man wearing a red hat. the man is on a bench", "man|man", "hat", "red", "wearing")
    assert reword(caption, ATOMS, {0: named("boy")}, MASS).text == "a boy wearing a red hat. the boy is on a bench"


@pytest.mark.parametrize(
    ("atom", "plural", "name"),
    [
        (named("man"), True, "men"),
        (named("man", "men"), False, "man"),
        (named("glass", "glass of water"), True, "glasses of water"),
        (named("fire hydrant", "fire hydrants"), False, "fire hydrant"),
        (named("people"), False, "people"),
    ],
)
def test_name_stands_in_either_number(atom, plural, name):
    assert in_number(atom, plural) == name


def test_nouns_are_counted_or_not():
    nouns = [named("man", "men"), named("water"), named("jeans"), named("people"), named("glass", "glass of water")]
    assert [countability(noun, MASS) for noun in nouns] == ["count", "mass", "only_plural", "only_plural", "count"]


def test_counted_name_is_replaceable_only_where_the_template_counts_anew():
    atoms = [graph_atom("object", "dog"), graph_atom("object", "dog")]
    model = caption_of("a dog and another dog", "dog", "dog")
    assert [is_replaceable(model, atoms, i) for i in (0, 1)] == [True, False]
    assert is_replaceable(write_template_caption(atoms, MASS), atoms, 1)


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("a man wearing a red hat", "a red hat"),
        ("men wearing red hat", "red hat"),
        ("a man wearing a very red hat", None),
        ("a man wearing his hat that is red", "his hat"),
        ("a man wearing a shiny hat and red", None),
    ],
)
def test_noun_phrase_starts_at_its_determiner(text, phrase):
    caption = caption_of(text, "men" if "men" in text else "man", "hat", "red", "wearing")
    found = phrase_start(caption, ATOMS, first_mention(caption, 1))
    assert (found and found[0]) == (text.index(phrase) if phrase else None)


def test_surface_of_an_object_is_its_head():
    caption = caption_of("a glass of water", "glass of water")
    assert with_surfaces(caption, [graph_atom("object", "glass", "glass of water")])[0]["surface"] == "glass"


def test_places_are_spliced_and_articles_agree():
    assert splice("a man and a dog", {(2, 5): "ox", (12, 15): "owl"}) == "an ox and an owl"
