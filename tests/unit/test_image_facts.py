import pytest

from crepebench.image_facts import collect_facts, head_noun, normal_relation
from crepebench.parsing import parse_texts
from crepebench.region_parsing import graph_row

from .foil_rows import object_row, relationship_row


@pytest.mark.parametrize(
    ("name", "noun"),
    [
        ("jars", "jar"),
        ("street light", "light"),
        ("men", "man"),
        ("wine glasses", "glass"),
        ("jar", "jar"),
        ("glass of water", "glass"),
        ("wine glasses on the table", "glass"),
        ("man in front of house", "man"),
        ("pants", "pants"),
        ("inside", "inside"),
    ],
)
def test_head_noun_is_what_the_parser_gives(name, noun):
    assert head_noun(name) == noun


@pytest.mark.parametrize(
    ("predicate", "relation"),
    [
        ("is ON", "on"),
        ("are standing on", "stand on"),
        ("sitting on top of", "sit on top of"),
        ("on the left side of", "to the left of"),
        ("WEARING", "wear"),
        ("has", "have"),
        ("next to", "next to"),
        ("wearing a", "wear"),
        ("on the", "on"),
        ("is", "be"),
    ],
)
def test_predicate_has_the_parsers_normal_form(predicate, relation):
    assert normal_relation(predicate) == relation


@pytest.mark.parametrize("predicate", ["above", "to the left of", "on top of", "hanging from", "leaning against"])
def test_predicate_in_a_caption_has_the_same_normal_form(parser, predicate):
    (graph,) = parse_texts([f"a jar {predicate} a box"], parser)
    assert [atom.text for atom in graph.atoms if atom.kind == "relation"] == [normal_relation(predicate)]


def test_facts_hold_all_names_whole_and_head(parser):
    facts = collect_facts([object_row(1, ["street lights", "lamp"])], [], [])[9]
    assert facts.kinds == {"street lights", "light", "lamp"}


def test_facts_hold_attributes_under_every_name():
    objects = [object_row(1, ["taxi", "cab"], ["yellow"], ["cab.n.03"]), object_row(2, ["taxi"], ["red"])]
    facts = collect_facts(objects, [], [])[9]
    assert facts.attributes == {"taxi": {"yellow", "red"}, "cab": {"yellow"}}
    assert facts.synsets == {"taxi": ["cab.n.03"], "cab": ["cab.n.03"]}


def test_facts_hold_all_synsets_in_the_order_of_the_objects():
    objects = [
        object_row(1, ["plate"], synsets=["plate.n.04", "dish.n.01"]),
        object_row(2, ["plates"], synsets=["plate.n.02"]),
    ]
    facts = collect_facts(objects, [], [])[9]
    assert facts.synsets == {
        "plate": ["plate.n.04", "dish.n.01", "plate.n.02"],
        "plates": ["plate.n.02"],
    }


def test_attribute_of_several_words_counts_word_by_word_too():
    facts = collect_facts([object_row(1, ["dog"], ["black and white", "small"])], [], [])[9]
    assert facts.attributes == {"dog": {"black and white", "black", "and", "white", "small"}}


def test_facts_hold_triples_in_normal_form():
    facts = collect_facts([], [relationship_row("two men", "ARE SITTING ON", "park bench")], [])[9]
    assert facts.triples == {("man", "sit on", "bench")}


def test_facts_hold_what_every_region_says(parser):
    graphs = [
        graph_row({"region_id": i, "image_id": 9}, graph)
        for i, graph in enumerate(parse_texts(["a red jar above a box", "lamp"], parser))
    ]
    facts = collect_facts([], [], graphs)[9]
    assert facts.kinds == {"jar", "box", "lamp"}
    assert facts.attributes["jar"] == {"red"}
    assert facts.triples == {("jar", "above", "box")}


def test_facts_of_images_stay_apart():
    facts = collect_facts([object_row(1, ["jar"], image_id=1), object_row(2, ["box"], image_id=2)], [], [])
    assert (facts[1].kinds, facts[2].kinds) == ({"jar"}, {"box"})


def description(phrase, image_id=9):
    return {"image_id": image_id, "phrase": phrase}


def test_words_of_all_descriptions_are_mentioned():
    facts = collect_facts([], [], [], [description("Two dogs near the Car")])
    assert facts[9].mentioned >= {"dog", "dogs", "car", "near"}


def test_attributes_in_an_unparsed_description_are_facts_of_the_noun_behind_them():
    descriptions = [description("a man in large red shoes"), description("the house is white")]
    facts = collect_facts([], [], [], descriptions)[9]
    assert {"large", "red"} <= facts.attributes["shoe"]
    assert not {"man", "in"} & facts.attributes["shoe"]
    assert "white" in facts.attributes["house"]
