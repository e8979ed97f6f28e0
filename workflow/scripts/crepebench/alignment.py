"""Find the atoms of an annotated graph in a caption.

Foils replace words of the caption, so an atom must stand there. Words are compared in the parser's normal forms: any
inflection counts. An attribute must stand as an adjective of its noun, a relation between its nouns.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from crepebench.accounting import KEPT, READ
from crepebench.graphs import ATTRIBUTE, OBJECT, RELATION, Atom, Graph
from crepebench.image_facts import ARTICLES, COPULAS, head_noun, normal_relation
from crepebench.inflection import PREPOSITIONS
from crepebench.lemmas import lemmatise

WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
JOINT = re.compile(r",|\band\b")
"""What joins several attributes in one: "black and white"."""
PHRASE_STARTS = frozenset((*PREPOSITIONS, *ARTICLES, *COPULAS))
"""Words that do not stand between an adjective and the noun after it."""
LONGEST_RELATION = 6
"""Words of a caption in which a relation is looked for."""
NOT_IN_CAPTION, END_NOT_IN_CAPTION, REPEATED = "not_in_caption", "end_not_in_caption", "repeated_atom"


@dataclass(frozen=True)
class Thing:
    """An annotated object: names and attributes in the normal form of `canonical_name`."""

    names: list[str]
    attributes: list[str]


@dataclass(frozen=True)
class Annotation:
    """What is annotated of a region.

    Attributes:
        things: its objects.
        relations: subject (index among the things; None where it is none of them), predicate, object (the same).
    """

    things: list[Thing] = field(default_factory=list)
    relations: list[tuple[int | None, str, int | None]] = field(default_factory=list)


class _Aligner:
    """Finds the atoms of one annotation in one caption."""

    def __init__(self, caption: str, annotation: Annotation):
        self.caption, self.annotation = caption, annotation
        self.words = [(match[0], match.start(), match.end()) for match in WORD.finditer(caption)]
        self.lemmas = [lemmatise(word, "NOUN") for word, _, _ in self.words]
        self.counts: Counter = Counter()
        self.places = self._places_of_things()
        self._mentions = {place for place in self.places if place is not None}

    def graph(self) -> Graph:
        """Returns the graph of the atoms that were found."""
        order = sorted(self._mentions)
        index = {place: i for i, place in enumerate(order)}
        objects = [self._atom(OBJECT, self.lemmas[place], place, place) for place in order]
        joins: dict[tuple, Atom] = {}
        for atom in (*self._attributes(index), *self._relations(index)):
            key = (atom.kind, atom.text, atom.start if atom.kind == ATTRIBUTE else -1, atom.subject, atom.object)
            self._count(REPEATED if key in joins else KEPT)
            joins.setdefault(key, atom)
        return Graph(objects + sorted(joins.values(), key=lambda atom: (atom.start, atom.subject, atom.object)))

    def _places_of_things(self) -> list[int | None]:
        """Returns for each object the place of its noun among the words; of equal names the first takes the first."""
        covered = {place for thing in self.annotation.things for name in thing.names for place in self._modifiers(name)}
        by_lemma: dict[str, list[int]] = defaultdict(list)
        for place, lemma in enumerate(self.lemmas):
            if place not in covered:
                by_lemma[lemma].append(place)
        places, used = [], Counter()
        for thing in self.annotation.things:
            noun = next((noun for noun in map(head_noun, thing.names) if noun in by_lemma), None)
            place = by_lemma[noun][min(used[noun], len(by_lemma[noun]) - 1)] if noun else None
            used[noun] += 1
            self._count(NOT_IN_CAPTION if place is None else REPEATED if place in places else KEPT)
            places.append(place)
        return places

    def _modifiers(self, name: str) -> Iterator[int]:
        """Yields the places of the words before a name's noun, where the whole name stands: "table" in "table lamp"."""
        parts = [match[0] for match in WORD.finditer(name)]
        for start in range(len(self.words) - len(parts) + 1 if len(parts) > 1 else 0):
            before = [word for word, _, _ in self.words[start : start + len(parts) - 1]]
            if before == parts[:-1] and self.lemmas[start + len(parts) - 1] == head_noun(name):
                yield from range(start, start + len(parts) - 1)

    def _attributes(self, index: Mapping[int, int]) -> Iterator[Atom]:
        """Yields the attributes that stand where they may belong to their object's noun, nearest to it."""
        for thing, noun in zip(self.annotation.things, self.places, strict=True):
            parts = [part.strip() for text in thing.attributes for part in JOINT.split(text)]
            for attribute in filter(None, parts):
                if noun is None:
                    self._count(END_NOT_IN_CAPTION)
                    continue
                lemma = lemmatise(attribute, "ADJ")
                found = [place for place in self._free() if lemmatise(self.words[place][0], "ADJ") == lemma]
                found = [place for place in found if self._may_belong(place, noun)]
                if not found:
                    self._count(NOT_IN_CAPTION)
                    continue
                place = min(found, key=lambda place: (abs(place - noun), place))
                yield self._atom(ATTRIBUTE, lemma, place, place, object_=index[noun])

    def _may_belong(self, place: int, noun: int) -> bool:
        """Says whether a word stands as an adjective of a noun: before it in its phrase, or said of it by a copula."""
        between = self._between(place, noun)
        words = [self.words[other][0] for other in between]
        if self._mentions & set(between):
            return False
        if place < noun:
            return not any(word in PHRASE_STARTS for word in words)
        return any(word in COPULAS for word in words) and words[-1] in (*COPULAS, "and")

    def _relations(self, index: Mapping[int, int]) -> Iterator[Atom]:
        """Yields the relations whose words stand between the nouns of their ends."""
        for subject, predicate, object_ in self.annotation.relations:
            ends = tuple(None if end is None else self.places[end] for end in (subject, object_))
            if None in ends or ends[0] == ends[1]:
                self._count(END_NOT_IN_CAPTION)
                continue
            text = normal_relation(predicate)
            span = self._find_relation(text, *ends)
            if span is None:
                self._count(NOT_IN_CAPTION)
            else:
                yield self._atom(RELATION, text, *span, index[ends[0]], index[ends[1]])

    def _find_relation(self, text: str, subject: int, object_: int) -> tuple[int, int] | None:
        """Returns first and last word of a relation between two nouns: of the shortest the nearest to the object."""
        between = self._between(subject, object_)
        starts = sorted(between, key=lambda place: abs(place - object_))
        for length in range(1, min(LONGEST_RELATION, len(between)) + 1):
            for start in starts:
                span = range(start, start + length)
                words = [self.words[place][0] for place in span if place in between and place not in self._mentions]
                if len(words) == length and normal_relation(" ".join(words)) == text:
                    return start, start + length - 1
        return None

    def _free(self) -> Iterable[int]:
        return [place for place in range(len(self.words)) if place not in self._mentions]

    @staticmethod
    def _between(one: int, other: int) -> range:
        return range(min(one, other) + 1, max(one, other))

    def _atom(self, kind: str, text: str, first: int, last: int, subject: int = -1, object_: int = -1) -> Atom:
        start, end = self.words[first][1], self.words[last][2]
        return Atom(kind, text, self.caption[start:end], start, end, subject, object_)

    def _count(self, reason: str) -> None:
        self.counts.update((READ, reason))


def align(caption: str, annotation: Annotation) -> tuple[Graph, Counter]:
    """Finds the atoms of an annotation in a caption.

    Returns:
        The graph of those that are there, in the parser's normal forms and order, and counts of all by reason.
    """
    aligner = _Aligner(caption, annotation)
    return aligner.graph(), aligner.counts
