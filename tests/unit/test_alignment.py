import pytest

from crepebench.accounting import KEPT, READ
from crepebench.alignment import Annotation, Thing, align
from crepebench.parsing import parse_texts


def thing(*names, attributes=()):
    return Thing(list(names), list(attributes))


def aligned(caption, things, relations=()):
    return align(caption, Annotation(list(things), list(relations)))


def shown(graph):
    return [(atom.kind, atom.text, atom.surface) for atom in graph.atoms]


def test_atoms_that_the_caption_names_are_found_at_their_places():
    caption = "two red jars standing on a wooden table"
    things = [thing("table", attributes=["wooden", "old"]), thing("jar", attributes=["red"]), thing("lamp")]
    graph, counts = aligned(caption, things, [(1, "stand on", 0), (2, "on", 0)])
    assert shown(graph) == [
        ("object", "jar", "jars"),
        ("object", "table", "table"),
        ("attribute", "red", "red"),
        ("relation", "stand on", "standing on"),
        ("attribute", "wooden", "wooden"),
    ]
    assert all(caption[atom.start : atom.end] == atom.surface for atom in graph.atoms)
    assert [str(compound) for compound in graph.compounds] == ["red jar", "jar stand on table", "wooden table"]
    assert counts == {READ: 8, KEPT: 5, "not_in_caption": 2, "end_not_in_caption": 1}


@pytest.mark.parametrize(
    ("caption", "subject", "relation", "object_"),
    [
        ("a red jar above a blue box", thing("jar", attributes=["red"]), "above", thing("box", attributes=["blue"])),
        ("a small cat sitting on the mat", thing("cat", attributes=["small"]), "sits on", thing("mat")),
        ("black dog near to a house", thing("dog", attributes=["black"]), "near to", thing("house")),
    ],
)
def test_full_annotation_gives_the_graph_of_the_parser(parser, caption, subject, relation, object_):
    (parsed,) = parse_texts([caption], parser)
    assert aligned(caption, [subject, object_], [(0, relation, 1)])[0] == parsed


@pytest.mark.parametrize(
    ("name", "caption", "surface"),
    [
        ("men", "a man", "man"),
        ("tennis racket", "her racket", "racket"),
        ("glass of water", "two glasses", "glasses"),
        ("t-shirt", "red t-shirt.", "t-shirt"),
        ("man", "the man's hat", "man"),
    ],
)
def test_object_is_found_by_its_noun_in_any_inflection(name, caption, surface):
    graph, _ = aligned(caption, [thing(name)])
    assert [atom.surface for atom in graph.atoms] == [surface]


def test_any_name_of_an_object_finds_it():
    assert shown(aligned("a man", [thing("guy", "man")])[0]) == [("object", "man", "man")]


def test_word_of_a_longer_name_is_no_object_of_its_own():
    graph, counts = aligned("a table lamp by the wall", [thing("table"), thing("table lamp"), thing("wall")])
    assert [atom.text for atom in graph.atoms] == ["lamp", "wall"]
    assert counts["not_in_caption"] == 1


def test_objects_of_one_name_take_its_mentions_in_their_order():
    things = [thing("man", attributes=["tall"]), thing("man", attributes=["short"])]
    graph, _ = aligned("tall man beside a short man", things, [(0, "beside", 1)])
    assert [(atom.text, atom.subject, atom.object) for atom in graph.atoms] == [
        ("man", -1, -1),
        ("man", -1, -1),
        ("tall", -1, 0),
        ("beside", 0, 1),
        ("short", -1, 1),
    ]


def test_more_objects_than_mentions_are_one_atom():
    things = [thing("man"), thing("man"), thing("hat")]
    graph, counts = aligned("a man in a hat", things, [(0, "in", 2), (1, "in", 2), (0, "in", 1)])
    assert [atom.text for atom in graph.atoms] == ["man", "hat", "in"]
    assert counts == {READ: 6, KEPT: 3, "repeated_atom": 2, "end_not_in_caption": 1}


@pytest.mark.parametrize("caption", ["a man in a red hat", "a hat and a red wooden man", "hat on man that is red"])
def test_attribute_is_given_to_the_noun_that_it_stands_by(caption):
    things = [thing("man", attributes=["red"]), thing("hat", attributes=["red"])]
    graph, counts = aligned(caption, things)
    owners = [graph.atoms[atom.object].text for atom in graph.atoms if atom.kind == "attribute"]
    assert owners == ["hat" if "red hat" in caption else "man"]
    assert counts["not_in_caption"] == 1


@pytest.mark.parametrize(
    ("caption", "is_said"),
    [
        ("the hat is red next to a man", True),
        ("a hat that is old and red", True),
        ("a red and old hat", True),
        ("a hat with red feathers", False),
        ("red feathers on a hat", False),
        ("the hat is covering red hair", False),
    ],
)
def test_attribute_stands_before_its_noun_or_after_a_copula(caption, is_said):
    graph, counts = aligned(caption, [thing("hat", attributes=["red"])])
    assert [atom.text for atom in graph.atoms] == (["hat", "red"] if is_said else ["hat"])
    assert counts["not_in_caption"] == (not is_said)


def test_joined_attributes_are_found_one_by_one():
    graph, _ = aligned("a black and white cow", [thing("cow", attributes=["white and black"])])
    assert [atom.text for atom in graph.atoms] == ["cow", "black", "white"]


@pytest.mark.parametrize(
    ("caption", "predicate", "text", "surface"),
    [
        ("a man wears a hat", "wearing a", "wear", "wears"),
        ("a man is on top of a hat", "on top of", "on top of", "on top of"),
        ("a man on a hat", "ON", "on", "on"),
        ("a man who has a red hat", "has", "have", "has"),
    ],
)
def test_relation_is_found_in_any_inflection_without_copula(caption, predicate, text, surface):
    graph, _ = aligned(caption, [thing("man"), thing("hat")], [(0, predicate, 1)])
    assert shown(graph)[2:] == [("relation", text, surface)]


@pytest.mark.parametrize("predicate", ["under", "hat", ""])
def test_relation_that_the_caption_does_not_name_is_left_out(predicate):
    graph, counts = aligned("a man with a dog on a hat", [thing("man"), thing("hat")], [(0, predicate, 1)])
    assert [atom.text for atom in graph.atoms] == ["man", "hat"]
    assert counts["not_in_caption"] == 1


def test_relation_whose_end_is_unknown_is_counted():
    graph, counts = aligned("a man on a hat", [thing("man")], [(0, "on", None)])
    assert [atom.text for atom in graph.atoms] == ["man"]
    assert counts == {READ: 2, KEPT: 1, "end_not_in_caption": 1}


@pytest.mark.parametrize("caption", ["", "...", "42"])
def test_caption_without_words_of_the_annotation_has_an_empty_graph(caption):
    assert aligned(caption, [thing("man", attributes=["tall"])])[0].atoms == []
