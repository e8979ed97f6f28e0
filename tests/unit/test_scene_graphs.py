from collections import Counter

import numpy as np
import pytest

from crepebench.accounting import KEPT, READ, check_counts
from crepebench.boxes import clip_box, overlap, share_of_smaller, union_box
from crepebench.instances import NO_THINGS, SAME_OVERLAP, object_text
from crepebench.scene_graphs import Edge, Node, SceneGraph, build_scene_graph, relation_text

from .scene_rows import HERE, SIZE, THERE, draw_rows, object_row, relationship_row, unit_counts


def build(objects=(), relationships=(), counts=None):
    return build_scene_graph(objects, relationships, SIZE, unit_counts() if counts is None else counts)


def test_objects_are_nodes_and_relationships_edges():
    objects = [object_row(1, ["the fire hydrants"], ["red"]), object_row(2, ["street"], box=THERE)]
    graph = build(objects, [relationship_row(1, "is on the", (1, "hydrants", HERE), (2, "street", THERE))])
    hydrant, street = Node("fire hydrant", "fire hydrants", ("red",), HERE), Node("street", "street", (), THERE)
    assert graph.nodes == (hydrant, street)
    assert graph.edges == (Edge(0, "on", 1, "is on the"),)
    assert graph.edges_of == [list(graph.edges)] * 2


def test_ends_that_are_no_objects_are_nodes_of_their_own_name_and_box():
    man, hat = (71, "man", HERE), (72, "hat", THERE)
    rows = [relationship_row(1, "with", man, hat), relationship_row(2, "near", (1, "dog", THERE), man)]
    graph = build([object_row(1, ["dog"])], rows)
    assert [(node.name, node.box) for node in graph.nodes] == [("dog", HERE), ("man", HERE), ("hat", THERE)]
    assert [edge[:3] for edge in graph.edges] == [(1, "with", 2), (0, "near", 1)]


def test_ends_without_id_are_one_instance_where_name_and_box_agree():
    man, hat, dog = (None, "man", HERE), (None, "hat", THERE), (None, "dog", THERE)
    graph = build([], [relationship_row(1, "with", man, hat), relationship_row(2, "near", man, dog)])
    assert [node.name for node in graph.nodes] == ["man", "hat", "dog"]


@pytest.mark.parametrize(
    ("box", "n_nodes"),
    [((100, 100, 200, 100), 1), ((100, 100, 200, 99), 2), ((300, 100, 200, 200), 2), ((100, 100, 200, 200), 1)],
)
def test_boxes_of_one_name_are_one_instance_from_half_overlap_on(box, n_nodes):
    rows = [object_row(1, ["tree"], box=(100, 100, 200, 200)), object_row(2, ["trees"], box=box)]
    assert len(build(rows).nodes) == n_nodes


def test_instance_has_the_first_name_all_attributes_and_the_union_of_the_boxes():
    rows = [
        object_row(1, ["girl", "woman"], ["young"], (100, 100, 100, 100)),
        object_row(2, ["woman"], ["tall", "young"], (100, 110, 100, 100)),
        object_row(3, ["person", "woman"], [], (100, 120, 100, 100)),
        object_row(4, ["man"], [], (100, 110, 100, 100)),
    ]
    graph = build(rows)
    assert graph.nodes[0] == Node("girl", "girl", ("young", "tall"), (100, 100, 100, 120))
    assert [node.name for node in graph.nodes] == ["girl", "man"]


def test_union_that_comes_to_overlap_another_is_joined_with_it():
    boxes = [(0, 0, 100, 100), (0, 50, 100, 100), (0, 0, 100, 190), (0, 0, 100, 340)]
    for n_rows, n_nodes in ((2, 2), (3, 1), (4, 1)):
        graph = build([object_row(i, ["wall"], box=box) for i, box in enumerate(boxes[:n_rows])])
        assert len(graph.nodes) == n_nodes, n_rows


@pytest.mark.parametrize(
    ("names", "box", "reason"),
    [
        (['"walk"'], HERE, "name"),
        (["2"], HERE, "name"),
        (["background"], HERE, "name"),
        (["man"], (10, 10, 0, 50), "box_empty"),
        (["man"], (10, 10, 50, -5), "box_empty"),
        (["man"], (SIZE[0], 10, 50, 50), "box_outside_image"),
        (["man"], (-60, 10, 50, 50), "box_outside_image"),
    ],
)
def test_object_that_is_of_no_use_is_counted_with_its_relationships(names, box, reason):
    counts = unit_counts()
    graph = build(
        [object_row(1, names, box=box), object_row(2, ["hat"])],
        [relationship_row(1, "with", (1, "man", HERE), (2, "hat", HERE))],
        counts,
    )
    assert [node.name for node in graph.nodes] == ["hat"]
    assert counts["object"] == {READ: 2, reason: 1, "same_object": 0, KEPT: 1}
    assert counts["relationship"] == {READ: 1, "end_unusable": 1}


def test_end_without_box_is_of_no_use():
    counts = unit_counts()
    row = relationship_row(1, "with", (8, "man", (None,) * 4), (2, "hat", HERE))
    assert build([object_row(2, ["hat"])], [row], counts).edges == ()
    assert counts["object"]["box_empty"] == counts["relationship"]["end_unusable"] == 1


def test_second_name_serves_where_the_first_is_no_name():
    (node,) = build([object_row(1, ["#5", "a bus"])]).nodes
    assert (node.name, node.text) == ("bus", "bus")


