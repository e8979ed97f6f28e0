"""Sample subgraphs of 4 to 12 atoms of the images' scene graphs, with their crops (paper sections 4.2 and A.3).

The crop of a subgraph is the union of its objects' boxes and must be one that a region could have. What is drawn for an
image and complexity depends on the seed and the image alone.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, islice, permutations

import numpy as np

from crepebench.boxes import Box, overlaps_any, union_box
from crepebench.graphs import ATTRIBUTE, OBJECT, RELATION
from crepebench.scene_graphs import BOX, SceneGraph
from crepebench.walks import Subgraph, walk

MOST_SWAPS = 100
"""Up to this number swaps are counted."""
MOST_PERMUTATIONS = 5040
"""Permutations of a kind that are looked at: all of seven atoms."""
TOO_FEW_ATOMS, CROP_BOUNDS, OVERLAP, COCO_IMAGE = REASONS = ("too_few_atoms", "crop_bounds", "overlap", "coco_image")
"""Why there is no subgraph; of the first three that at which the best walk failed, in the order of its tests."""
NO_BOX = dict.fromkeys(BOX)


def sample_subgraphs(
    graph: SceneGraph, image: Mapping, complexity: int, config: Mapping, rng: np.random.Generator
) -> list[dict | str]:
    """Samples the subgraphs of an image and complexity.

    # ASSUME: of the walks of a subgraph the first that allows `n_foils` swaps is taken, else the first that has a crop.
    # ASSUME: overlap is intersection over union, of crops of the same image and complexity; the later one gives way.

    Args:
        graph: scene graph of the image.
        image: row of table IMAGES.
        complexity: number of atoms.
        config: blocks `productivity` (tries, max_per_image, max_overlap, attribute_share, n_foils) and `regions`.
        rng: generator for this image and complexity.

    Returns:
        For each of the `max_per_image` subgraphs that are wanted its row of table SUBGRAPHS, or why there is none.
    """
    settings = config["productivity"]
    n_wanted = settings["max_per_image"]
    if config["regions"]["exclude_coco"] and image["coco_id"] is not None:
        return [COCO_IMAGE] * n_wanted
    results: list[dict | str] = []
    crops: list[Box] = []
    while len(results) < n_wanted:
        result = _sample_one(graph, image, complexity, config, crops, rng)
        if isinstance(result, str):  # no walk was of use, nor would others be
            return results + [result] * (n_wanted - len(results))
        crops.append(tuple(result[key] for key in BOX))
        results.append(result)
    return results


def _sample_one(
    graph: SceneGraph, image: Mapping, complexity: int, config: Mapping, crops: Sequence[Box], rng: np.random.Generator
) -> dict | str:
    """Walks up to `tries` times; returns a row, or why there is none."""
    settings = config["productivity"]
    share = settings["attribute_share"]
    n_attributes = sum(len(node.attributes) for node in graph.nodes) if share > 0 else 0
    if len(graph.nodes) + len(graph.edges) + n_attributes < complexity:
        return TOO_FEW_ATOMS
    chosen, furthest = None, 0
    for _ in range(settings["tries"]):
        found = walk(graph, complexity, share, rng)
        if found is None:
            continue
        crop = union_box([graph.nodes[i].box for i in found.nodes])
        if not is_crop(crop, image, config["regions"]):
            furthest = max(furthest, 1)
        elif overlaps_any(crop, crops, settings["max_overlap"]):
            furthest = max(furthest, 2)
        else:
            atoms = to_atoms(graph, found)
            has_swaps = count_swaps(atoms, settings["n_foils"]) >= settings["n_foils"]
            if chosen is None or has_swaps:
                chosen = found, atoms, crop
            if has_swaps:
                break
    return REASONS[furthest] if chosen is None else _row(image["image_id"], *chosen)


def is_crop(crop: Box, image: Mapping, bounds: Mapping) -> bool:
    """Says whether a crop within an image is one that a region could have; see `crepebench.regions.filter_regions`.

    Args:
        crop: the crop.
        image: width and height in pixels.
        bounds: config block `regions`: min_area, min_image_share, min_aspect, max_aspect; all inclusive.
    """
    width, height = crop[2:]
    return (
        width * height >= bounds["min_area"]
        and width * height / (image["width"] * image["height"]) >= bounds["min_image_share"]
        and bounds["min_aspect"] <= width / height <= bounds["max_aspect"]
    )


def to_atoms(graph: SceneGraph, found: Subgraph) -> list[dict]:
    """Returns the atoms of table SUBGRAPHS: objects, relations, attributes, each in the order of the walk."""
    place = {node: i for i, node in enumerate(found.nodes)}
    nodes = [graph.nodes[i] for i in found.nodes]
    objects = [_atom(OBJECT, node.text, node.name, box=dict(zip(BOX, node.box, strict=True))) for node in nodes]
    relations = [
        _atom(RELATION, edge.text, edge.predicate, place[edge.subject], place[edge.object]) for edge in found.edges
    ]
    attributes = [_atom(ATTRIBUTE, text, text, object_=place[node]) for node, text in found.attributes]
    return objects + relations + attributes


def _atom(kind: str, text: str, name: str, subject: int = -1, object_: int = -1, box: Mapping = NO_BOX) -> dict:
    return {"kind": kind, "text": text, "name": name, "subject": subject, "object": object_, **box}


def count_swaps(atoms: Sequence[Mapping], most: int = MOST_SWAPS) -> int:
    """Counts the distinct captions that permuting the atoms of one kind can give, the truth left out.

    An object moves with its name; relations and attributes stay where they are. Captions are told apart by what they
    say: exchanging two equal texts, or two objects of which nothing is said, changes nothing.

    Args:
        atoms: atoms of a subgraph.
        most: where so many are found, the count ends. Of more than seven atoms of a kind not all permutations are
            looked at, so that the count may be too low.
    """
    texts = [atom["text"] for atom in atoms]
    found = {_facts(atoms, texts)}
    for kind in (OBJECT, RELATION, ATTRIBUTE):
        places = [i for i, atom in enumerate(atoms) if atom["kind"] == kind]
        for order in _orders(len(places)):
            moved = texts.copy()
            for place, source in zip(places, order, strict=True):
                moved[place] = texts[places[source]]
            found.add(_facts(atoms, moved))
            if len(found) > most:
                return most
    return len(found) - 1


def _orders(n: int) -> Iterator[Sequence[int]]:
    """Yields the orders of n things: all exchanges of two, then all permutations, up to MOST_PERMUTATIONS."""
    for i, j in combinations(range(n), 2):
        yield [*range(i), j, *range(i + 1, j), i, *range(j + 1, n)]
    yield from islice(permutations(range(n)), MOST_PERMUTATIONS)


def _facts(atoms: Sequence[Mapping], texts: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Returns what a subgraph says if its atoms have other texts: triples, pairs and objects without either, sorted."""
    facts, lonely = [], {i for i, atom in enumerate(atoms) if atom["kind"] == OBJECT}
    for atom, text in zip(atoms, texts, strict=True):
        ends = [end for end in (atom["subject"], atom["object"]) if end >= 0]
        if ends:
            facts.append((text, *(texts[end] for end in ends)))
            lonely.difference_update(ends)
    return tuple(sorted(facts + [(texts[i],) for i in lonely]))


