import pytest

from crepebench.caption_edits import with_surfaces
from crepebench.captions import write_template_caption
from crepebench.fact_checks import FactChecker, with_graph
from crepebench.side_facts import SideFactFinder

from .foil_rows import pool_of
from .subgraph_rows import CROP, graph_atom, graph_facts

ATOMS = [
    graph_atom("object", "jar", box=(10, 10, 50, 50)),
    graph_atom("object", "box", "boxes", box=(10, 100, 50, 50)),
    graph_atom("relation", "above", subject=0, object_=1),
    graph_atom("attribute", "red", object_=0),
]


@pytest.fixture
def find(finder, tables):
    """Finds what is true beside "a red jar above boxes", by the words that are denied."""

    def find(*boxes, attributes=(), crop=CROP):
        facts = graph_facts(ATOMS, [name for name, _ in boxes])
        for name, box in boxes:
            facts.boxes[name].add(box)
        for attribute, name in attributes:
            facts.attributes[name].add(attribute)
            facts.annotated[name].add(attribute)
        caption = write_template_caption(ATOMS, tables.mass_nouns)
        facts = with_graph(facts, ATOMS)
        side_facts = SideFactFinder(finder, FactChecker(finder, tables), tables, pool_of())
        found = side_facts.find(caption, with_surfaces(caption, ATOMS), facts, crop)
        return {fact.text: fact for fact in found}

    return find


def test_objects_in_the_crop_that_the_caption_does_not_name_are_found(find):
    found = find(("taxi", (200, 200, 40, 40)), ("couch", (380, 380, 100, 100)))  # the middle of the couch is outside
    assert set(found) == {"taxi"}
    assert found["taxi"].deny("church") == "there is no church"
    assert {candidate.text for candidate in found["taxi"].candidates}.isdisjoint({"taxi", "car", "vehicle", "box"})


def test_objects_that_may_go_by_a_name_of_the_caption_are_not(find):
    assert not find(("jar", (200, 200, 40, 40)))


def test_attributes_of_another_group_than_said_ones_are_found(find):
    found = find(attributes=[("blue", "jar"), ("large", "jar"), ("purple", "box")])
    assert set(found) == {"large", "purple"}
    assert found["large"].deny("small") == "the jar is not small"
    assert found["purple"].deny("green") == "the boxes are not green"
    assert {candidate.text for candidate in found["large"].candidates}.isdisjoint({"large", "big", "tall"})


def test_attributes_of_an_object_that_may_be_another_are_not(find):
    assert not find(("jar", (300, 300, 40, 40)), attributes=[("large", "jar")])


def test_two_spellings_of_a_colour_are_one(find):
    assert list(find(attributes=[("grey", "box"), ("gray", "box")])) == ["gray"]


def test_words_that_are_in_no_table_are_no_attributes(find):
    assert not find(attributes=[("hanging", "jar")])
