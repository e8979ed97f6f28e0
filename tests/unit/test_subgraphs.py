import csv
import json
from collections import Counter, defaultdict
from itertools import permutations

import numpy as np
import polars as pl
import pytest

from crepebench.accounting import KEPT, READ
from crepebench.boxes import overlap, union_box
from crepebench.graphs import ATTRIBUTE, OBJECT, RELATION
from crepebench.hashed_draws import draw_ids
from crepebench.regions import filter_regions
from crepebench.scene_graphs import Edge, Node, SceneGraph, build_scene_graph
from crepebench.schema import IMAGES, OBJECTS, RELATIONSHIPS, SUBGRAPHS, read_table, write_table
from crepebench.subgraph_parts import filter_subgraphs, sample_subgraphs_of_part
from crepebench.subgraphs import (
    COCO_IMAGE,
    CROP_BOUNDS,
    MOST_SWAPS,
    OVERLAP,
    TOO_FEW_ATOMS,
    count_swaps,
    is_crop,
    sample_subgraphs,
    subgraph_id,
)
from crepebench.visual_genome import ANNOTATIONS, write_visual_genome
from crepebench.walks import MOST_COMPONENTS, walk
from icons_world.visual_genome import annotations, draw_image
from icons_world.world import read_world

from .scene_rows import SIZE, draw_rows, image_row, unit_counts

COMPLEXITIES = range(4, 13)
BOX = ("x", "y", "width", "height")
PRODUCTIVITY = {
    "complexities": list(COMPLEXITIES),
    "seed": 1,
    "tries": 20,
    "max_per_image": 1,
    "max_overlap": 0.75,
    "attribute_share": 0.4,
    "n_foils": 5,
}
REGIONS = {"min_area": 40000, "min_image_share": 0.1, "min_aspect": 0.5, "max_aspect": 2.0, "exclude_coco": False}
ANY_CROP = {"min_area": 0, "min_image_share": 0, "min_aspect": 0, "max_aspect": 10_000}
N_GENERATED = 2000
"""Generated images, each with one complexity."""


def config_of(regions=REGIONS, **productivity):
    return {"productivity": {**PRODUCTIVITY, **productivity}, "regions": {**REGIONS, **regions}}


def sample(graph, complexity, seed=1, image=None, **others):
    rng = np.random.default_rng([seed, complexity])
    return sample_subgraphs(graph, image or image_row(), complexity, config_of(**others), rng)


def kept(results):
    return [row for row in results if not isinstance(row, str)]


def atoms_of_kind(row, kind):
    return [atom for atom in row["atoms"] if atom["kind"] == kind]


def box_of(row):
    return tuple(row[key] for key in BOX)


def node(name, box=(0, 0, 400, 400), attributes=()):
    return Node(name, name, tuple(attributes), box)


def spread(*names, attributes=()):
    """Returns nodes whose boxes overlap little."""
    return tuple(node(name, (60 * i, 40 * i, 300, 200), attributes) for i, name in enumerate(names))


# Properties of generated graphs


@pytest.fixture(scope="module")
def generated():
    """Graphs of generated images, and what is sampled from each."""
    found = []
    for seed in range(N_GENERATED):
        rng = np.random.default_rng([seed, 2])
        graph = build_scene_graph(*draw_rows(rng), SIZE, unit_counts())
        complexity = COMPLEXITIES[seed % len(COMPLEXITIES)]
        n_wanted = 1 + seed % 3
        found.append((graph, complexity, sample(graph, complexity, seed, max_per_image=n_wanted)))
        assert len(found[-1][2]) == n_wanted
    return found


def test_generated_graphs_give_many_subgraphs_and_every_reason(generated):
    reasons = Counter(result if isinstance(result, str) else KEPT for _, _, found in generated for result in found)
    assert reasons[KEPT] > N_GENERATED
    assert min(reasons[reason] for reason in (TOO_FEW_ATOMS, CROP_BOUNDS, OVERLAP)) > 20


def test_atoms_are_as_many_as_asked_for_and_counted_by_kind(generated):
    for _, complexity, found in generated:
        for row in kept(found):
            sizes = [len(atoms_of_kind(row, kind)) for kind in (OBJECT, RELATION, ATTRIBUTE)]
            assert sum(sizes) == len(row["atoms"]) == row["complexity"] == complexity
            assert sizes == [row["n_objects"], row["n_relations"], row["n_attributes"]]
            assert row["shape"] == "{}o+{}r+{}A in {}".format(*sizes, row["n_components"])