def _row(image_id: int, found: Subgraph, atoms: list[dict], crop: Box) -> dict:
    """Returns the row of table SUBGRAPHS."""
    n_components = len(found.starts)
    sizes = len(found.nodes), len(found.edges), len(found.attributes)
    return {
        "subgraph_id": subgraph_id(image_id, atoms),
        "image_id": image_id,
        **dict(zip(BOX, crop, strict=True)),
        "complexity": len(atoms),
        **dict(zip(("n_objects", "n_relations", "n_attributes"), sizes, strict=True)),
        "n_components": n_components,
        "shape": "{}o+{}r+{}A in {}".format(*sizes, n_components),
        "n_swaps": count_swaps(atoms),
        "atoms": atoms,
    }


def subgraph_id(image_id: int, atoms: Sequence[Mapping]) -> int:
    """Returns an id of 63 bits that depends on image, number and content of the atoms, and not on their order."""

    def content(atom: Mapping) -> list:
        ends = [content(atoms[atom[side]]) for side in ("subject", "object") if atom[side] >= 0]
        return [atom["kind"], atom["name"], *(atom[key] or 0 for key in BOX), *ends]

    key = json.dumps([image_id, len(atoms), sorted(json.dumps(content(atom)) for atom in atoms)])
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big") >> 1
