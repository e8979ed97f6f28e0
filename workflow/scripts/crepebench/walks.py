"""Grow subgraphs of a given number of atoms by random walks on an image's scene graph (paper section A.3).

A step adds a relation and its other object (two atoms), a relation between two objects that are in (one atom), or an
attribute of an object that is in (one atom). A walk that is stuck goes on in another component.

# ASSUME: where a walk starts, and which steps it prefers, is not known. It starts at any object with relations, and
# takes any relation at an object that is in; `attribute_share` of its steps add an attribute where one can be had.
# ASSUME: a subgraph has at most MOST_COMPONENTS components, as the released captions.
# ASSUME: two objects of a subgraph are joined by one relation at most: others mostly say the same again ("man wearing
# shirt", "shirt on man").
# ASSUME: no fact in words stands twice in a subgraph, and of objects that stand alone each has its own name, so that a
# caption can tell its objects apart. An object that may be one that is in under another name, or part of a
# group of its name that is in, does not come in.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from crepebench.boxes import overlap, share_of_smaller
from crepebench.scene_graphs import Edge, SceneGraph

MOST_COMPONENTS = 3
TRIPLE = 3
"""Atoms of the smallest component with a relation."""
ALIAS_OVERLAP = 0.75
"""IoU from which two objects may be one under two names, unless a relation joins them."""
GROUP_OVERLAP = 0.5
"""Share of the smaller of two boxes of one name from which one may be the other, or a part of it."""


@dataclass
class Subgraph:
    """What a walk has collected.

    Attributes:
        nodes: places of its objects in the scene graph, in the order of the walk.
        edges: its relations.
        attributes: (place of the object, attribute).
        starts: for each component the number of objects that came before it.
    """

    nodes: list[int] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    attributes: list[tuple[int, str]] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)

    @property
    def n_atoms(self) -> int:
        """Number of atoms: objects, relations and attributes."""
        return len(self.nodes) + len(self.edges) + len(self.attributes)


def walk(graph: SceneGraph, n_atoms: int, attribute_share: float, rng: np.random.Generator) -> Subgraph | None:
    """Walks until a subgraph has so many atoms; returns None where the walk cannot reach them.

    Args:
        graph: scene graph of the image.
        n_atoms: number of atoms.
        attribute_share: chance that a step adds an attribute where it can, 0-1; with 0 no attribute ever comes in.
        rng: generator.
    """
    return _Walk(graph, rng).run(n_atoms, attribute_share)


class _Walk:
    """One walk.

    `_frontier` holds the relations that a step may add: each has at least one end that is in.
    """

    def __init__(self, graph: SceneGraph, rng: np.random.Generator):
        self._graph = graph
        self._rng = rng
        self._found = Subgraph()
        self._inside: set[int] = set()
        self._touched: set[int] = set()
        self._frontier: list[Edge] = []
        self._facts: set[tuple[str, str, str]] = set()
        self._pairs: set[tuple[int, int]] = set()
        self._attributes: list[tuple[int, str]] = []

    def run(self, n_atoms: int, attribute_share: float) -> Subgraph | None:
        found = self._found
        while (room := n_atoms - found.n_atoms) > 0:
            wants_attribute = attribute_share > 0 and self._attributes and self._rng.random() < attribute_share
            steps: list[Callable[[int], bool]] = [self._add_relation, self._start_component]
            if attribute_share > 0:
                steps.insert(0 if wants_attribute else 2, self._add_attribute)
            if not any(step(room) for step in steps):
                return None
        return found

    def _take(self, items: list):
        """Removes and returns a random item; the order of the others may change."""
        i = int(self._rng.random() * len(items))
        items[i], items[-1] = items[-1], items[i]
        return items.pop()

    def _add_attribute(self, room: int) -> bool:
        if not self._attributes:
            return False
        self._found.attributes.append(self._take(self._attributes))
        return True

    def _add_relation(self, room: int) -> bool:
        """Adds a relation, and its other object where that is not in; says whether there was one."""
        if room == 1:
            self._frontier = [edge for edge in self._frontier if {edge.subject, edge.object} <= self._inside]
        while self._frontier:
            edge = self._take(self._frontier)
            fact, pair = self._fact(edge), (min(edge.subject, edge.object), max(edge.subject, edge.object))
            if fact in self._facts or pair in self._pairs:
                continue
            new = [end for end in (edge.subject, edge.object) if end not in self._inside]
            if new and not self._is_another(new[0], joined_to=edge.subject + edge.object - new[0]):
                continue
            self._facts.add(fact)
            self._pairs.add(pair)
            self._found.edges.append(edge)
            for node in new:
                self._add_node(node)
            return True
        return False

    def _fact(self, edge: Edge) -> tuple[str, str, str]:
        nodes = self._graph.nodes
        return nodes[edge.subject].text, edge.text, nodes[edge.object].text

    def _start_component(self, room: int) -> bool:
        """Adds an object that no relation joins to what is in; says whether there was one."""
        graph, found = self._graph, self._found
        if len(found.starts) == MOST_COMPONENTS:
            return False
        bounds = pairwise([*found.starts, len(found.nodes)])
        lonely = {graph.nodes[found.nodes[start]].text for start, end in bounds if end - start == 1}
        apart = [i for i, node in enumerate(graph.nodes) if i not in self._touched and node.text not in lonely]
        linked = [i for i in apart if graph.edges_of[i]] if room >= TRIPLE else []
        for nodes in (linked, apart):
            while nodes:
                node = self._take(nodes)
                if self._is_another(node):
                    found.starts.append(len(found.nodes))
                    self._add_node(node)
                    return True
        return False

    def _is_another(self, new: int, joined_to: int | None = None) -> bool:
        """Says whether an object is surely none of those that are in."""
        node = self._graph.nodes[new]
        for other in (self._graph.nodes[i] for i in self._inside if i != joined_to):
            if overlap(node.box, other.box) >= ALIAS_OVERLAP:
                return False
            if node.text == other.text and share_of_smaller(node.box, other.box) >= GROUP_OVERLAP:
                return False
        return True

    def _add_node(self, new: int) -> None:
        edges = self._graph.edges_of[new]
        ends = {end for edge in edges for end in (edge.subject, edge.object)}
        self._frontier += [e for e in edges if e.subject + e.object - new not in self._inside]
        self._found.nodes.append(new)
        self._inside.add(new)
        self._touched |= {new, *ends}
        self._attributes += [(new, attribute) for attribute in self._graph.nodes[new].attributes]
