"""Make the productivity foils of a subgraph's caption in protocol `refined`: every candidate has one form.

In the released HN-Neg sets only foils hold negations, so that "no negation" finds the truth. Here the truth has one,
too: an atom of the caption is replaced by a false one, and that is negated ("a jar not behind a box" of one above it).
Its foils negate what is true ("a jar not above a box"), or they hold the truth's own words and negate another atom ("a
red jar behind a box. there is no fan"), so that the replacement's word is no mark of the truth. Every candidate has one
negation and names as many atoms as the caption.

`overall` has one truth for all parts: the caption, and a sentence that denies something false that the caption does not
speak of (`crepebench.side_facts`). Foils of the types atom and swap change the caption and keep that sentence; those of
the type negate keep the caption and deny something true instead.

# ASSUME: the truth negates an atom, or the whole, drawn as often as foils negate it, so that the kind tells nothing.
# ASSUME: only what has a false replacement is negated, in the foils as in the truth: "without a door" would be false
wherever it stands.
# ASSUME: "a man not wearing a hat" may be true of another man. So what is true of a man is negated only where the crop
shows no other object of that name, or where the foil says something false beside it.
# ASSUME: the complexity of a set `overall` is that of its caption; the sentence behind it is not counted.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from crepebench.caption_words import normalise
from crepebench.families import ATOM, NEGATE, OVERALL, SWAP
from crepebench.foils import Draft, Foil
from crepebench.graphs import ATTRIBUTE, RELATION
from crepebench.negations import KIND_NEGATED, WHOLE, Slot, ended
from crepebench.productivity_foils import PLAIN, Frame, ProductivityFoilBuilder, Source, negated_foil, shuffled
from crepebench.replacements import Candidate
from crepebench.side_facts import SideFact, SideFactFinder


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

    def __init__(self, finder, tables, pool, seed: int, n_foils: int, n_candidates: int):
        super().__init__(finder, tables, pool, seed, n_foils, n_candidates)
        self._side_facts = SideFactFinder(finder, self._checker, tables, pool)

    def _negated_drafts(self, source: Source, drafts: Mapping[str, Draft], rng) -> dict[str, Draft]:
        """Returns the drafts of `negate` and `overall`."""
        return {NEGATE: self._negate_draft(source, rng), OVERALL: self._overall_draft(source, drafts, rng)}

    def _negate_draft(self, source: Source, rng) -> Draft:
        """Returns the draft whose truth has a false atom and negates it."""
        truths, denied = [], []
        for slot, text in shuffled(self._negatable(source), rng):
            if found := self._truth(source, slot, rng):
                truths.append(found)
                denied.append((slot, text))
        if not truths:
            return Draft(reason=f"{NEGATE}_foils")
        n_foils = np.array([self._is_certain(source, slot) + (slot.kind != WHOLE) for slot, _ in denied])
        truth = truths[rng.choice(len(truths), p=n_foils / n_foils.sum())]
        return self._draft(source, truth.text, {NEGATE: self._denials(source, truth, denied)})

    def _overall_draft(self, source: Source, drafts: Mapping[str, Draft], rng) -> Draft:
        """Returns the draft whose truth is the caption and a true denial of something else."""
        for part in (ATOM, SWAP):
            if drafts[part].reason:
                return Draft(reason=drafts[part].reason)
        beside = shuffled(self._side_facts.find(source.caption, source.atoms, source.facts, source.crop), rng)
        if len(beside) < self._n_foils:
            return Draft(reason=f"{NEGATE}_foils")
        fact = beside[rng.integers(len(beside))]
        denial = fact.deny(shuffled(fact.candidates, rng)[0].text)
        frame = Frame(fixed=frozenset((fact.owner,)))  # the denial speaks of it
        parts = {
            ATOM: (_with_denial(foil, denial) for foil in self._atom_foils(source, frame, rng)),
            SWAP: (_with_denial(foil, denial) for foil in self._swap_foils(source, PLAIN, rng)),
            NEGATE: self._side_denials(source, beside),
        }
        return self._draft(source, f"{ended(source.caption.text)} {denial}", parts)

    def _side_denials(self, source: Source, beside: Sequence[SideFact]) -> Iterator[Foil]:
        """Yields the caption with a sentence behind it that denies something true."""
        for fact in beside:
            text = normalise(f"{ended(source.caption.text)} {fact.deny(fact.text)}")
            yield Foil(text, KIND_NEGATED[fact.kind], fact.text, f"not {fact.text}", "beside the caption")

    def _truth(self, source: Source, slot: Slot, rng) -> Truth | None:
        """Returns the true text that negates a false atom in a slot; None where no false atom fits."""
        places = [slot.atom] if slot.kind != WHOLE else shuffled(range(len(source.atoms)), rng)
        for index in places:
            for candidate in source.candidates[index]:
                replaced = {index: self._replaced(source.atoms[index], candidate)}
                if text := self._text(source, Frame(replaced, slot)):
                    return Truth(text, slot, index, candidate)
        return None

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


def _with_denial(foil: Foil, denial: str) -> Foil:
    """Returns a foil with a sentence behind it."""
    return replace(foil, text=f"{ended(foil.text)} {denial}")
