"""Make the productivity foils of a subgraph's caption in protocol `refined`: every candidate has one form.

In the released HN-Neg sets only foils hold negations, so that "no negation" finds the truth. Here the truth has one,
too: an atom of the caption is replaced by a false one, and that is negated ("a jar not behind a box" of one above it).
Its foils negate what is true ("a jar not above a box"), or they hold the truth's own words and negate another atom ("a
red jar behind a box. there is no fan"), so that the replacement's word is no mark of the truth. Every candidate has one
negation and names as many atoms as the caption.

`overall` has one truth for all parts, with such a negation; its foils of the types atom and swap keep the negation and
change something else.

# ASSUME: the truth negates an atom, or the whole, drawn as often as foils negate it, so that the kind tells nothing.
# ASSUME: only what has a false replacement is negated, in the foils as in the truth: "without a door" would be false
wherever it stands.
# ASSUME: "a man not wearing a hat" may be true of another man. So what is true of a man is negated only where the crop
shows no other object of that name, or where the foil says something false beside it.
# ASSUME: where the truth denies the whole there is no set `overall`, since another false atom would leave it true.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from crepebench.families import ATOM, NEGATE, OVERALL, SWAP
from crepebench.foils import Draft, Foil
from crepebench.graphs import ATTRIBUTE, OBJECT, RELATION
from crepebench.negations import WHOLE, Slot
from crepebench.productivity_foils import Frame, ProductivityFoilBuilder, Source, negated_foil, shuffled
from crepebench.replacements import Candidate


class Truth(NamedTuple):
    """A true text with one negation.

    Attributes:
        text: the text.
        slot: what is negated.
        index: place of the atom that is replaced by a false one.
        candidate: its replacement.
    """

    text: str
    slot: Slot
    index: int
    candidate: Candidate


class RefinedProductivityFoilBuilder(ProductivityFoilBuilder):
    """Builds truths of one form with their foils; see `ProductivityFoilBuilder` for the arguments."""

    def _negated_drafts(self, source: Source, drafts: Mapping[str, Draft], rng) -> dict[str, Draft]:
        """Returns the drafts of `negate` and `overall`."""
        truths, denied = [], []
        for slot, text in shuffled(self._negatable(source), rng):
            if found := self._truth(source, slot, rng):
                truths.append(found)
                denied.append((slot, text))
        if not truths:
            return dict.fromkeys((NEGATE, OVERALL), Draft(reason=f"{NEGATE}_foils"))
        n_foils = np.array([self._is_certain(source, slot) + (slot.kind != WHOLE) for slot, _ in denied])
        truth = truths[rng.choice(len(truths), p=n_foils / n_foils.sum())]
        frame = self._frame(source, truth)
        negated = self._draft(source, truth.text, {NEGATE: self._denials(source, truth, denied)})
        is_whole = truth.slot.kind == WHOLE
        parts = {
            ATOM: () if is_whole else self._atom_foils(source, frame, rng),
            SWAP: () if is_whole else self._swap_foils(source, frame, rng),
            NEGATE: negated.foils,
        }
        return {NEGATE: negated, OVERALL: self._draft(source, truth.text, parts)}

    def _truth(self, source: Source, slot: Slot, rng) -> Truth | None:
        """Returns the true text that negates a false atom in a slot; None where no false atom fits."""
        places = [slot.atom] if slot.kind != WHOLE else shuffled(range(len(source.atoms)), rng)
        for index in places:
            for candidate in source.candidates[index]:
                replaced = {index: self._replaced(source.atoms[index], candidate)}
                if text := self._text(source, Frame(replaced, slot)):
                    return Truth(text, slot, index, candidate)
        return None

    def _frame(self, source: Source, truth: Truth) -> Frame:
        """Returns what the other foils of a truth keep: its negation, and what hangs on an object that it denies."""
        index, changed = truth.index, {truth.index: self._replaced(source.atoms[truth.index], truth.candidate)}
        unsure = {index}
        if truth.slot.kind == OBJECT:  # of "something above a box" nothing else is known to be false
            unsure |= {i for i, atom in enumerate(source.atoms) if index in (atom["subject"], atom["object"])}
        return Frame(changed, truth.slot, frozenset((index,)), frozenset(unsure))

    def _denials(self, source: Source, truth: Truth, denied: list[tuple[Slot, str]]) -> Iterator[Foil]:
        """Yields the caption with what is true of it negated, then the truth's words with another atom negated."""
        for slot, text in denied:
            if self._is_certain(source, slot):
                yield negated_foil(source.atoms, slot, text)
        changed = {truth.index: self._replaced(source.atoms[truth.index], truth.candidate)}
        told = f"negation; {source.atoms[truth.index]['text']} as {truth.candidate.text}: {truth.candidate.source}"
        for slot, _ in denied:
            is_other = slot.kind != WHOLE and slot.atom != truth.index
            if is_other and (text := self._text(source, Frame(changed, slot))):
                yield negated_foil(source.atoms, slot, text, told)

    def _is_certain(self, source: Source, slot: Slot) -> bool:
        """Says whether the negation of a slot is false of everything in the crop."""
        if slot.kind not in (RELATION, ATTRIBUTE):
            return True
        atom = source.atoms[slot.atom]
        ends = [atom["object"]] if slot.kind == ATTRIBUTE else [atom["subject"], atom["object"]]
        return all(self._checker.is_alone(source.atoms[end], source.facts, source.crop) for end in ends)
