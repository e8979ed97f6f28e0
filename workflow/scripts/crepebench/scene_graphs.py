"""Build an image's scene graph of object instances from its annotated objects and relationships (paper section A.3).

What is no thing, says nothing of the picture, or could not be written into a caption is left out and counted. The graph
does not depend on the order of the rows.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from crepebench.accounting import KEPT, READ
from crepebench.boxes import Box
from crepebench.image_facts import ARTICLES, COPULAS, normal_relation
from crepebench.instances import (
    NEGATIONS,
    Instance,
    group_instances,
    is_words,
    object_text,
    read_instance,
    usable_attributes,
)

FORMS_OF_BE = frozenset((*COPULAS, "am", "been", "being"))
EMPTY_WORDS = FORMS_OF_BE | {*ARTICLES, "and", "or"}
"""Words of which alone a predicate says nothing."""
BOX = ("x", "y", "width", "height")
ENDS = ("subject", "object")
OBJECTS_READ, ATTRIBUTES_READ, RELATIONSHIPS_READ = UNITS = ("object", "object_attribute", "relationship")
"""What is counted: rows of objects, and ends of relationships that are in none; attributes of the objects of the graph;
rows of relationships."""
END_COLUMNS = [f"{side}_{key}" for side in ENDS for key in ("id", "name", *BOX)]


@dataclass(frozen=True)
class Node:
    """An object instance.

    Attributes:
        text: normal form of its name.
        name: its first annotated name, without article.
        attributes: as annotated.
        box: x, y, width, height in whole pixels, within the image.
    """

    text: str
    name: str
    attributes: tuple[str, ...]
    box: Box


class Edge(NamedTuple):
    """A relation: places of its ends among the nodes, its normal form, and the predicate as annotated."""

    subject: int
    text: str
    object: int
    predicate: str


@dataclass(frozen=True)
class SceneGraph:
    """Object instances, and the relations that join two of them; no relation stands twice."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    @cached_property
    def edges_of(self) -> list[list[Edge]]:
        """The edges at each node."""
        found: list[list[Edge]] = [[] for _ in self.nodes]
        for edge in self.edges:
            found[edge.subject].append(edge)
            found[edge.object].append(edge)
        return found


def build_scene_graph(
    objects: Iterable[Mapping], relationships: Iterable[Mapping], size: tuple[int, int], counts: Mapping[str, Counter]
) -> SceneGraph:
    """Builds the scene graph of one image.

    An end of a relationship that is in no row of objects is an object, too, with the name and box in the relationship
    (half of the ends in version 1.0).

    Args:
        objects: rows of table OBJECTS of the image.
        relationships: rows of table RELATIONSHIPS of the image.
        size: width and height of the image in pixels.
        counts: for each of `UNITS` counts to add to.
    """
    found: list[Instance | str] = []
    places: dict[int, int] = {}

    def add(names: Sequence[str], attributes: Sequence[str], box: Sequence[int | None], identity: int | None) -> int:
        found.append(read_instance(names, attributes, box, size))
        if identity is not None:
            places.setdefault(identity, len(found) - 1)
        return len(found) - 1

    for row in _sorted(objects, ("object_id", *BOX, "names", "attributes")):
        add(row["names"], row["attributes"], [row[key] for key in BOX], row["object_id"])
    relations = []
    for row in _sorted(relationships, ("relationship_id", "predicate", *END_COLUMNS)):
        ends = []
        for side in ENDS:
            identity = row[f"{side}_id"]
            box = [row[f"{side}_{key}"] for key in BOX]
            ends.append(places[identity] if identity in places else add([row[f"{side}_name"]], [], box, identity))
        relations.append((ends[0], row["predicate"], ends[1]))
    nodes, node_of = _nodes(found, counts)
    return SceneGraph(tuple(nodes), tuple(_edges(relations, node_of, counts[RELATIONSHIPS_READ])))


def _sorted(rows: Iterable[Mapping], columns: Sequence[str]) -> list[Mapping]:
    """Returns rows in an order that depends on their content alone; nulls last."""
    return sorted(rows, key=lambda row: [(row[column] is None, row[column]) for column in columns])


def _nodes(found: Sequence[Instance | str], counts: Mapping[str, Counter]) -> tuple[list[Node], dict[int, int]]:
    """Returns the nodes, and the node of each usable annotation by its place; counts annotations and attributes."""
    usable = [place for place, instance in enumerate(found) if isinstance(instance, Instance)]
    groups = group_instances([found[place] for place in usable])
    counts[OBJECTS_READ].update(reason for reason in found if isinstance(reason, str))
    counts[OBJECTS_READ].update({READ: len(found), "same_object": len(usable) - len(groups), KEPT: len(groups)})
    nodes, node_of = [], {}
    for members, instance in groups:
        node_of |= dict.fromkeys((usable[i] for i in members), len(nodes))
        name, attributes = instance.names[0], usable_attributes(instance, counts[ATTRIBUTES_READ])
        nodes.append(Node(object_text(name), name, attributes, instance.box))
    return nodes, node_of


def _edges(relations: Iterable[tuple[int, str, int]], node_of: Mapping[int, int], counts: Counter) -> list[Edge]:
    """Returns the relations between different nodes, each once; counts the others by reason."""
    found: dict[tuple[int, str, int], Edge] = {}
    for subject, predicate, object_ in relations:
        text = relation_text(predicate)
        if not text:
            reason = "predicate"
        elif subject not in node_of or object_ not in node_of:
            reason = "end_unusable"
        elif node_of[subject] == node_of[object_]:
            reason = "self_loop"
        else:
            key = node_of[subject], text, node_of[object_]
            reason = "repeated" if key in found else KEPT
            found.setdefault(key, Edge(*key, predicate))
        counts.update((READ, reason))
    return list(found.values())


@lru_cache(maxsize=200_000)
def relation_text(predicate: str) -> str:
    """Returns the normal form of a predicate; "" where it says nothing of the picture.

    # ASSUME: a predicate says nothing of the picture where it is not made of words, only of copulas, articles and
    # conjunctions, ends in a form of "be" ("have been"), or says what is not so ("not on", "without").
    """
    words = predicate.split()
    says_nothing = EMPTY_WORDS.issuperset(words) or words[-1] in FORMS_OF_BE
    if not is_words(predicate) or says_nothing or not NEGATIONS.isdisjoint(words):
        return ""
    return normal_relation(predicate)