def test_atoms_are_those_of_the_scene_graph(generated):
    for graph, _, found in generated:
        nodes = {(node.text, node.name, node.box): node for node in graph.nodes}
        edges = {(graph.nodes[e.subject], e.text, e.predicate, graph.nodes[e.object]) for e in graph.edges}
        for row in kept(found):
            objects = {}
            for i, atom in enumerate(row["atoms"]):
                if atom["kind"] == OBJECT:
                    objects[i] = nodes[atom["text"], atom["name"], box_of(atom)]
                    assert atom["subject"] == atom["object"] == -1
            assert len(set(objects.values())) == len(objects)
            attributes = set()
            for atom in row["atoms"]:
                if atom["kind"] == RELATION:
                    ends = objects[atom["subject"]], objects[atom["object"]]
                    assert (ends[0], atom["text"], atom["name"], ends[1]) in edges
                elif atom["kind"] == ATTRIBUTE:
                    assert atom["text"] in objects[atom["object"]].attributes
                    assert atom["subject"] == -1
                    attributes.add((atom["object"], atom["text"]))
                if atom["kind"] != OBJECT:
                    assert box_of(atom) == (None,) * 4
            assert len(attributes) == row["n_attributes"]


def components(row):
    """Sets of objects that relations join."""
    groups = {i: {i} for i, atom in enumerate(row["atoms"]) if atom["kind"] == OBJECT}
    for atom in atoms_of_kind(row, RELATION):
        joined = groups[atom["subject"]] | groups[atom["object"]]
        groups |= dict.fromkeys(joined, joined)
    return {frozenset(group) for group in groups.values()}


def test_components_are_those_that_relations_join(generated):
    n_components = Counter()
    for _, _, found in generated:
        for row in kept(found):
            assert len(components(row)) == row["n_components"] <= MOST_COMPONENTS
            n_components[row["n_components"]] += 1
    assert min(n_components[n] for n in (1, 2, 3)) > 50


def test_facts_tell_objects_apart(generated):
    for _, _, found in generated:
        for row in kept(found):
            texts = [atom["text"] for atom in row["atoms"]]
            triples = [(texts[a["subject"]], a["text"], texts[a["object"]]) for a in atoms_of_kind(row, RELATION)]
            pairs = [frozenset((a["subject"], a["object"])) for a in atoms_of_kind(row, RELATION)]
            assert len(set(triples)) == len(triples)
            assert len(set(pairs)) == len(pairs)
            lonely = [texts[i] for group in components(row) if len(group) == 1 for i in group]
            assert len(set(lonely)) == len(lonely)


def test_crop_is_the_union_of_the_objects_within_the_bounds_of_regions(generated):
    for _, _, found in generated:
        for row in kept(found):
            crop = box_of(row)
            assert crop == union_box([box_of(atom) for atom in atoms_of_kind(row, OBJECT)])
            assert crop[0] >= 0 and crop[1] >= 0 and crop[0] + crop[2] <= SIZE[0] and crop[1] + crop[3] <= SIZE[1]
            assert crop[2] * crop[3] >= max(40000, 0.1 * SIZE[0] * SIZE[1])
            assert 0.5 <= crop[2] / crop[3] <= 2


def test_crops_of_an_image_and_complexity_overlap_by_less_than_the_bound(generated):
    n_pairs = 0
    for _, _, found in generated:
        rows = kept(found)
        for i, row in enumerate(rows):
            assert all(overlap(box_of(row), box_of(other)) < 0.75 for other in rows[:i])
            n_pairs += i
    assert n_pairs > 300


def test_ids_are_unique_and_of_63_bits():
    ids, keys = Counter(), set()
    for image_id in range(300):
        graph = build_scene_graph(*draw_rows(np.random.default_rng([image_id, 3])), SIZE, unit_counts())
        for complexity in (4, 6, 12):
            for row in kept(sample(graph, complexity, image=image_row(image_id), max_per_image=2)):
                ids[row["subgraph_id"]] += 1
                keys.add((image_id, complexity, box_of(row)))
    assert len(ids) == ids.total() == len(keys) > 600
    assert 2**61 < max(ids) < 2**63
    assert min(ids) >= 0


