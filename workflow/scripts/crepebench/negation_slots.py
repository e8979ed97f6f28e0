"""Find what of a caption can be denied so that the rest still stands: an object beside others, or an attribute.

For "a red jar above a box":
    object jar       "a box" stays            a box without a jar
    object box       "a red jar" stays        a red jar without a box
    attribute red    "jar" in the place of "red jar"    a jar that is not red above a box

So no text says of one thing both that it is there and that it is not.

# ASSUME: a caption loses what stands behind a denied object that ends it, and before one that begins it.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from crepebench import inflection
from crepebench.caption_edits import DETERMINER
from crepebench.graphs import ATTRIBUTE, OBJECT, RELATION, Atom, Graph
from crepebench.image_facts import COPULAS
from crepebench.negation_forms import BEHIND, NOUN, PREDICATE

JOINING = re.compile(
    r"(?:[,;:–-]|\b(?:and|or|with|that|which|who|is|are|was|were|has|have|of|on|in|at|by|from|to|near|while|as|when|where|into|for)\b|\s)+$"
)
"""What may not end a base."""
NOISE = re.compile(r"\s*(?:\s[-–|]\s.*|<[^>]*>.*|[\s.,;:-]+$)")
"""Where the part of a web caption ends that says what is shown: at a dash, at a tag, or before marks at its end."""
SENTENCE_END = re.compile(r"[.!?;]\s")
POINTING = re.compile(r"\b(?:he|she|it|they|him|his|her|hers|its|their|them|each other)\b")
"""What points at an object that stood before."""
MAY_STAND_BEFORE = frozenset((*inflection.PREPOSITIONS, "and", "or", "of", "two", "three", "four", "some", "several"))
"""Words before a noun that make no compound with it."""
FINITE = re.compile(r"\b(?:is|are|was|were)\b")
"""In a base it would make a sentence, to which most templates cannot be joined."""
JOINED = re.compile(r"(?:,|\band\b|, and\b|\bwith\b)\s*$")


class Slot(NamedTuple):
    """What can be denied.

    Attributes:
        kind: OBJECT or ATTRIBUTE.
        place: BEHIND, NOUN or PREDICATE: which templates fit.
        concept: what is denied, in normal form.
        noun: for attributes, the noun that has it, in normal form; else "".
        base: for objects, what stays of the caption; else "".
        start: where the words stand in the caption that are replaced: the noun; the attribute with its noun.
        end: their end.
        rest: for NOUN, the noun with its other attributes.
        is_plural: whether the noun is.
        kept: objects that the caption still names without what is denied, in normal form.
    """

    kind: str
    place: str
    concept: str
    noun: str = ""
    base: str = ""
    start: int = 0
    end: int = 0
    rest: str = ""
    is_plural: bool = False
    kept: tuple[str, ...] = ()


def find_slots(caption: str, graph: Graph, no_concepts: Collection[str]) -> Iterator[Slot]:
    """Yields what of a caption can be denied.

    Args:
        caption: in lower case.
        graph: of the caption.
        no_concepts: nouns that are no object of a picture.
    """
    objects = [(i, atom) for i, atom in enumerate(graph.atoms) if atom.kind == OBJECT and atom.text not in no_concepts]
    for i, atom in objects:
        base = "" if _is_compound(caption, graph, i) else _base_without(caption, graph, i, no_concepts)
        if base:
            first = caption.find(base)
            kept = (one.text for _, one in objects if first <= one.start and one.end <= first + len(base))
            place = {"start": atom.start, "end": atom.end, "is_plural": inflection.is_plural(atom.text, atom.surface)}
            yield Slot(OBJECT, BEHIND, atom.text, base=base, kept=tuple(kept), **place)
    known = dict(objects)
    for i, atom in enumerate(graph.atoms):
        if atom.kind == ATTRIBUTE and atom.object in known:
            slot = _attribute_slot(caption, graph, i)
            if slot:
                yield slot._replace(kept=tuple(one.text for _, one in objects))


def shown(graph: Graph) -> tuple[set[str], set[tuple[str, str]]]:
    """Returns the objects that a caption names, and its pairs of attribute and object."""
    objects = {atom.text for atom in graph.atoms if atom.kind == OBJECT}
    attributes = {(atom.text, graph.atoms[atom.object].text) for atom in graph.atoms if atom.kind == ATTRIBUTE}
    return objects, attributes


def _base_without(caption: str, graph: Graph, index: int, no_concepts: Collection[str]) -> str:
    """Returns what stays of a caption without one of its objects; "" where nothing that can stand does."""
    atom = graph.atoms[index]
    others = [one for one in graph.atoms if one.kind == OBJECT and one.text not in (*no_concepts, atom.text)]
    if sum(one.kind == OBJECT and one.text == atom.text for one in graph.atoms) > 1:
        return ""  # another one of its name would have to go, too
    before = [one for one in others if one.end <= atom.start]
    base = ""
    if before:
        start = _phrase_start(caption, graph, index)
        ends = [one for one in graph.atoms if one.kind == RELATION and one.object == index and one.end <= start]
        if ends and caption[max(one.end for one in ends) : start].strip() == "":
            base = caption[: max(ends, key=lambda one: one.end).start]
        elif joined := JOINED.search(caption[:start]):
            base = caption[: joined.start()]
        if base and not any(one.end <= len(base) for one in before):
            base = ""
    else:
        after = [
            i for i, one in enumerate(graph.atoms) if one.kind == OBJECT and one.start >= atom.end and one in others
        ]
        for i in after[:1]:
            start = _phrase_start(caption, graph, i)
            links = [one for one in graph.atoms if one.kind == RELATION and one.object == i and one.subject == index]
            if any(caption[one.end : start].strip() == "" for one in links) or JOINED.search(caption[:start]):
                base = caption[start:]
    base = clean(base)
    points_back = not before and POINTING.search(base)
    return "" if points_back or FINITE.search(base) or SENTENCE_END.search(base) else base


def _is_compound(caption: str, graph: Graph, index: int) -> bool:
    """Says whether other words before a noun may make another thing of it: "snow board"."""
    atom = graph.atoms[index]
    start = _phrase_start(caption, graph, index)
    before = caption[:start].rstrip()
    if caption[start : atom.start].strip() or not before or before[-1] in ",.;:-":
        return False
    ends = {one.end for one in graph.atoms if one.kind == RELATION}
    return len(before) not in ends and before.split()[-1] not in MAY_STAND_BEFORE


def clean(text: str) -> str:
    """Returns the part of a text that says what is shown, without words at its end that join it to others."""
    text = NOISE.sub("", text.strip())
    while (shorter := JOINING.sub("", text)) != text:
        text = shorter
    return text if re.search(r"[^\W\d_]{2}", text) else ""


def _phrase_start(caption: str, graph: Graph, index: int) -> int:
    """Returns the first character of an object's phrase: its determiner, its attributes, other words of one name."""
    atom = graph.atoms[index]
    start = atom.start
    attributes = {one.end: one for one in graph.atoms if one.kind == ATTRIBUTE and one.object == index}
    while (found := attributes.get(len(caption[:start].rstrip()))) is not None and found.start < start:
        start = found.start
    determiner = DETERMINER.search(caption[:start])
    return determiner.start() if determiner else start


