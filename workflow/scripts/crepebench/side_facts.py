"""Find what a crop shows beside what a caption says, and deny it in a sentence behind the caption.

A set `overall` needs one truth for foils of all three types. There the caption stays whole, so that its atoms can be
replaced and change places as without a negation, and a sentence behind it denies something that the caption does not
speak of: "a red jar above a box. there is a fan. the box is not blue". In the truth it is false that the box is blue,
in a foil of the type HN-Neg it is true. A denial that contradicts the caption would show by the text alone.

# ASSUME: an attribute belongs to an object of the caption if annotators gave it to a thing of that name and the image
shows no other that may go by it.
# ASSUME: an object is shown if the middle of its box lies in the crop and three quarters of the box do.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from crepebench.boxes import intersection
from crepebench.caption_edits import first_mention
from crepebench.caption_words import is_plural
from crepebench.captions import Caption
from crepebench.fact_checks import FactChecker, holds_centre
from crepebench.graphs import ATTRIBUTE, OBJECT
from crepebench.image_facts import ImageFacts
from crepebench.inflection import match_adjective, match_noun
from crepebench.replacements import Candidate, CandidateFinder
from crepebench.word_pool import Pool
from crepebench.word_tables import WordTables

LEAST_SHOWN = 0.75
"""Share of an object's box that lies in the crop."""
SIDES = ("x", "y", "width", "height")
EVERYWHERE = dict(zip(SIDES, (-(10**9), -(10**9), 2 * 10**9, 2 * 10**9), strict=True))
"""A crop that holds every image."""


@dataclass(frozen=True)
class SideFact:
    """Something true that a caption does not say.

    Attributes:
        kind: OBJECT or ATTRIBUTE.
        text: name of the object, or the attribute.
        owner: place of the attribute's object among the atoms of the caption; -1 for objects.
        candidates: what would be false in its place.
        form: the sentence that denies a word, with {} for the word.
    """

    kind: str
    text: str
    owner: int
    candidates: tuple[Candidate, ...]
    form: str

    def deny(self, word: str) -> str:
        """Returns the sentence that denies a word in the place of this fact."""
        match = match_noun if self.kind == OBJECT else match_adjective
        return self.form.format(match(self.text, self.text, word))


class SideFactFinder:
    """Finds what is true beside a caption.

    Args:
        finder: finds replacements.
        checker: knows what else a name may mean in an image.
        tables: groups of attributes.
        pool: words that foils may take.
    """

    def __init__(self, finder: CandidateFinder, checker: FactChecker, tables: WordTables, pool: Pool):
        self._finder, self._checker, self._tables, self._pool = finder, checker, tables, pool

    def find(self, caption: Caption, atoms: Sequence[Mapping], facts: ImageFacts, crop: Mapping) -> list[SideFact]:
        """Returns the facts that have something false in their place, in a fixed order.

        Args:
            caption: with its mentions.
            atoms: of the caption, with `surface`.
            facts: what is true in the image.
            crop: `x`, `y`, `width`, `height` of what a model sees.
        """
        return [*self._attributes(caption, atoms, facts), *self._objects(atoms, facts, crop)]

    def _attributes(self, caption: Caption, atoms: Sequence[Mapping], facts: ImageFacts) -> Iterator[SideFact]:
        """Yields attributes of the caption's objects."""
        names = [atom["text"] for atom in atoms if atom["kind"] == OBJECT]
        for i, atom in enumerate(atoms):
            if atom["kind"] != OBJECT or names.count(atom["text"]) > 1:
                continue
            if not self._checker.is_alone(atom, facts, EVERYWHERE):
                continue
            said = {other["text"] for other in atoms if other["kind"] == ATTRIBUTE and other["object"] == i}
            groups = {self._group(word) for word in said}
            taken = set(said)
            mention = first_mention(caption, i)
            name = caption.text[mention.start : mention.end]
            verb = "are" if is_plural({**atom, "name": name}) else "is"
            for word in sorted(facts.annotated.get(atom["text"], ())):
                group = self._group(word)
                if group and group not in groups and not self._finder.may_be_true(word, taken):  # grey is gray
                    taken.add(word)
                    extra = self._atom(ATTRIBUTE, word, i)
                    yield from self._fact(extra, f"the {name} {verb} not {{}}", atoms, facts)

    def _objects(self, atoms: Sequence[Mapping], facts: ImageFacts, crop: Mapping) -> Iterator[SideFact]:
        """Yields objects in the crop that the caption does not name, nor anything that may go by the same name."""
        named = {atom["text"] for atom in atoms if atom["kind"] == OBJECT}
        named |= {word for text in named for word in text.split()}  # a street light is a light
        for name in sorted(facts.boxes.keys() & self._pool.words[OBJECT]):
            shown = any(_is_shown(box, crop) for box in facts.boxes[name])
            if shown and not self._finder.names(name, facts) & named:
                plural = is_plural({"text": name, "name": name, "kind": OBJECT})
                extra = self._atom(OBJECT, name, -1)
                yield from self._fact(extra, "there are no {}" if plural else "there is no {}", atoms, facts)

    def _fact(self, extra: Mapping, form: str, atoms: Sequence[Mapping], facts: ImageFacts) -> Iterator[SideFact]:
        candidates = self._finder.candidates([*atoms, extra], len(atoms), facts)
        if candidates:
            yield SideFact(extra["kind"], extra["text"], extra["object"], tuple(candidates), form)

    def _group(self, word: str) -> str:
        return self._tables.attributes.get(word, ("",))[0]

    @staticmethod
    def _atom(kind: str, text: str, owner: int) -> dict:
        return {"kind": kind, "text": text, "surface": text, "name": text, "subject": -1, "object": owner}


def _is_shown(box: tuple[int, int, int, int], crop: Mapping) -> bool:
    """Says whether a crop shows the object in a box."""
    if None in box:
        return False
    shown = intersection(box, tuple(crop[side] for side in SIDES))
    return holds_centre(crop, dict(zip(SIDES, box, strict=True))) and shown >= LEAST_SHOWN * box[2] * box[3]
