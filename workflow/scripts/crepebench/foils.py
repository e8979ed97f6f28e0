"""Make the systematicity foils of a region: HN-Atom and HN-Comp, protocol `paper`.

Source: paper sections 3.2, 4.1 and A.5. HN-Atom changes exactly one atom of the caption. HN-Comp joins two compounds,
each with one atomic foil: "a {A} {foil(o)} and {foil(A)} {o}", so that both true atoms are there, each bound to a foil.

# ASSUME: the form for object-relation-object is not attested; by analogy, and with articles where English wants them,
# it is "a {o1} {r} a {foil(o2)} and a {foil(o1)} {r} a {o2}".
# ASSUME: no language model judges the foils. The paper's BERT filter has neither a named checkpoint nor a threshold.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from crepebench import inflection
from crepebench.families import ATOM, COMBINED, COMP, FOIL_TYPES, SYSTEMATICITY
from crepebench.graphs import ATTRIBUTE, ATTRIBUTE_OBJECT, ENDINGS, OBJECT, OBJECT_RELATION_OBJECT, RELATION
from crepebench.image_facts import ImageFacts
from crepebench.replacements import Candidate, CandidateFinder
from crepebench.word_pool import Pool

N_FOILS = {ATOM: 4, COMP: 6}
"""Foils of each part of a set. Source: paper A.5 (4 + 6 foils a query)."""
MADE_OF = re.compile(r"\b(?:made|built) (?:out )?(?:of|from) $")
VISUAL_GENOME = "visual_genome"
"""Source of a caption: the annotator's."""


@dataclass(frozen=True)
class Foil:
    """One false caption; see `crepebench.schema.FOIL`."""

    text: str
    kind: str
    original: str
    replacement: str
    source: str


@dataclass(frozen=True)
class Draft:
    """The truth of one foil_type with its foils, or those to choose from; or the reason why there are not enough."""

    caption: str = ""
    caption_source: str = ""
    complexity: int = 0
    foils: tuple[Foil, ...] = ()
    reason: str = ""


class FoilBuilder:
    """Builds the foils of regions.

    Args:
        finder: finds replacements.
        pool: words that replacements come from.
        seed: seed of all choices; each region's choices depend on it and the region's id alone.
        n_candidates: most foils to make for a set; the first of them become its foils, the others are spare.
    """

    def __init__(self, finder: CandidateFinder, pool: Pool, seed: int, n_candidates: int):
        self._finder = finder
        self._pool = pool
        self._seed = seed
        self._n_candidates = n_candidates

    def drafts(self, region_id: int, caption: str, atoms: list[dict], facts: ImageFacts) -> dict[str, Draft]:
        """Returns truth and candidates of one region by foil_type (atom, comp, combined)."""
        rng = np.random.default_rng([self._seed, region_id])
        candidates = self._shuffled_candidates(atoms, facts, rng)
        atom_foils = take_foils(self._atom_foils(caption, atoms, candidates, rng), self._n_candidates, caption)
        comp_foils = take_foils(self._comp_foils(atoms, candidates, rng), self._n_candidates, caption)
        reason = "atom_foils" if len(atom_foils) < N_FOILS[ATOM] else ""
        reason = reason or ("comp_foils" if len(comp_foils) < N_FOILS[COMP] else "")
        if reason:
            return {foil_type: Draft(reason=reason) for foil_type in FOIL_TYPES[SYSTEMATICITY]}
        foils = {ATOM: atom_foils, COMP: comp_foils, COMBINED: atom_foils + comp_foils}
        return {name: Draft(caption, VISUAL_GENOME, len(atoms), tuple(found)) for name, found in foils.items()}

    def _shuffled_candidates(self, atoms: list[dict], facts: ImageFacts, rng) -> dict[int, list[Candidate]]:
        """Returns the replacements of every atom in random order."""
        candidates = {}
        for index in range(len(atoms)):
            found = self._finder.candidates(atoms, index, facts)
            candidates[index] = [found[i] for i in rng.permutation(len(found))]
        return candidates

    def _atom_foils(self, caption: str, atoms: list[dict], candidates: dict, rng) -> Iterator[Foil]:
        """Yields captions with one atom replaced; the atoms take turns, so that foils spread over the caption."""
        usable = [i for i, atom in enumerate(atoms) if _is_replaceable(caption, atoms, atom)]
        turns = [usable[i] for i in rng.permutation(len(usable))]
        for index, candidate in in_turns({i: candidates[i] for i in turns}):
            atom = atoms[index]
            words = inflected(atom, candidate.text, self._pool.relation_forms)
            text = inflection.replace_span(caption, atom["start"], atom["end"], words)
            yield Foil(text, atom["kind"], atom["text"], candidate.text, candidate.source)

    def _comp_foils(self, atoms: list[dict], candidates: dict, rng) -> Iterator[Foil]:
        """Yields two joined compounds, each with one foil; the compounds of the region take turns."""
        pairs_of_join = {}
        for index, atom in enumerate(atoms):
            if atom["kind"] == ATTRIBUTE:
                parts = index, atom["object"]
            elif atom["kind"] == RELATION:
                parts = atom["subject"], atom["object"]
            else:
                continue
            grid = [(a, b) for a in candidates[parts[0]] for b in candidates[parts[1]]]
            pairs_of_join[index] = [grid[i] for i in rng.permutation(len(grid))]
        turns = [list(pairs_of_join)[i] for i in rng.permutation(len(pairs_of_join))]
        for index, pair in in_turns({index: pairs_of_join[index] for index in turns}):
            make = self._pair_foil if atoms[index]["kind"] == ATTRIBUTE else self._triple_foil
            yield make(atoms, atoms[index], *pair)

    def _pair_foil(
        self, atoms: list[dict], attribute: dict, other_attribute: Candidate, other_object: Candidate
    ) -> Foil:
        """Returns "a {A} {foil(o)} and {foil(A)} {o}"; both nouns in the number of o."""
        object_ = atoms[attribute["object"]]
        noun = inflection.match_noun(object_["text"], object_["surface"], other_object.text)
        first = f"{attribute['surface']} {noun}"
        second = inflection.match_adjective(attribute["text"], attribute["surface"], other_attribute.text)
        if not inflection.is_plural(object_["text"], object_["surface"]):
            first = f"{inflection.article_for(first)} {first}"
        return Foil(
            f"{first} and {second} {object_['surface']}",
            ATTRIBUTE_OBJECT,
            f"{attribute['text']} {object_['text']}",
            f"{attribute['text']} {other_object.text} and {other_attribute.text} {object_['text']}",
            f"{other_object.source}; {other_attribute.source}",
        )

    def _triple_foil(
        self, atoms: list[dict], relation: dict, other_subject: Candidate, other_object: Candidate
    ) -> Foil:
        """Returns "a {o1} {r} a {foil(o2)} and a {foil(o1)} {r} a {o2}"; nouns in the number of those they replace."""
        subject, object_ = atoms[relation["subject"]], atoms[relation["object"]]
        middle = self._pool.relation_forms[relation["text"]]

        def phrase(noun: dict, word: str) -> str:
            if inflection.is_plural(noun["text"], noun["surface"]):
                return inflection.inflect(word, "NNS")
            return f"{inflection.article_for(word)} {word}"

        first = f"{phrase(subject, subject['text'])} {middle} {phrase(object_, other_object.text)}"
        second = f"{phrase(subject, other_subject.text)} {middle} {phrase(object_, object_['text'])}"
        return Foil(
            f"{first} and {second}",
            OBJECT_RELATION_OBJECT,
            f"{subject['text']} {relation['text']} {object_['text']}",
            f"{subject['text']} {relation['text']} {other_object.text} and "
            f"{other_subject.text} {relation['text']} {object_['text']}",
            f"{other_object.source}; {other_subject.source}",
        )


