import pytest

from crepebench.captions import write_template_caption
from crepebench.negations import Slot, contradict, negate, slots

from .subgraph_rows import caption_of, graph_atom

ATOMS = [
    graph_atom("object", "jar"),
    graph_atom("object", "box"),
    graph_atom("object", "fan", "fans"),
    graph_atom("attribute", "orange", object_=0),
    graph_atom("relation", "above", subject=0, object_=1),
]
PEOPLE = [
    graph_atom("object", "man"),
    graph_atom("object", "hat"),
    graph_atom("object", "dog"),
    graph_atom("relation", "wear", "wearing", subject=0, object_=1),
    graph_atom("relation", "have", "has", subject=0, object_=2),
    graph_atom("relation", "under", "under", subject=2, object_=0),
    graph_atom("attribute", "big", object_=2),
    graph_atom("attribute", "black", object_=2),
]


def negated(atoms, index, text="", *words):
    caption = caption_of(text, *words) if text else write_template_caption(atoms, ())
    return negate(caption, atoms, Slot(atoms[index]["kind"], index))


def test_every_atom_and_the_whole_is_a_slot():
    assert slots(ATOMS[3:4]) == [("whole", -1), ("attribute", 0)]


@pytest.mark.parametrize(
    ("index", "text"),
    [
        (0, "something orange above a box. there are fans. there is no jar"),
        (1, "an orange jar above something. there are fans. there is no box"),
        (2, "an orange jar above a box. there are no fans"),
        (3, "a jar that is not orange above a box. there are fans"),
        (4, "an orange jar not above a box. there are fans"),
    ],
)
def test_forms_of_a_template(index, text):
    assert negated(ATOMS, index) == text


@pytest.mark.parametrize(
    ("index", "text"),
    [
        (0, "something wearing a hat. something with a big black dog. the dog under something. there is no man"),
        (1, "a man wearing something. the man with a big black dog. the dog under the man. there is no hat"),
        (2, "a man wearing a hat. the man with something big and black. something under the man. there is no dog"),
        (3, "a man not wearing a hat. the man with a big black dog. the dog under the man"),
        (4, "a man wearing a hat. the man without a big black dog. the dog under the man"),
        (5, "a man wearing a hat. the man with a big black dog. the dog not under the man"),
        (6, "a man wearing a hat. the man with a black dog that is not big. the dog under the man"),
        (7, "a man wearing a hat. the man with a big dog that is not black. the dog under the man"),
    ],
)
def test_forms_with_people(index, text):
    assert negated(PEOPLE, index) == text


def test_whole_stands_under_one_negation():
    caption = write_template_caption(ATOMS, ())
    text = "the following is not true: an orange jar above a box. there are fans"
    assert negate(caption, ATOMS, Slot("whole", -1)) == text


def test_contradiction_denies_what_it_affirms():
    caption = write_template_caption(ATOMS, ())
    assert contradict(caption, ATOMS, 2) == "an orange jar above a box. there are fans. there are no fans"


WEARING = [PEOPLE[0], PEOPLE[1], graph_atom("relation", "wear", "wearing", subject=0, object_=1)]


@pytest.mark.parametrize(
    ("text", "words", "denied"),
    [
        ("a man wears a hat", "wears", "a man does not wear a hat"),
        ("a man is wearing a hat", "wearing", "a man is not wearing a hat"),
        ("a man wore a hat", "wore", "a man did not wear a hat"),
        ("a man is in a hat", "is in", "a man is not in a hat"),
        ("a man with a hat", "with", "a man without a hat"),
        ("a hat of a man", "of", None),
    ],
)
def test_verbs_of_a_model_are_negated_as_they_stand(text, words, denied):
    assert negated(WEARING, 2, text, "man", "hat", words) == denied


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("a hat on the red chair", "a hat on the chair that is not red"),
        ("a hat on a chair that is red", "a hat on a chair that is not red"),
        ("the chair is red under a hat", "the chair is not red under a hat"),
        ("a hat on a chair painted red", None),
    ],
)
def test_attributes_of_a_model_are_negated_before_and_behind_the_noun(text, denied):
    atoms = [graph_atom("object", "hat"), graph_atom("object", "chair"), graph_atom("attribute", "red", object_=1)]
    assert negated(atoms, 2, text, "hat", "chair", "red") == denied


def test_name_that_is_counted_is_not_denied():
    atoms = [graph_atom("object", "man"), graph_atom("object", "man")]
    assert negated(atoms, 1) is None


def test_object_with_a_number_is_not_denied():
    atoms = [graph_atom("object", "man", "men"), graph_atom("attribute", "two", object_=0)]
    assert negated(atoms, 0) is None
    assert negated(atoms, 1) is None


def test_object_behind_unknown_words_is_not_denied():
    assert negated(WEARING, 1, "a man wearing a shiny hat", "man", "hat", "wearing") is None


def test_plural_that_a_sentence_agrees_with_is_not_denied():
    atoms = [graph_atom("object", "man", "men"), PEOPLE[1], graph_atom("relation", "wear", subject=0, object_=1)]
    assert negated(atoms, 0, "men are wearing a hat", "men", "hat", "wearing") is None