def test_id_depends_on_image_and_atoms_and_not_on_their_order(generated):
    row = max((row for _, _, found in generated for row in kept(found)), key=lambda row: row["n_attributes"])
    atoms = row["atoms"]
    order = np.random.default_rng(0).permutation(len(atoms)).tolist()
    new = {-1: -1, **{old: i for i, old in enumerate(order)}}
    turned = [{**atoms[old], **{side: new[atoms[old][side]] for side in ("subject", "object")}} for old in order]
    assert subgraph_id(9, turned) == subgraph_id(9, atoms) == row["subgraph_id"]
    assert subgraph_id(8, atoms) != row["subgraph_id"]
    assert subgraph_id(9, [{**atoms[0], "x": atoms[0]["x"] + 1}, *atoms[1:]]) != row["subgraph_id"]
    assert subgraph_id(9, [*atoms[:-1], {**atoms[-1], "name": "other"}]) != row["subgraph_id"]


def test_walk_is_reproducible_and_changes_with_the_seed(generated):
    n_different = 0
    for seed, (graph, complexity, found) in enumerate(generated[:200]):
        assert sample(graph, complexity, seed, max_per_image=len(found)) == found
        n_different += sample(graph, complexity, seed + 1, max_per_image=len(found)) != found
    assert n_different > 80


# Walks


def test_share_of_attributes_is_obeyed():
    nodes = spread(*"abcdef", attributes=("red", "old", "big", "thin"))
    graph = SceneGraph(nodes, tuple(Edge(i, "on", i + 1, "on") for i in range(5)))
    mean = {}
    for share in (0.0, 0.4, 1.0):
        found = [walk(graph, 9, share, np.random.default_rng(i)) for i in range(200)]
        mean[share] = np.mean([len(subgraph.attributes) for subgraph in found])
    assert mean[0.0] == 0
    assert 1.5 < mean[0.4] < 4
    assert mean[1.0] > 5


def test_without_attributes_even_numbers_need_a_second_component():
    graph = SceneGraph(spread(*"abcdefgh"), tuple(Edge(i, "on", i + 1, "on") for i in range(6)))
    for complexity in COMPLEXITIES:
        for seed in range(20):
            found = walk(graph, complexity, 0.0, np.random.default_rng(seed))
            assert len(found.starts) == 2 - complexity % 2


def test_walk_goes_on_in_another_component_that_shares_no_object():
    edges = tuple(Edge(i, "on", i + 1, "on") for i in (0, 2, 4))
    graph = SceneGraph(spread(*"abcdef"), edges)
    for complexity, n_components in ((3, 1), (6, 2), (9, 3)):
        found = walk(graph, complexity, 0.0, np.random.default_rng(0))
        assert (len(found.starts), found.starts) == (n_components, [0, 2, 4][:n_components])
        assert len(set(found.nodes)) == len(found.nodes)
    assert walk(graph, 10, 0.0, np.random.default_rng(0)) is None


def test_object_that_a_relation_joins_to_what_is_in_makes_no_component():
    graph = SceneGraph(spread("a", "b", "c"), (Edge(0, "on", 1, "on"), Edge(1, "on", 2, "on")))
    assert all(walk(graph, 4, 0.0, np.random.default_rng(seed)) is None for seed in range(20))


def test_circle_is_closed_by_a_step_of_one_atom():
    edges = (Edge(0, "on", 1, "on"), Edge(1, "by", 2, "by"), Edge(2, "near", 0, "near"))
    graph = SceneGraph(spread("a", "b", "c"), edges)
    found = walk(graph, 6, 0.0, np.random.default_rng(0))
    assert (len(found.nodes), set(found.edges)) == (3, set(edges))


def test_two_objects_are_joined_once():
    edges = (Edge(0, "wear", 1, "wears"), Edge(1, "on", 0, "on"), Edge(0, "have", 1, "has"))
    graph = SceneGraph(spread("man", "shirt"), edges)
    assert len(walk(graph, 3, 0.0, np.random.default_rng(0)).edges) == 1
    assert walk(graph, 4, 0.0, np.random.default_rng(0)) is None


