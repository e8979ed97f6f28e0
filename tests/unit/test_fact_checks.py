import pytest

from crepebench.fact_checks import FactChecker, Rule, boxes_allow, is_placed, is_same_thing, rule_of, with_graph
from crepebench.swaps import move_atoms

from .foil_rows import facts_of
from .subgraph_rows import CROP, graph_atom, graph_facts

UPPER, LOWER, ASIDE = (0, 0, 50, 50), (0, 40, 50, 50), (200, 0, 50, 50)


@pytest.fixture(scope="module")
def checker(finder, tables):
    return FactChecker(finder, tables)


def adds_false_fact(checker, atoms, move, facts=None):
    affirmed = [i for i, atom in enumerate(atoms) if atom["kind"] != "object"]
    return checker.has_false_fact(atoms, move_atoms(atoms, move), facts or graph_facts(atoms), affirmed)


def two_and(relation, first="man", second="hat", boxes=(UPPER, LOWER)):
    """Two objects and what joins them."""
    return [
        graph_atom("object", first, box=boxes[0]),
        graph_atom("object", second, box=boxes[1]),
        graph_atom("relation", relation, subject=0, object_=1),
    ]


@pytest.mark.parametrize(
    ("relation", "rule"),
    [
        *(("above", Rule.HIGHER), ("stand under", Rule.LOWER), ("to the left of", Rule.LEFT), ("wear", Rule.TOUCHING)),
        *(("sit next to", Rule.ALWAYS), ("stand in front of", Rule.SAME_COLUMNS), ("look at", Rule.ALWAYS)),
        *(("hang on", Rule.TOUCHING), ("have", Rule.ALWAYS), ("on top of", Rule.HIGHER)),
    ],
)
def test_relation_has_the_rule_of_what_it_ends_in(relation, rule):
    assert rule_of(relation) is rule


@pytest.mark.parametrize(
    ("relation", "boxes", "allowed"),
    [
        *(("above", (UPPER, LOWER), True), ("above", (LOWER, UPPER), False), ("below", (LOWER, UPPER), True)),
        *(("to the left of", (UPPER, ASIDE), True), ("to the right of", (UPPER, ASIDE), False)),
        *(("wear", (UPPER, LOWER), True), ("wear", (UPPER, ASIDE), False), ("behind", (UPPER, ASIDE), False)),
        *(("behind", (UPPER, LOWER), True), ("near", (UPPER, ASIDE), True), ("above", ((None,) * 4, ASIDE), True)),
    ],
)
def test_boxes_exclude_what_they_cannot_show(relation, boxes, allowed):
    ends = (graph_atom("object", "jar", box=box) for box in boxes)
    assert boxes_allow(relation, *ends) == allowed


@pytest.mark.parametrize("relation", ["wear", "above", "on", "hold", "behind"])
def test_relation_turned_round_is_false(checker, relation):
    assert adds_false_fact(checker, two_and(relation), {0: 1, 1: 0})


@pytest.mark.parametrize("relation", ["near", "next to", "with", "have", "stand beside"])
def test_relation_that_holds_both_ways_is_not_false_turned_round(checker, relation):
    assert not adds_false_fact(checker, two_and(relation), {0: 1, 1: 0})


def test_turned_relation_that_annotators_gave_is_not_false(checker):
    atoms = two_and("above", "jar", "box")
    facts = graph_facts(atoms)
    facts.triples.add(("box", "above", "jar"))
    assert not adds_false_fact(checker, atoms, {0: 1, 1: 0}, facts)


def test_turned_relation_that_holds_under_another_name_is_not_false(checker):
    atoms = two_and("above", "jar", "taxi")
    facts = graph_facts(atoms)
    facts.kinds.add("car")
    facts.triples.add(("jar", "below", "car"))
    assert not adds_false_fact(checker, atoms, {0: 1, 1: 0}, facts)


def test_relation_of_two_others_is_false_only_where_boxes_exclude_it(checker):
    def atoms_with(box):
        man_with_hat = two_and("wear", boxes=(UPPER, UPPER))
        return [*man_with_hat[:2], graph_atom("object", "scarf", box=box), *man_with_hat[2:]]

    assert not adds_false_fact(checker, atoms_with(UPPER), {1: 2, 2: 1})
    assert adds_false_fact(checker, atoms_with(ASIDE), {1: 2, 2: 1})