def inflected(atom: Mapping, replacement: str, relation_forms: Mapping[str, str]) -> str:
    """Returns a replacement in the form of the atom that it replaces.

    Args:
        atom: `kind`, `text` (normal form) and `surface` (as it stands) of the atom.
        replacement: normal form of the replacement.
        relation_forms: each relation as it follows a noun.
    """
    if atom["kind"] == OBJECT:
        return inflection.match_noun(atom["text"], atom["surface"], replacement)
    if atom["kind"] == ATTRIBUTE:
        return inflection.match_adjective(atom["text"], atom["surface"], replacement)
    return inflection.match_relation(atom["text"], atom["surface"], relation_forms[replacement])


def _has_own_span(atoms: list[dict], atom: dict) -> bool:
    """Says whether no other atom stands in the characters of an atom, so that it can be replaced alone."""
    return not any(
        other is not atom and other["start"] < atom["end"] and atom["start"] < other["end"] for other in atoms
    )


def _is_replaceable(caption: str, atoms: list[dict], atom: dict) -> bool:
    """Says whether an atom stands for itself: it is no ending, holds no other atom, and is no material."""
    is_material = atom["kind"] == OBJECT and MADE_OF.search(caption[: atom["start"]])
    return _has_own_span(atoms, atom) and atom["surface"] not in ENDINGS and not is_material


def in_turns(items: Mapping) -> Iterator[tuple]:
    """Yields (key, value) from lists by key: the first of each, then the second of each, and so on."""
    for round_ in range(max(map(len, items.values()), default=0)):
        for key, values in items.items():
            if round_ < len(values):
                yield key, values[round_]


def take_foils(foils: Iterable[Foil], n_foils: int, caption: str) -> list[Foil]:
    """Takes the first foils that differ from the caption and from each other, whatever their case and spacing."""
    taken, seen = [], {normal_text(caption)}
    for foil in foils:
        if normal_text(foil.text) not in seen:
            seen.add(normal_text(foil.text))
            taken.append(foil)
            if len(taken) == n_foils:
                break
    return taken


def normal_text(text: str) -> str:
    """Returns a text as compared with others: lower case, single spaces."""
    return " ".join(text.lower().split())
