"""Say which facts of an edited scene graph are false in the image, so that a swapped caption is a foil and not a truth.

Source: paper section 4.2 refuses swapped captions that follow from the true one by a model of textual entailment, which
it does not name. Here the annotations themselves are asked: a swapped caption is a foil only if one of the facts that
it adds is false. A fact is false where what is known of the same objects excludes it, or where their boxes do; a fact
that may well be true though nobody annotated it is not counted as false.

# ASSUME: boxes stand for the things in them. What is above, below, left or right of a thing has its centre there; what
is before or behind it shares columns of pixels with it; anything else ("on", "in", "wearing") asks that boxes touch.
# ASSUME: what is beside a thing, with it or looking at it is so by eye, so that those relations always may be true.
# ASSUME: of two objects at most one stands in a relation to the other, but for relations that always may be true.
# ASSUME: an attribute of a group (a colour) is false of an object of which another one of the group is known; where
none is known it may be true. An attribute of no group is false where it is not known.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import Enum, auto
from itertools import product

from crepebench.graphs import ATTRIBUTE, HAVE, OBJECT, RELATION
from crepebench.image_facts import ImageFacts, head_noun
from crepebench.replacements import CandidateFinder
from crepebench.word_tables import WordTables


class Rule(Enum):
    """What the boxes of subject and object must be like for a relation to be possible."""

    ALWAYS = auto()
    HIGHER = auto()
    LOWER = auto()
    LEFT = auto()
    RIGHT = auto()
    SAME_COLUMNS = auto()
    TOUCHING = auto()


RULES = {
    **dict.fromkeys(("above", "over", "on top of"), Rule.HIGHER),
    **dict.fromkeys(("below", "under", "underneath", "beneath"), Rule.LOWER),
    "to the left of": Rule.LEFT,
    "to the right of": Rule.RIGHT,
    **dict.fromkeys(("in front of", "behind", "in back of"), Rule.SAME_COLUMNS),
    **dict.fromkeys(
        (
            *("near", "near to", "next to", "beside", "by", "close to", "with", "without", "along with", HAVE),
            *("at", "around", "about", "and", "between", "in between", "among", "alongside", "to", "toward", "towards"),
            *("far from", "away from", "outside", "outside of", "opposite", "past", "beyond", "on the side of"),
            *("on the other side of", "on both sides of", "like", "against", "up against"),
        ),
        Rule.ALWAYS,
    ),
    **dict.fromkeys(
        (
            *("watch", "see", "face", "follow", "chase", "pass", "lead", "throw", "kick", "catch", "approach"),
            *("touch", "hug", "kiss", "meet", "join", "match", "surround", "adjoin", "attach to", "connect to"),
        ),
        Rule.ALWAYS,
    ),
}
"""By relation, or by how it ends; all others are `Rule.TOUCHING`."""


def rule_of(relation: str) -> Rule:
    """Returns what a relation asks of boxes: its own rule, else that of what it ends in ("stand behind")."""
    words = relation.split()
    found = (RULES[end] for start in range(len(words)) if (end := " ".join(words[start:])) in RULES)
    return next(found, Rule.TOUCHING)


def boxes_allow(relation: str, subject: Mapping, object_: Mapping) -> bool:
    """Says whether a relation is possible by the boxes of its ends; where one has no box, it is.

    Args:
        relation: normal form.
        subject: `x`, `y`, `width`, `height` in pixels, y downwards.
        object_: likewise.
    """
    rule = rule_of(relation)
    if rule is Rule.ALWAYS or any(end.get(name) is None for end in (subject, object_) for name in ("x", "y")):
        return True
    if rule in (Rule.HIGHER, Rule.LOWER):
        lower = _centre(subject, "y", "height") - _centre(object_, "y", "height")
        return lower < 0 if rule is Rule.HIGHER else lower > 0
    if rule in (Rule.LEFT, Rule.RIGHT):
        further_right = _centre(subject, "x", "width") - _centre(object_, "x", "width")
        return further_right < 0 if rule is Rule.LEFT else further_right > 0
    share_columns = _overlap(subject, object_, "x", "width")
    return share_columns and (rule is Rule.SAME_COLUMNS or _overlap(subject, object_, "y", "height"))


def is_placed(relation: str, subject: Mapping, object_: Mapping) -> bool:
    """Says whether boxes show that something is above, below, left or right of something else: nothing else is needed.

    A keyboard in front of a monitor is under it, too.
    """
    sides = (Rule.HIGHER, Rule.LOWER, Rule.LEFT, Rule.RIGHT)
    return rule_of(relation) in sides and subject.get("x") is not None and boxes_allow(relation, subject, object_)


def _centre(box: Mapping, start: str, size: str) -> float:
    return box[start] + box[size] / 2


def holds_centre(crop: Mapping, box: Mapping) -> bool:
    """Says whether the middle of a box lies in a crop."""
    return all(
        crop[start] <= _centre(box, start, size) <= crop[start] + crop[size]
        for start, size in (("x", "width"), ("y", "height"))
    )


def _overlap(one: Mapping, other: Mapping, start: str, size: str) -> bool:
    """Says whether two boxes touch or overlap along an axis."""
    return one[start] <= other[start] + other[size] and other[start] <= one[start] + one[size]


def is_same_thing(one: Mapping, other: Mapping) -> bool:
    """Says whether two boxes are likely of one thing that was annotated twice: they share half of their union."""
    sides = []
    for start, size in (("x", "width"), ("y", "height")):
        ends = (min(box[start] + box[size] for box in (one, other)), max(box[start] for box in (one, other)))
        sides.append(max(0, ends[0] - ends[1]))
    shared = sides[0] * sides[1]
    return 2 * shared >= one["width"] * one["height"] + other["width"] * other["height"] - shared


def with_graph(facts: ImageFacts, atoms: Sequence[Mapping]) -> ImageFacts:
    """Returns the facts of an image with those of a graph of it, by the graph's names.

    Facts name the ends of relations by their head nouns; what is said of a "bear" is taken to be said of the graph's
    "teddy bear", too.

    Args:
        facts: of the image; they stay as they are.
        atoms: of the graph.
    """
    names: dict[str, set[str]] = {}
    for atom in atoms:
        if atom["kind"] == OBJECT:
            names.setdefault(head_noun(atom["text"]), set()).add(atom["text"])
    triples = set(facts.triples)
    for first, relation, second in facts.triples:
        ends = ({end, *names.get(end, ())} for end in (first, second))
        triples.update((subject, relation, object_) for subject, object_ in product(*ends))
    attributes = defaultdict(set, {kind: set(found) for kind, found in facts.attributes.items()})
    for atom in atoms:
        if atom["kind"] == RELATION:
            triples.add((atoms[atom["subject"]]["text"], atom["text"], atoms[atom["object"]]["text"]))
        elif atom["kind"] == ATTRIBUTE:
            attributes[atoms[atom["object"]]["text"]].add(atom["text"])
    kinds = facts.kinds.union(*names.values())
    return replace(facts, kinds=kinds, attributes=attributes, triples=triples)


class FactChecker:
    """Says whether an edited graph of an image states something false.

    Args:
        finder: knows what is true in an image under other names.
        tables: groups of attributes and contrasting relations.
    """

    def __init__(self, finder: CandidateFinder, tables: WordTables):
        self._finder = finder
        self._tables = tables

    def has_false_fact(
        self, atoms: Sequence[Mapping], edited: Sequence[Mapping], facts: ImageFacts, affirmed: Sequence[int]
    ) -> bool:
        """Says whether one of the facts that an edit adds is false.

        Args:
            atoms: of the true graph.
            edited: the same atoms after the edit; objects have, beside `text` and box, `instance`: the place among
                `atoms` of the object that now stands there.
            facts: what is true in the image.
            affirmed: places of the relations and attributes that the caption affirms.
        """
        known = {_content(atoms, i) for i in affirmed}
        added = (i for i in affirmed if _content(edited, i) not in known)
        return any(self._is_false(atoms, edited, i, facts) for i in added)

    def is_alone(self, atom: Mapping, facts: ImageFacts, crop: Mapping) -> bool:
        """Says whether a crop shows no other object that may go by an object's name, by the boxes annotated.

        Args:
            atom: an object with its box.
            facts: has the boxes of the image's objects.
            crop: `x`, `y`, `width`, `height`; an object whose box has its centre there is shown.
        """
        boxes = {box for name in self._finder.names(atom["text"], facts) for box in facts.boxes.get(name, ())}
        others = (dict(zip(("x", "y", "width", "height"), box, strict=True)) for box in boxes)
        shown = (box for box in others if holds_centre(crop, box))
        return atom.get("x") is None or all(is_same_thing(atom, box) for box in shown)

    def _is_false(self, atoms: Sequence[Mapping], edited: Sequence[Mapping], index: int, facts: ImageFacts) -> bool:
        atom = edited[index]
        if atom["kind"] == ATTRIBUTE:
            return self._is_false_attribute(atom["text"], edited[atom["object"]]["text"], facts)
        subject, object_ = edited[atom["subject"]], edited[atom["object"]]
        if self._finder.holds(subject["text"], atom["text"], object_["text"], facts):
            return False
        ends = subject["instance"], object_["instance"]
        if self._is_excluded(atoms, atom["text"], *ends):
            return True
        return not _are_joined(atoms, *ends) and not boxes_allow(atom["text"], subject, object_)

    def _is_false_attribute(self, attribute: str, kind: str, facts: ImageFacts) -> bool:
        names = self._finder.names(kind, facts)
        true = set().union(*(facts.attributes.get(name, ()) for name in names))
        if self._finder.may_be_true(attribute, true):
            return False
        group = self._tables.attributes.get(attribute, ("",))[0]
        return not group or any(self._tables.attributes.get(other, ("",))[0] == group for other in true)

    def _is_excluded(self, atoms: Sequence[Mapping], relation: str, subject: int, object_: int) -> bool:
        """Says whether the graph has the relation the other way round, or a contrasting one between the two objects."""
        if rule_of(relation) is Rule.ALWAYS:
            return False
        same = self._tables.same.get(relation, frozenset({relation}))
        for atom in atoms:
            if atom["kind"] == RELATION:
                ends = atom["subject"], atom["object"]
                if ends == (object_, subject) and atom["text"] in same:
                    return True
                if ends == (subject, object_) and relation in self._tables.relations.get(atom["text"], ()):
                    return True
        return False


def _are_joined(atoms: Sequence[Mapping], one: int, other: int) -> bool:
    """Says whether a graph has a relation between two objects: of a building with windows, these are on the building.

    # ASSUME: what is said to be joined touches, whatever its boxes.
    """
    ends = {(atom["subject"], atom["object"]) for atom in atoms if atom["kind"] == RELATION}
    return (one, other) in ends or (other, one) in ends


def _content(atoms: Sequence[Mapping], index: int) -> tuple[str, ...]:
    """Returns what a relation or attribute says, in normal forms."""
    atom = atoms[index]
    ends = (atom["object"],) if atom["kind"] == ATTRIBUTE else (atom["subject"], atom["object"])
    return (atom["kind"], atom["text"], *(atoms[end]["text"] for end in ends))
