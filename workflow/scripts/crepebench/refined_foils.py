"""Make the systematicity foils of a region in protocol `refined`: truth and foils have one form.

HN-Atom changes one atom of the caption, as in protocol `paper`. HN-Comp there joins two false compounds, while the
truth is the annotator's caption; " and " alone tells them apart. Here the truth of HN-Comp is "a {A} {o} and a {A'}
{o'}", from two true compounds of the region, and each foil puts a wrong atom into both: the true atoms that are left
are each bound to a foil, as in the paper. `combined` has that truth, and foils with one wrong atom beside those with
two.

More foils than a set holds are made, so that `crepebench.refinement` has a choice.
"""

from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np

from crepebench import inflection
from crepebench.families import ATOM, COMBINED, COMP
from crepebench.foils import (
    N_FOILS,
    VISUAL_GENOME,
    Draft,
    Foil,
    FoilBuilder,
    in_turns,
    take_foils,
)
from crepebench.graphs import ATTRIBUTE, ATTRIBUTE_OBJECT, OBJECT, OBJECT_RELATION_OBJECT, RELATION
from crepebench.image_facts import ImageFacts
from crepebench.replacements import Candidate
from crepebench.word_pool import Pool

MIXED = "mixed"
"""Kind of a foil whose two compounds are of different kinds."""
COMPOUNDS = "compounds"
"""Source of a caption: joined from two compounds of the region."""


class CompoundText:
    """A compound as a noun phrase with its article: "a red jar", "a man wearing a hat".

    Args:
        atoms: atoms of the region.
        index: place of the attribute or relation that makes the compound.
        pool: has the forms of relations.
        mass_nouns: nouns without an article.
    """

    def __init__(self, atoms: list[dict], index: int, pool: Pool, mass_nouns: frozenset[str]):
        self._atoms, self._pool, self._mass_nouns = atoms, pool, mass_nouns
        main = atoms[index]
        ends = (main["object"],) if main["kind"] == ATTRIBUTE else (main["subject"], main["object"])
        self.kind = ATTRIBUTE_OBJECT if main["kind"] == ATTRIBUTE else OBJECT_RELATION_OBJECT
        self.slots = (index, *ends) if main["kind"] == ATTRIBUTE else (ends[0], index, ends[1])
        self.objects = frozenset(ends)
        self.nouns = frozenset(atoms[end]["text"] for end in ends)

    def text(self, replaced: Mapping[int, str]) -> str:
        """Returns the phrase, with other words in the slots `replaced`; nouns keep their number."""
        words = [self._word(index, replaced.get(index)) for index in self.slots]
        nouns = [i for i, index in enumerate(self.slots) if self._atoms[index]["kind"] == OBJECT]
        starts = [0] if self.kind == ATTRIBUTE_OBJECT else nouns
        for start, noun in zip(starts, nouns, strict=True):
            atom = self._atoms[self.slots[noun]]
            lemma = replaced.get(self.slots[noun], atom["text"])
            if not inflection.is_plural(atom["text"], atom["surface"]) and lemma not in self._mass_nouns:
                words[start] = f"{inflection.article_for(words[start])} {words[start]}"
        return " ".join(words)

    def _word(self, index: int, replacement: str | None) -> str:
        """Returns the word in a slot as it stands in the phrase."""
        atom = self._atoms[index]
        if atom["kind"] == RELATION:
            return self._pool.relation_forms[replacement or atom["text"]]
        if replacement is None:
            return atom["surface"]
        match = inflection.match_noun if atom["kind"] == OBJECT else inflection.match_adjective
        return match(atom["text"], atom["surface"], replacement)

    def name(self, replaced: Mapping[int, str]) -> str:
        """Returns the normal forms of the atoms."""
        return " ".join(replaced.get(index, self._atoms[index]["text"]) for index in self.slots)