def test_box_is_clipped_to_the_image():
    (node,) = build([object_row(1, ["bus"], box=(-10, 500, 2000, 200))]).nodes
    assert node.box == (0, 500, SIZE[0], SIZE[1] - 500)


@pytest.mark.parametrize(
    ("relation", "reason"),
    [
        (("-->", 1, 2), "predicate"),
        (("is a", 1, 2), "predicate"),
        (("has been", 1, 2), "predicate"),
        (("not on", 1, 2), "predicate"),
        (("without", 1, 2), "predicate"),
        (("on", 1, 1), "self_loop"),
        (("on", 1, 3), "self_loop"),
        (("is near", 1, 2), "repeated"),
        (("near", 3, 2), "repeated"),
    ],
)
def test_relationship_that_is_of_no_use_is_counted(relation, reason):
    predicate, *ends = relation
    objects = [object_row(1, ["man"]), object_row(2, ["dog"], box=THERE), object_row(3, ["man"])]
    known = {1: (1, "man", HERE), 2: (2, "dog", THERE), 3: (3, "man", HERE)}
    rows = [relationship_row(1, "near", known[1], known[2])]
    rows.append(relationship_row(2, predicate, *(known[end] for end in ends)))
    counts = unit_counts()
    assert [edge.predicate for edge in build(objects, rows, counts).edges] == ["near"]
    assert counts["relationship"] == {READ: 2, reason: 1, KEPT: 1}


@pytest.mark.parametrize(
    ("attribute", "reason"),
    [
        ("on", "no_adjective"),
        ("made of bricks", "no_adjective"),
        ('lit "walk"', "no_adjective"),
        ("many", "no_adjective"),
        ("not open", "no_adjective"),
        ("house", "in_name"),
        ("brick red", "in_name"),
        ("old", "repeated"),
        ("olden", "repeated"),
        ("black and white", KEPT),
        ("parked", KEPT),
    ],
)
def test_attribute_that_cannot_stand_before_the_name_is_counted(attribute, reason):
    counts = unit_counts()
    (node,) = build([object_row(1, ["brick houses"], ["old", attribute])], counts=counts).nodes
    assert node.attributes == (("old", attribute) if reason == KEPT else ("old",))
    assert counts["object_attribute"] == Counter([READ, READ, KEPT, reason])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("fire hydrants", "fire hydrant"),
        ("glass of water", "glass"),
        ("sunglasses", "sunglasses"),
        ("man's hands", "man's hand"),
        ("inside of cars", "inside"),
    ],
)
def test_normal_form_of_a_name(name, text):
    assert object_text(name) == text


@pytest.mark.parametrize(
    ("predicate", "text"),
    [("is wearing a", "wear"), ("on the left of", "to the left of"), ("has", "have"), ("parked on", "park on")],
)
def test_normal_form_of_a_predicate(predicate, text):
    assert relation_text(predicate) == text


def test_generated_graphs_do_not_depend_on_the_order_of_rows_and_count_every_row():
    n_merged = n_edges = 0
    for seed in range(400):
        rng = np.random.default_rng([seed, 1])
        objects, relationships = draw_rows(rng)
        counts, others = unit_counts(), unit_counts()
        graph = build(objects, relationships, counts)
        shuffled = [[rows[i] for i in rng.permutation(len(rows))] for rows in (objects, relationships)]
        assert build(*shuffled, others) == graph
        assert counts == others
        for unit, by_reason in counts.items():
            check_counts("test", unit, by_reason)
        assert counts["object"][KEPT] == len(graph.nodes)
        assert counts["object"][READ] >= len(objects)
        assert counts["relationship"][READ] == len(relationships)
        assert counts["relationship"][KEPT] == len(graph.edges)
        check_graph(graph)
        n_merged += counts["object"]["same_object"]
        n_edges += len(graph.edges)
    assert n_merged > 400
    assert n_edges > 2000


def check_graph(graph: SceneGraph) -> None:
    for i, node in enumerate(graph.nodes):
        assert node.name not in NO_THINGS
        assert clip_box(node.box, SIZE) == node.box
        assert len(set(node.attributes)) == len(node.attributes)
        same = [other for other in graph.nodes[:i] if other.text == node.text]
        assert all(overlap(node.box, other.box) < SAME_OVERLAP for other in same)
    assert len({edge[:3] for edge in graph.edges}) == len(graph.edges)
    for edge in graph.edges:
        assert edge.subject != edge.object
        assert edge.text
        assert {edge.subject, edge.object} <= set(range(len(graph.nodes)))


def test_arithmetic_on_boxes_agrees_with_pixels():
    rng = np.random.default_rng(0)
    for _ in range(300):
        first, second = (tuple(rng.integers(1, 12, 4).tolist()) for _ in range(2))
        masks = np.zeros((2, 30, 30), bool)
        for mask, (x, y, width, height) in zip(masks, (first, second), strict=True):
            mask[y : y + height, x : x + width] = True
        common = (masks[0] & masks[1]).sum()
        assert overlap(first, second) == common / (masks[0] | masks[1]).sum()
        assert share_of_smaller(first, second) == common / masks.sum(axis=(1, 2)).min()
        rows, columns = np.nonzero(masks.any(axis=0))
        expected = (columns.min(), rows.min(), np.ptp(columns) + 1, np.ptp(rows) + 1)
        assert union_box([first, second]) == expected
        inside = masks[0, :10, :8]
        clipped = clip_box(first, (8, 10))
        assert (clipped is None) == (not inside.any())
        if clipped is not None:
            assert clipped[2] * clipped[3] == inside.sum()
