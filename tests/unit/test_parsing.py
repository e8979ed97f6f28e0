import csv
import logging
import random

import pytest

from crepebench.graphs import Atom, Compound, Graph
from crepebench.parsing import build_graph, load_parser, necessary_words, parse_texts
from crepebench.phrases import ALL
from crepebench.prepared_texts import prepare_text
from crepebench.prepositions import MULTIWORD_PREPOSITIONS, NORMAL_FORM_OF_WORDS

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


def parse(text, parser, **options):
    (graph,) = parse_texts([text], parser, **options)
    return graph


def compounds_of(text, parser, **options):
    return {str(compound) for compound in parse(text, parser, **options).compounds}


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


def test_graphs_are_those_of_the_full_pipeline(parser):
    import spacy

    full = spacy.load(parser.meta["lang"] + "_" + parser.meta["name"])
    for text, graph in zip(COLOURS_AND_PLACES, parse_texts(COLOURS_AND_PLACES, parser), strict=True):
        ready, offset = prepare_text(text)
        assert build_graph(full(ready), offset=offset) == graph


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


# What the rules read


@pytest.mark.parametrize(
    ("text", "compounds"),
    [
        ("a man and a woman sitting on a bench", {"man sit on bench", "woman sit on bench"}),
        ("dog and cat on sofa", {"dog on sofa", "cat on sofa"}),
        ("a cat next to a dog and a bird", {"cat next to dog", "cat next to bird"}),
        ("a man with a hat and a woman with a bag", {"man with hat", "woman with bag"}),
        ("the man and the woman are happy", {"happy man", "happy woman"}),
    ],
)
def test_and_joins_subjects_and_objects(parser, text, compounds):
    assert compounds_of(text, parser) == compounds


@pytest.mark.parametrize(
    ("text", "compounds"),
    [
        ("the woman's red hat", {"woman have hat", "red hat"}),
        ("a house with a roof", {"house with roof"}),
        ("the roof of the house", {"roof of house"}),
        ("a man walking down the street", {"man walk down street"}),
        ("the keyboard is green on the laptop", {"green keyboard", "keyboard on laptop"}),
        ("a boy flying a kite on the beach", {"boy fly kite", "boy on beach"}),
        ("a basket full of apples", {"basket full of apple"}),
        ("boy holding pizza", {"boy hold pizza"}),
    ],
)
def test_relations_of_possessives_particles_and_adjectives(parser, text, compounds):
    assert compounds_of(text, parser) == compounds


@pytest.mark.parametrize(
    ("text", "compounds"),
    [
        ("the wooden bench the lady is sitting on", {"wooden bench", "lady sit on bench"}),
        ("the blue shirt the player is wearing", {"blue shirt", "player wear shirt"}),
        ("a girl who is wearing a pink dress", {"girl wear dress", "pink dress"}),
        ("the rock that the animal is leaning on", {"animal lean on rock"}),
    ],
)
def test_relative_clause_speaks_of_the_noun_that_it_describes(parser, text, compounds):
    assert compounds_of(text, parser) == compounds


@pytest.mark.parametrize(
    ("text", "objects"),
    [
        ("a group of people on the beach", ["people", "beach"]),
        ("a pair of brown shoes", ["shoe"]),
        ("a bunch of bananas and apples", ["banana", "apple"]),
        ("a cup of coffee", ["cup", "coffee"]),
        ("a group", ["group"]),
        ("stop sign on a pole", ["sign", "pole"]),
        ("man on skateboard", ["man", "skateboard"]),
        ("leaves on the ground", ["leaf", "ground"]),
        ("a man surfs in the ocean", ["man", "ocean"]),
        ("a woman in white", ["woman"]),
        ("a jar on the left", ["jar"]),
    ],
)
def test_objects_are_what_the_text_shows(parser, text, objects):
    assert [atom.text for atom in parse(text, parser).atoms if atom.kind == "object"] == objects


@pytest.mark.parametrize(
    ("text", "under_adjectives", "under_all"),
    [
        ("two parked cars", set(), {"two car", "parked car"}),
        ("a metal pole", set(), {"metal pole"}),
        ("a slice of pizza", set(), {"slice pizza"}),
        ("the cheese is melted", set(), {"melted cheese"}),
        ("a large group of dogs", set(), {"group dog"}),
        ("many small dogs", {"small dog"}, {"small dog"}),
        ("a dark blue suitcase", {"blue suitcase"}, {"blue suitcase"}),
        ("a hot dog", set(), set()),
        ("one leather bag", set(), {"leather bag"}),
    ],
)
def test_rule_for_attributes_is_chosen(parser, text, under_adjectives, under_all):
    assert compounds_of(text, parser) == under_adjectives
    assert compounds_of(text, parser, attributes=ALL) == under_all