@pytest.mark.parametrize(
    ("name", "box", "is_taken"),
    [
        ("guy", (100, 100, 200, 200), False),  # the man under another name
        ("guy", (100, 100, 200, 140), True),
        ("man", (90, 90, 400, 400), False),  # all of the men
        ("man", (120, 120, 50, 50), False),  # a part of the man
        ("man", (500, 100, 200, 200), True),
    ],
)
def test_object_that_may_be_one_that_is_in_makes_no_component(name, box, is_taken):
    nodes = (node("man", (100, 100, 200, 200)), node("hat", (150, 90, 40, 40)), node(name, box))
    graph = SceneGraph(nodes, (Edge(0, "wear", 1, "wearing"),))
    assert (walk(graph, 4, 0.0, np.random.default_rng(0)) is not None) == is_taken


def test_objects_that_stand_alone_have_names_of_their_own():
    graph = SceneGraph(spread("window", "window", "window"), ())
    assert walk(graph, 2, 0.0, np.random.default_rng(0)) is None
    graph = SceneGraph(spread("window", "window", "door"), ())
    found = walk(graph, 2, 0.0, np.random.default_rng(0))
    assert {graph.nodes[i].text for i in found.nodes} == {"window", "door"}


def test_every_relation_of_a_graph_is_met():
    graph = SceneGraph(spread(*"abcdefg"), tuple(Edge(0, "on", i, "on") for i in range(1, 7)))
    met = Counter(walk(graph, 3, 0.0, np.random.default_rng(seed)).edges[0] for seed in range(300))
    assert len(met) == 6
    assert min(met.values()) > 20


# Sampling


def test_complexity_that_cannot_be_reached_is_said_for_each_subgraph_wanted():
    for graph in (SceneGraph((), ()), SceneGraph(spread("a", "b"), (Edge(0, "on", 1, "on"),))):
        assert sample(graph, 4, max_per_image=3) == [TOO_FEW_ATOMS] * 3


def test_crop_that_no_region_could_have_is_refused():
    small = SceneGraph((node("a", (0, 0, 50, 50)), node("b", (60, 0, 50, 50))), (Edge(0, "on", 1, "on"),))
    assert sample(small, 3) == [CROP_BOUNDS]
    (row,) = sample(small, 3, regions=ANY_CROP)
    assert box_of(row) == (0, 0, 110, 50)


def test_crop_that_overlaps_another_is_refused():
    graph = SceneGraph(spread("a", "b"), (Edge(0, "on", 1, "on"),))
    first, *others = sample(graph, 3, max_per_image=3)
    assert first["complexity"] == 3
    assert others == [OVERLAP] * 2


def test_images_of_coco_are_left_out_where_regions_leave_them_out():
    graph = SceneGraph(spread("a", "b"), (Edge(0, "on", 1, "on"),))
    image = image_row(coco_id=5)
    assert sample(graph, 3, image=image, regions={"exclude_coco": True}, max_per_image=2) == [COCO_IMAGE] * 2
    assert kept(sample(graph, 3, image=image))
    assert kept(sample(graph, 3, regions={"exclude_coco": True}))


def test_bounds_are_those_of_regions():
    sides = (1, 100, 199, 200, 201, 299, 300, 399, 400, 401, 447, 448)
    boxes = [(0, 0, width, height) for width in sides for height in sides]
    image = image_row(size=(2000, 448))
    for bounds in (REGIONS, {**REGIONS, "min_image_share": 0.1003}, {**REGIONS, "min_area": 0}):
        regions = [
            {"region_id": i, "image_id": image["image_id"], **dict(zip(BOX, map(float, box), strict=True))}
            for i, box in enumerate(boxes)
        ]
        frame = pl.DataFrame([{**row, "phrase": "a jar"} for row in regions])
        images = pl.DataFrame([image], schema_overrides={"coco_id": pl.Int64})
        reasons = filter_regions(frame, images, bounds)["reason"].to_list()
        assert [is_crop(box, image, bounds) for box in boxes] == [reason == "" for reason in reasons]
        assert 10 < reasons.count("") < len(boxes)


def test_subgraph_with_enough_swaps_is_preferred():
    nodes = spread(*"abc", attributes=("red",))
    graph = SceneGraph(nodes, (Edge(0, "on", 1, "on"),))
    for seed in range(20):
        assert [row["n_swaps"] for row in sample(graph, 4, seed)] == [5]
        assert len(kept(sample(graph, 4, seed, n_foils=6))) == 1
    first_walks = {sample(graph, 4, seed, tries=1)[0]["n_swaps"] for seed in range(20)}
    assert first_walks == {1, 5}


# Swaps