def _attribute_slot(caption: str, graph: Graph, index: int) -> Slot | None:
    """Returns how an attribute can be denied: before its noun, or behind "is"; None where it stands elsewhere."""
    atom = graph.atoms[index]
    noun: Atom = graph.atoms[atom.object]
    plural = inflection.is_plural(noun.text, noun.surface)
    same = {"kind": ATTRIBUTE, "concept": atom.text, "noun": noun.text, "is_plural": plural}
    if atom.surface != atom.text:  # "bigger", "larger" deny something else
        return None
    if atom.end <= noun.start:
        between = caption[atom.end : noun.start].split()
        if len(between) > len([one for one in graph.atoms if one.kind == ATTRIBUTE and one.object == atom.object]):
            return None
        own = {one.surface for one in graph.atoms if one.kind == ATTRIBUTE and one.object == atom.object}
        if not set(between) <= own:
            return None
        rest = caption[atom.end : noun.end].strip()
        follows = caption[noun.end :].split()[:1]
        if follows and follows[0] in (*COPULAS, "'s"):  # "the jar that is not red is .." is clumsy
            return None
        return Slot(place=NOUN, start=atom.start, end=noun.end, rest=rest, **same)
    before = caption[: atom.start].split()
    if before and before[-1] in COPULAS and atom.start > noun.end:
        return Slot(place=PREDICATE, start=atom.start, end=atom.end, **same)
    return None


def replace_words(caption: str, slot: Slot, words: str) -> str:
    """Returns a caption with other words in the place of a slot; an article before agrees."""
    return clean(inflection.replace_span(caption, slot.start, slot.end, words))


def exchange(caption: str, slot: Slot, concept: str) -> str:
    """Returns a caption that names another thing in the place of a slot: another object, or another attribute."""
    if slot.kind == OBJECT:
        return replace_words(caption, slot, inflection.inflect(concept, "NNS") if slot.is_plural else concept)
    return replace_words(caption, slot, f"{concept} {slot.rest}".strip())


def contrast_of(attribute: str, table: Mapping[str, tuple[str, tuple[str, ...]]]) -> tuple[str, ...]:
    """Returns the attributes that cannot be true beside one, by the committed table; () where nothing is known."""
    return table.get(attribute, ("", ()))[1]