@pytest.mark.parametrize(
    "text",
    ["IMG_2043.jpg #sunset http://t.co/x1 @user", "1920x1080 50% 3d", "seen+%26amp%3B+drawn", "$9.99 :-) www.shop.com"],
)
def test_what_is_no_word_is_no_atom(parser, text):
    assert parse(text, parser, attributes=ALL).atoms == []


def test_several_sentences_give_one_graph(parser):
    graph = parse("A dog runs. A cat sleeps on the sofa.", parser)
    assert [atom.text for atom in graph.atoms] == ["dog", "cat", "sofa", "sleep on"]


def test_long_text_is_read_to_its_end(parser):
    text = "a red jar on a table, " * 40 + "and a zebra"
    graph = parse(text, parser)
    assert graph.atoms[-1].end <= len(text)
    assert "zebra" in [atom.text for atom in graph.atoms]
    assert sum(atom.text == "jar" for atom in graph.atoms) == 40


# Many texts


def test_words_are_forgotten_after_a_chunk(parser, monkeypatch):
    monkeypatch.setattr("crepebench.parsing.CHUNK_SIZE", 100)
    rng = random.Random(1)
    texts = [" ".join("".join(rng.choices("abcdefgh", k=9)) for _ in range(5)) for _ in range(1000)]
    n_strings, n_words = len(parser.vocab.strings), len(list(parser.vocab))
    assert sum(1 for _ in parse_texts(texts, parser)) == 1000
    assert len(parser.vocab.strings) == n_strings
    assert len(list(parser.vocab)) == n_words


def test_two_streams_of_one_parser_do_not_disturb_each_other(parser):
    first, second = parse_texts(COLOURS_AND_PLACES, parser), parse_texts(COLOURS_AND_PLACES, parser)
    assert [(a, b) for a, b in zip(first, second, strict=True) if a != b] == []


def test_text_that_makes_a_rule_crash_gives_an_empty_graph(parser, monkeypatch, caplog):
    def crash(doc, *options):
        if "bomb" in doc.text:
            raise IndexError("no such word")
        return build_graph(doc, *options)

    monkeypatch.setattr("crepebench.parsing.build_graph", crash)
    with caplog.at_level(logging.WARNING):
        graphs = list(parse_texts(["a red jar", "a bomb", "a blue box"], parser))
    assert [graph.failed for graph in graphs] == [False, True, False]
    assert [len(graph.atoms) for graph in graphs] == [2, 0, 2]
    assert "parsing failed: 'a bomb': IndexError('no such word')" in caplog.text


def test_many_texts_that_fail_are_an_error_of_the_code(parser, monkeypatch):
    def crash(doc, *options):
        raise NameError("no such rule")

    monkeypatch.setattr("crepebench.parsing.build_graph", crash)
    assert all(graph.failed for graph in parse_texts(["a red jar"] * 10, parser))
    with pytest.raises(RuntimeError, match="11 of 11 texts cannot be parsed"):
        list(parse_texts(["a red jar"] * 11, parser))


def test_text_that_spacy_refuses_gives_an_empty_graph(parser):
    graphs = list(parse_texts(["a red jar", "dog " * 300_000, "a blue box"], parser))
    assert [(graph.failed, len(graph.atoms)) for graph in graphs] == [(False, 2), (True, 0), (False, 2)]


@pytest.mark.parametrize(
    ("relation", "groups"),
    [
        ("look up at", [{"look"}, {"up"}, {"at"}]),
        ("on", [{"on"}]),
        ("to the left of", [{"left"}, {"of"}]),
        ("in the middle of", [{"of"}, {"middle", "center", "centre"}]),
        ("stand on top of", [{"stand"}, {"of"}, {"on"}, {"top"}]),
        ("have", [{"have", "'s", "’s", "'", "’"}]),
        ("have on", [{"have"}, {"on"}]),
    ],
)
def test_relation_needs_words(relation, groups):
    assert [set(group) for group in necessary_words(relation)] == groups


@pytest.mark.parametrize("spelling", sorted(" ".join(words) for words in NORMAL_FORM_OF_WORDS))
def test_every_spelling_of_a_preposition_holds_its_necessary_words(spelling):
    words = set(spelling.split())
    assert all(group & words for group in necessary_words(NORMAL_FORM_OF_WORDS[tuple(spelling.split())]))


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