def objects(*texts):
    return [{"kind": OBJECT, "text": text, "subject": -1, "object": -1} for text in texts]


def relation(text, subject, object_):
    return {"kind": RELATION, "text": text, "subject": subject, "object": object_}


def attribute(text, object_):
    return {"kind": ATTRIBUTE, "text": text, "subject": -1, "object": object_}


@pytest.mark.parametrize(
    ("atoms", "n_swaps"),
    [
        (objects("a", "b", "c", "d"), 0),
        ([*objects("a", "b"), relation("on", 0, 1)], 1),
        ([*objects("a", "a"), relation("on", 0, 1)], 0),
        ([*objects("a", "b", "c"), relation("on", 0, 1)], 5),
        ([*objects("a", "b", "a"), relation("on", 0, 1)], 2),
        ([*objects("a", "b"), relation("on", 0, 1), attribute("red", 0)], 1),
        ([*objects("a", "b"), relation("on", 0, 1), attribute("red", 0), attribute("old", 1)], 2),
        ([*objects("a", "b"), relation("on", 0, 1), attribute("red", 0), attribute("red", 1)], 1),
        ([*objects("a"), attribute("red", 0), attribute("old", 0), attribute("big", 0)], 0),
        ([*objects("a", "b", "c"), relation("on", 0, 1), relation("by", 1, 2)], 6),
        ([*objects("a", "b", "c", "d"), relation("on", 0, 1), relation("on", 2, 3)], 11),
    ],
)
def test_swaps_are_counted_by_what_the_captions_say(atoms, n_swaps):
    assert count_swaps(atoms) == n_swaps


def test_count_of_swaps_ends_at_the_most_that_is_asked_for():
    atoms = [*objects(*"abcdefg"), *(relation(text, i, i + 1) for i, text in enumerate("uvwxyz"))]
    assert count_swaps(atoms) == MOST_SWAPS
    assert count_swaps(atoms, 5) == 5
    attributes = [attribute(f"attribute{i}", 0) for i in range(11)]
    assert count_swaps([*objects("a"), *attributes]) == 0


def naive_swaps(atoms):
    """All permutations of each kind, one after the other, compared by their sets of facts."""

    def facts(texts):
        said = [(texts[i], *(texts[j] for j in (a["subject"], a["object"]) if j >= 0)) for i, a in enumerate(atoms)]
        joined = {j for atom in atoms for j in (atom["subject"], atom["object"])}
        return Counter(fact for i, fact in enumerate(said) if len(fact) > 1 or i not in joined)

    truth = [atom["text"] for atom in atoms]
    found = []
    for kind in (OBJECT, RELATION, ATTRIBUTE):
        places = [i for i, atom in enumerate(atoms) if atom["kind"] == kind]
        for order in permutations(places):
            texts = list(truth)
            for place, source in zip(places, order, strict=True):
                texts[place] = truth[source]
            if facts(texts) not in (facts(truth), *found):
                found.append(facts(texts))
    return len(found)


def test_swaps_of_generated_subgraphs_agree_with_a_naive_count(generated):
    rows = [row for _, complexity, found in generated if complexity < 8 for row in kept(found)][:150]
    counts = [(row["n_swaps"], naive_swaps(row["atoms"])) for row in rows if row["n_objects"] < 5]
    assert len(counts) > 60
    assert all(found == expected for found, expected in counts)


# The rules