class RefinedFoilBuilder(FoilBuilder):
    """Builds truths of one form with their foils, and more foils than a set holds.

    Args:
        finder: finds replacements.
        pool: words that replacements come from.
        seed: seed of all choices; each region's choices depend on it and the region's id alone.
        n_candidates: most foils to make for a set.
        mass_nouns: nouns without an article.
    """

    def __init__(self, finder, pool: Pool, seed: int, n_candidates: int, mass_nouns: frozenset[str]):
        super().__init__(finder, pool, seed, n_candidates)
        self._mass_nouns = mass_nouns

    def drafts(self, region_id: int, caption: str, atoms: list[dict], facts: ImageFacts) -> dict[str, Draft]:
        """Returns truth and candidates by foil_type (atom, comp, combined)."""
        rng = np.random.default_rng([self._seed, region_id])
        candidates = self._shuffled_candidates(atoms, facts, rng)
        found = take_foils(self._atom_foils(caption, atoms, candidates, rng), self._n_candidates, caption)
        drafts = {ATOM: Draft(caption, VISUAL_GENOME, len(atoms), tuple(found))}
        if len(found) < N_FOILS[ATOM]:
            drafts[ATOM] = Draft(reason="atom_foils")
        return drafts | self._joined_drafts(atoms, candidates, rng)

    def _joined_drafts(self, atoms: list[dict], candidates: dict, rng) -> dict[str, Draft]:
        """Returns the drafts whose truth joins two compounds; of several pairs of them one at random.

        # ASSUME: two compounds that share an object are no pair: "a red jar and a small jar" are two jars.
        """
        compounds = [
            CompoundText(atoms, index, self._pool, self._mass_nouns)
            for index, atom in enumerate(atoms)
            if atom["kind"] in (ATTRIBUTE, RELATION)
        ]
        # ASSUME: the compounds are of the region's own graph, not of all that the crop shows, since its split
        # says what a corpus has shown of that graph.
        pairs = [pair for pair in combinations(compounds, 2) if pair[0].nouns.isdisjoint(pair[1].nouns)]
        reason = "one_compound"
        for place in rng.permutation(len(pairs)):
            pair = pairs[place]
            caption = _joined(pair, {})
            comp = take_foils(_pair_foils(pair, atoms, candidates, rng), self._n_candidates, caption)
            single = take_foils(_single_foils(pair, atoms, candidates, rng), self._n_candidates, caption)
            reason = "comp_foils" if len(comp) < N_FOILS[COMP] else "atom_foils" if len(single) < N_FOILS[ATOM] else ""
            if not reason:
                n_atoms = sum(len(compound.slots) for compound in pair)
                return {
                    COMP: Draft(caption, COMPOUNDS, n_atoms, tuple(comp)),
                    COMBINED: Draft(caption, COMPOUNDS, n_atoms, tuple(single + comp)),
                }
        return {COMP: Draft(reason=reason), COMBINED: Draft(reason=reason)}


def _joined(pair: tuple[CompoundText, CompoundText], replaced: Mapping[int, str]) -> str:
    """Returns the two compounds as one text."""
    return " and ".join(compound.text(replaced) for compound in pair)


def _pair_foils(pair, atoms: list[dict], candidates: Mapping[int, list[Candidate]], rng) -> Iterator[Foil]:
    """Yields texts with one wrong atom in each compound; the pairs of slots take turns."""
    kinds = {compound.kind for compound in pair}
    kind = kinds.pop() if len(kinds) == 1 else MIXED
    grids = {}
    for slots in [(one, other) for one in pair[0].slots for other in pair[1].slots]:
        grid = [(a, b) for a in candidates[slots[0]] for b in candidates[slots[1]]]
        grids[slots] = [grid[i] for i in rng.permutation(len(grid))]
    order = [list(grids)[i] for i in rng.permutation(len(grids))]
    for slots, chosen in in_turns({slots: grids[slots] for slots in order}):
        replaced = {slot: candidate.text for slot, candidate in zip(slots, chosen, strict=True)}
        names = (" and ".join(compound.name(words) for compound in pair) for words in ({}, replaced))
        yield Foil(_joined(pair, replaced), kind, *names, "; ".join(candidate.source for candidate in chosen))


def _single_foils(pair, atoms: list[dict], candidates: Mapping[int, list[Candidate]], rng) -> Iterator[Foil]:
    """Yields texts with one wrong atom; the slots take turns."""
    slots = [*pair[0].slots, *pair[1].slots]
    order = [slots[i] for i in rng.permutation(len(slots))]
    for slot, candidate in in_turns({slot: candidates[slot] for slot in order}):
        atom = atoms[slot]
        yield Foil(_joined(pair, {slot: candidate.text}), atom["kind"], atom["text"], candidate.text, candidate.source)
