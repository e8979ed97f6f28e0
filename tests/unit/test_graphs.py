import csv

import pytest

from crepebench.graphs import (
    Atom,
    Compound,
    Graph,
    load_parser,
    parse_texts,
)
from crepebench.prepositions import MULTIWORD_PREPOSITIONS

COLOURS_AND_PLACES = [
    "a red jar to the left of a blue box",
    "two red jars hanging from a large hollow blue bucket",
    "The house is DIRTY",
    "a man holding an umbrella next to a dog",
    "vegetables ( broccoli , snap peas ) on a plate",
    "men sitting on a bench | photo",
    "a boy leaning against the wall - stock",
    "",
    "!!!",
]


def parse(text, parser):
    (graph,) = parse_texts([text], parser)
    return graph


def compounds_of(text, parser):
    return {str(compound) for compound in parse(text, parser).compounds}


@pytest.mark.parametrize(
    ("text", "compounds"),
    [
        ("a red jar to the left of a blue box", {"red jar", "jar to the left of box", "blue box"}),
        ("a red jar above a blue bucket", {"red jar", "jar above bucket", "blue bucket"}),
        ("a boy leaning against a wall", {"boy lean against wall"}),
        ("the pens are hanging from the brush", {"pen hang from brush"}),
        ("a man wearing a hat", {"man wear hat"}),
    ],
)
def test_caption_gives_its_compounds(parser, text, compounds):
    assert compounds_of(text, parser) == compounds


@pytest.mark.parametrize(
    ("text", "compounds"),
    [
        ("the house is dirty", {"dirty house"}),
        ("the sign is red and white", {"red sign", "white sign"}),
        ("a girl that is tall", {"tall girl"}),
        ("white house", {"white house"}),
        ("orange key", {"orange key"}),
        ("a red brick wall", {"red wall"}),
        ("a red brick paved sidewalk", {"red sidewalk", "paved sidewalk"}),
        ("a wooden picnic table", {"wooden table"}),
    ],
)
def test_attribute_belongs_to_its_noun(parser, text, compounds):
    assert compounds_of(text, parser) == compounds


def test_in_front_of_is_one_relation_without_an_object_front(parser):
    graph = parse("the chair is in front of the desk", parser)
    assert [(atom.kind, atom.text) for atom in graph.atoms] == [
        ("object", "chair"),
        ("object", "desk"),
        ("relation", "in front of"),
    ]


@pytest.mark.parametrize("preposition", sorted(set(MULTIWORD_PREPOSITIONS) - {"along with", "out of", "off of"}))
def test_preposition_of_several_words_is_one_relation(parser, preposition):
    graph = parse(f"a jar {preposition} a box", parser)
    assert [str(compound) for compound in graph.compounds] == [f"jar {preposition} box"]


@pytest.mark.parametrize(
    "spelling", ["to the left of", "on the left of", "left of", "to left of", "on the left side of"]
)
def test_spellings_of_a_preposition_have_one_normal_form(parser, spelling):
    assert compounds_of(f"a jar {spelling} a box", parser) == {"jar to the left of box"}


@pytest.mark.parametrize(
    ("text", "objects"),
    [
        ("the dog is not black", ["dog"]),
        ("a man not wearing a hat", ["man", "hat"]),
        ("a man never wearing a hat", ["man", "hat"]),
        ("a dog that is not black", ["dog"]),
        ("the cat is not on the table", ["cat", "table"]),
        ("the cat is not in front of the house", ["cat", "house"]),
        ("a street with no cars", ["street"]),
    ],
)
def test_what_is_said_to_be_absent_is_no_fact(parser, text, objects):
    graph = parse(text, parser)
    assert [atom.text for atom in graph.atoms] == objects
    assert graph.compounds == []


@pytest.mark.parametrize(
    ("text", "compounds"),
    [
        ("a man with a hat and a beard", {"man with hat", "man with beard"}),
        ("the boy is holding a kite and a ball", {"boy hold kite", "boy hold ball"}),
        ("pizza topped with cheese and tomatoes", {"pizza top with cheese", "pizza top with tomato"}),
        ("a cat next to cups and bowls", {"cat next to cup", "cat next to bowl"}),
        ("the jar is to the left of a box and a cup", {"jar to the left of box", "jar to the left of cup"}),
    ],
)
def test_relation_reaches_all_objects_joined_by_and(parser, text, compounds):
    assert compounds_of(text, parser) == compounds