def test_contrasting_relation_of_the_same_two_is_false(checker):
    atoms = [*two_and("behind", "jar", "box"), graph_atom("relation", "in front of", subject=1, object_=0)]
    assert adds_false_fact(checker, atoms, {2: 3, 3: 2})


def test_relations_that_change_places_between_the_same_ends_add_no_false_fact(checker):
    atoms = [*two_and("near", "jar", "box"), graph_atom("relation", "beside", subject=0, object_=1)]
    assert not adds_false_fact(checker, atoms, {2: 3, 3: 2})


@pytest.mark.parametrize(
    ("known", "is_false"), [([("red", "jar"), ("blue", "box")], True), ([("red", "jar"), ("big", "box")], False)]
)
def test_colour_is_false_of_what_has_another_one(checker, known, is_false):
    atoms = [graph_atom("object", "jar"), graph_atom("object", "box"), graph_atom("attribute", "red", object_=0)]
    assert adds_false_fact(checker, atoms, {0: 1, 1: 0}, facts_of(["jar", "box"], known)) == is_false


def test_colour_that_an_object_has_beside_another_is_not_false(checker):
    atoms = [
        *(graph_atom("object", "jar"), graph_atom("object", "box")),
        *(graph_atom("attribute", "red", object_=0), graph_atom("attribute", "blue", object_=1)),
    ]
    facts = facts_of(["jar", "box"], [("red", "jar"), ("blue", "jar"), ("red", "box"), ("blue", "box")])
    assert not adds_false_fact(checker, atoms, {2: 3, 3: 2}, facts)
    assert adds_false_fact(checker, atoms, {2: 3, 3: 2}, graph_facts(atoms))


def test_what_the_caption_does_not_affirm_is_not_asked(checker):
    atoms = two_and("wear")
    moved = move_atoms(atoms, {0: 1, 1: 0})
    assert not checker.has_false_fact(atoms, moved, graph_facts(atoms), affirmed=[])


def test_object_is_alone_unless_the_crop_shows_another_of_its_name(checker):
    jar, facts = graph_atom("object", "jar", box=UPPER), facts_of(["jar"])
    for box, alone in ((UPPER, True), ((0, 0, 48, 48), True), ((900, 900, 50, 50), True), (ASIDE, False)):
        facts.boxes["jar"].add(box)
        assert checker.is_alone(jar, facts, CROP) == alone


def test_boxes_of_one_thing_share_half_of_their_union():
    boxes = [graph_atom("object", "jar", box=box) for box in ((0, 0, 100, 10), (0, 0, 50, 10), (0, 0, 49, 10))]
    assert (is_same_thing(*boxes[:2]), is_same_thing(boxes[0], boxes[2])) == (True, False)


def test_facts_are_joined_with_those_of_the_graph_by_its_names():
    atoms = [*two_and("wear", "teddy bear", "hat"), graph_atom("attribute", "brown", object_=0)]
    facts = facts_of(["bear"], [("big", "bear")], [("bear", "near", "couch"), ("cat", "on", "mat")])
    joined = with_graph(facts, atoms)
    assert joined.triples == {*facts.triples, ("teddy bear", "near", "couch"), ("teddy bear", "wear", "hat")}
    assert joined.attributes == {"bear": {"big"}, "teddy bear": {"brown"}}
    assert joined.kinds == {"bear", "teddy bear", "hat"}
    assert len(facts.triples) == 2 and len(facts.attributes) == 1


@pytest.mark.parametrize(
    ("relation", "is_so"), [("under", True), ("to the left of", False), ("above", False), ("behind", False)]
)
def test_boxes_alone_show_what_is_under_or_beside_something(relation, is_so):
    keyboard = {"x": 10, "y": 80, "width": 40, "height": 10}
    monitor = {"x": 10, "y": 20, "width": 40, "height": 40}
    assert is_placed(relation, keyboard, monitor) == is_so
    assert not is_placed(relation, {**keyboard, "x": None, "y": None}, monitor)