class Stage:
    """The two rules on generated images: tables, rows and counts."""

    def __init__(self, folder, n_parts=1, shuffle_seed=None, max_queries=None, n_images=40, **productivity):
        path = {name: str(folder / f"{name}.parquet") for name in ("images", "objects", "relationships", "drawn")}
        images, all_objects, all_relationships = [], [], []
        for i in range(n_images):
            image_id = 7 * i + 3
            images.append(image_row(image_id))
            found = draw_rows(np.random.default_rng([image_id, 4]), image_id)
            all_objects += found[0]
            all_relationships += found[1]
        tables = {"images": images, "objects": all_objects, "relationships": all_relationships}
        schemas = {"images": IMAGES, "objects": OBJECTS, "relationships": RELATIONSHIPS}
        for name, rows in tables.items():
            if shuffle_seed is not None:
                rows = [rows[i] for i in np.random.default_rng(shuffle_seed).permutation(len(rows))]
            write_table(path[name], schemas[name], rows)
        self.n_rows = {name: len(rows) for name, rows in tables.items()}
        self.rows, self.counts, paths = [], defaultdict(Counter), []
        cfg = json.dumps(config_of(**productivity))
        for part in range(n_parts):
            paths.append(str(folder / f"{part}.parquet"))
            inputs = path["images"], path["objects"], path["relationships"]
            sample_subgraphs_of_part(*inputs, paths[-1], str(folder / "counts.csv"), part, n_parts, cfg)
            self.rows += read_table(paths[-1], SUBGRAPHS).to_pylist()
            for unit, by_reason in read_counts(folder / "counts.csv", "subgraphs").items():
                self.counts[unit].update(by_reason)
        cfg = json.dumps({"max_queries": dict.fromkeys(range(2, 20), max_queries), "seed": 1})
        filter_subgraphs(paths, path["drawn"], str(folder / "drawn.csv"), cfg)
        self.drawn = read_table(path["drawn"], SUBGRAPHS).to_pylist()
        self.drawn_counts = read_counts(folder / "drawn.csv", "subgraphs/drawn")
        self.paths = paths


def read_counts(path, stage):
    counts = defaultdict(Counter)
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            assert row["stage"] == stage
            counts[row["unit"]][row["reason"]] = int(row["count"])
    return counts


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    return Stage(tmp_path_factory.mktemp("subgraphs"), max_per_image=2)


def test_every_subgraph_that_is_wanted_is_counted(stage):
    kept_rows = Counter(row["complexity"] for row in stage.rows)
    for complexity in COMPLEXITIES:
        counts = stage.counts[f"subgraph_n{complexity}"]
        assert counts[READ] == 2 * 40
        assert counts[KEPT] == kept_rows[complexity] > 10
        assert set(counts) <= {READ, KEPT, TOO_FEW_ATOMS, CROP_BOUNDS, OVERLAP}
    assert stage.counts["relationship"][READ] == stage.n_rows["relationships"]
    assert stage.counts["object"][READ] >= stage.n_rows["objects"]


def test_rows_are_those_of_their_images_alone(stage):
    image_ids = {row["image_id"] for row in stage.rows}
    assert image_ids <= {7 * i + 3 for i in range(40)}
    assert len(image_ids) > 20
    row = stage.rows[0]
    graph = build_scene_graph(
        *draw_rows(np.random.default_rng([row["image_id"], 4]), row["image_id"]), SIZE, unit_counts()
    )
    rng = np.random.default_rng([1, row["image_id"], row["complexity"]])
    expected = sample_subgraphs(graph, image_row(row["image_id"]), row["complexity"], config_of(max_per_image=2), rng)
    assert row in expected


@pytest.mark.parametrize(("n_parts", "shuffle_seed"), [(3, None), (1, 5), (2, 6)])
def test_neither_parts_nor_the_order_of_rows_change_anything(stage, tmp_path, n_parts, shuffle_seed):
    other = Stage(tmp_path, n_parts, shuffle_seed, max_per_image=2)
    assert other.drawn == stage.drawn
    assert other.counts == stage.counts
    assert other.drawn_counts == stage.drawn_counts


def test_all_are_drawn_where_there_is_no_bound(stage):
    assert len(stage.drawn) == len(stage.rows)
    assert stage.drawn == sorted(stage.rows, key=lambda row: (row["complexity"], row["subgraph_id"]))


def test_bounded_number_of_each_complexity_is_drawn_and_few_are_among_many(stage, tmp_path):
    drawn = {}
    for most in (5, 12):
        folder = tmp_path / str(most)
        folder.mkdir()
        cfg = json.dumps({"max_queries": dict.fromkeys(range(2, 20), most), "seed": 1})
        filter_subgraphs(stage.paths, str(folder / "drawn.parquet"), str(folder / "drawn.csv"), cfg)
        rows = read_table(folder / "drawn.parquet", SUBGRAPHS).to_pylist()
        sampled = Counter(row["complexity"] for row in stage.rows)
        for complexity, n_drawn in Counter(row["complexity"] for row in rows).items():
            assert n_drawn == min(most, sampled[complexity])
            counts = read_counts(folder / "drawn.csv", "subgraphs/drawn")[f"subgraph_n{complexity}"]
            assert (counts[READ], counts[KEPT]) == (sampled[complexity], n_drawn)
            assert counts["max_queries"] == sampled[complexity] - n_drawn
        assert [(row["complexity"], row["subgraph_id"]) for row in rows] == sorted(
            (row["complexity"], row["subgraph_id"]) for row in rows
        )
        drawn[most] = {row["subgraph_id"] for row in rows}
    assert drawn[5] < drawn[12] < {row["subgraph_id"] for row in stage.rows}