def test_noun_right_behind_a_preposition_of_several_words_is_its_object(parser):
    assert "jar to the left of box" in compounds_of("the jar is to the left of a box and a cup", parser)


def test_attributes_of_two_men_are_not_mixed(parser):
    graph = parse("a tall man plays basketball and a fat man plays football", parser)
    men = [atom for atom in graph.atoms if atom.text == "man"]
    assert len(men) == 2
    assert {str(c) for c in graph.compounds} == {"tall man", "fat man", "man play basketball", "man play football"}
    tall, fat = (next(a for a in graph.atoms if a.text == text) for text in ("tall", "fat"))
    assert tall.object != fat.object


@pytest.mark.parametrize(
    "text",
    [
        "On the right there are grapes and some dry fruits in a glass on the plate",
        "Broccoli and meat in a large pot that is ready for serving.",
        "dog dog dog dog",
        "the the a of in on",
        "!!!",
        "",
    ],
)
def test_odd_text_gives_a_consistent_graph(parser, text):
    graph = parse(text, parser)
    for atom in graph.atoms:
        assert text.lower()[atom.start : atom.end] == atom.surface
        ends = (atom.subject, atom.object)
        wanted = {"object": (False, False), "attribute": (False, True), "relation": (True, True)}[atom.kind]
        assert tuple(end >= 0 for end in ends) == wanted
        assert all(graph.atoms[end].kind == "object" for end in ends if end >= 0)


@pytest.mark.parametrize("text", ["", "!!!", "12 34"])
def test_text_without_words_gives_an_empty_graph(parser, text):
    assert parse(text, parser).atoms == []


def test_spans_point_into_the_caption(parser):
    for text, graph in zip(COLOURS_AND_PLACES, parse_texts(COLOURS_AND_PLACES, parser), strict=True):
        assert [text.lower()[atom.start : atom.end] for atom in graph.atoms] == [atom.surface for atom in graph.atoms]


def test_graph_does_not_depend_on_the_texts_around_it(parser):
    together = list(parse_texts(COLOURS_AND_PLACES, parser))
    alone = [parse(text, parser) for text in reversed(COLOURS_AND_PLACES)][::-1]
    assert together == alone


def test_case_does_not_matter(parser):
    assert parse("A RED JAR ABOVE A BOX", parser) == parse("a red jar above a box", parser)


def test_objects_come_first_in_reading_order(parser):
    atoms = parse("a red jar above a blue box", parser).atoms
    assert [(atom.kind, atom.text) for atom in atoms] == [
        ("object", "jar"),
        ("object", "box"),
        ("attribute", "red"),
        ("relation", "above"),
        ("attribute", "blue"),
    ]


def test_compound_that_stands_twice_is_listed_once():
    atoms = [
        Atom("object", "jar", "jar", 0, 3),
        Atom("object", "jar", "jars", 8, 12),
        Atom("attribute", "red", "red", 4, 7, object=0),
        Atom("attribute", "red", "red", 13, 16, object=1),
    ]
    assert Graph(atoms).compounds == [Compound("attribute_object", "", "", "jar", "red")]


def test_pipeline_that_is_not_installed_is_refused():
    with pytest.raises(OSError, match="spaCy pipeline 'en_core_web_nowhere' is not installed: `pip install"):
        load_parser("en_core_web_nowhere")


def test_real_captions_are_parsed_without_a_crash(parser, shared_data):
    with open(shared_data / "factual_scene_graphs" / "factual_sg_half.csv", newline="", encoding="utf-8") as file:
        captions = [row["caption"] for row, _ in zip(csv.DictReader(file), range(1000), strict=False)]
    graphs = list(parse_texts(captions, parser))
    assert len(graphs) == len(captions) == 1000
    assert all(
        caption.lower()[atom.start : atom.end] == atom.surface
        for caption, graph in zip(captions, graphs, strict=True)
        for atom in graph.atoms
    )
    assert sum(bool(graph.atoms) for graph in graphs) > 950
    assert sum(bool(graph.compounds) for graph in graphs) > 800