def test_draw_does_not_prefer_subgraphs_with_many_swaps():
    ids = list(range(2000))
    drawn = draw_ids(ids, 500, 1)
    assert draw_ids(ids[::-1], 500, 1) == drawn != draw_ids(ids, 500, 2)
    assert draw_ids(ids, None, 1) == set(ids)
    assert 900 < np.mean(sorted(drawn)) < 1100


def test_id_that_stands_twice_is_refused(stage, tmp_path):
    out = str(tmp_path / "drawn.parquet"), str(tmp_path / "drawn.csv")
    with pytest.raises(ValueError, match=r"subgraph_id \d+ stands twice in "):
        filter_subgraphs(
            [stage.paths[0]] * 2, *out, json.dumps({"max_queries": dict.fromkeys(range(2, 20)), "seed": 1})
        )


def test_no_subgraph_at_all_gives_empty_tables(tmp_path):
    found = Stage(tmp_path, n_images=2, tries=0)
    assert found.rows == found.drawn == []
    assert found.counts["subgraph_n4"] == {READ: 2, KEPT: 0, TOO_FEW_ATOMS: 2}


# The icons, and real images


def sample_images(files, folder, attributes_share=0.4):
    """Samples from annotation files; returns for each complexity the rows, and the number of images."""
    path = {name: str(folder / f"{name}.parquet") for name in ("images", "objects", "relationships", "regions", "out")}
    others = str(folder / "missing.csv"), path["objects"], path["relationships"], path["regions"]
    choice = {"aliases": False, "exclude_images": [], "missing_images": "set_aside", "sample": None}
    write_visual_genome(files, [], [], path["images"], *others, str(folder / "vg.csv"), json.dumps(choice))
    cfg = json.dumps(config_of(attribute_share=attributes_share))
    inputs = path["images"], path["objects"], path["relationships"]
    sample_subgraphs_of_part(*inputs, path["out"], str(folder / "counts.csv"), 0, 1, cfg)
    rows = defaultdict(list)
    for row in read_table(path["out"], SUBGRAPHS).to_pylist():
        rows[row["complexity"]].append(row)
    return rows, read_counts(folder / "counts.csv", "subgraphs")


@pytest.fixture(scope="module")
def icons(repository, tmp_path_factory):
    folder = tmp_path_factory.mktemp("icons")
    world = read_world(str(repository / "resources" / "icons" / "world.yaml"))
    found = annotations(world, [draw_image(world, index, 1) for index in range(60)], 1)
    files = []
    for name in ANNOTATIONS:
        files.append(str(folder / f"{name}.json"))
        with open(files[-1], "w") as file:
            json.dump(found[name], file)
    return sample_images(files, folder)


@pytest.mark.parametrize("complexity", COMPLEXITIES)
def test_most_images_of_the_icons_give_a_subgraph_with_enough_swaps(icons, complexity):
    rows, counts = icons
    assert counts[f"subgraph_n{complexity}"][READ] == 60
    n_swappable = sum(row["n_swaps"] >= 5 for row in rows[complexity])
    assert len(rows[complexity]) >= 50
    assert n_swappable >= 40


@pytest.mark.parametrize("version", ["v1.0", "v1.2"])
def test_real_images_give_subgraphs_of_every_complexity(shared_data, tmp_path, version):
    real = shared_data / "visual_genome_5_images"
    files = [str(real / ("" if name == "image_data" else version) / f"{name}.json") for name in ANNOTATIONS]
    rows, counts = sample_images(files, tmp_path)
    for complexity in COMPLEXITIES:
        assert len(rows[complexity]) == 5
        assert sum(row["n_swaps"] >= 5 for row in rows[complexity]) == 5
        for row in rows[complexity]:
            names = [atom["name"] for atom in row["atoms"]]
            assert all(name == name.lower().strip() and name for name in names)
    n_read = {"v1.0": (377, 156), "v1.2": (177, 158)}[version]
    assert (counts["object"][READ], counts["relationship"][READ]) == n_read
    assert 150 < counts["object"][KEPT] < 170
