"""Make the systematicity foils of a region: HN-Atom and HN-Comp, protocol `paper`.

Source: paper sections 3.2, 4.1 and A.5. HN-Atom changes exactly one atom of the caption. HN-Comp joins two compounds,
each with one atomic foil: "a {A} {foil(o)} and {foil(A)} {o}", so that both true atoms are there, each bound to a foil.

# ASSUME: the form for object-relation-object is not attested; by analogy, and with articles where English wants them,
# it is "a {o1} {r} a {foil(o2)} and a {foil(o1)} {r} a {o2}".
# ASSUME: no language model judges the foils. The paper's BERT filter has neither a named checkpoint nor a threshold.
# ASSUME: replacements must occur as atoms in the graphs of the test regions at least `min_pool_count` times. So foils
# stay within the words that people use for such pictures, and rare or odd words of WordNet do not come in.
"""

import csv
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from crepebench import inflection
from crepebench.graphs import (
    ATTRIBUTE,
    ATTRIBUTE_OBJECT,
    ENDINGS,
    OBJECT,
    OBJECT_RELATION_OBJECT,
    RELATION,
)
from crepebench.lemmas import PLURALIA_TANTUM
from crepebench.wordnet import Lexicon

N_ATOM_FOILS = 4
N_COMP_FOILS = 6
"""Foils of a set. Source: paper A.5 (4 + 6 foils a query)."""


@dataclass(frozen=True)
class Candidate:
    """A replacement for an atom: its normal form, and where it comes from."""

    text: str
    source: str


@dataclass(frozen=True)
class Foil:
    """One false caption; see `crepebench.schema.FOIL`."""

    text: str
    kind: str
    original: str
    replacement: str
    source: str


@dataclass
class ImageFacts:
    """What is known to be true in an image, from its objects, relationships and the graphs of its regions.

    Attributes:
        kinds: names of all objects, whole and head noun.
        attributes: attributes of each kind.
        triples: (subject, relation, object).
        synsets: WordNet synsets that annotators gave to objects of each name, in the order of the objects.
    """

    kinds: set[str] = field(default_factory=set)
    attributes: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    triples: set[tuple[str, str, str]] = field(default_factory=set)
    synsets: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))


@dataclass(frozen=True)
class WordTables:
    """The committed tables of words that exclude each other.

    Attributes:
        attributes: group and contrasting words of each attribute.
        relations: contrasting relations of each relation.
        same: relations that say the same as a relation, itself included.
        inverses: what a relation may be called from the other side, words that say the same included.
        compatible: pairs of attributes of one group that may both be true.
    """

    attributes: dict[str, tuple[str, tuple[str, ...]]]
    relations: dict[str, tuple[str, ...]]
    same: dict[str, frozenset[str]]
    inverses: dict[str, frozenset[str]]
    compatible: frozenset[frozenset[str]]


def read_word_tables(attributes_path: str, relations_path: str) -> WordTables:
    """Reads `resources/foils/attributes.csv` and `relations.csv`."""
    with open(attributes_path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    never = {frozenset((row["attribute"], other)) for row in rows for other in row["never_for"].split()}
    attributes = {}
    for row in rows:
        word, group = row["attribute"], row["group"]
        others = (other["attribute"] for other in rows if other["group"] == group and other is not row)
        attributes[word] = group, tuple(other for other in others if frozenset((word, other)) not in never)
    with open(relations_path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    relations = {row["relation"]: tuple(_split(row["foils"])) for row in rows}
    same = {row["relation"]: frozenset({row["relation"], *_split(row["same_as"])}) for row in rows}
    inverses = defaultdict(set)
    for row in rows:
        for inverse in _split(row["inverses"]):
            for relation, other in ((row["relation"], inverse), (inverse, row["relation"])):
                inverses[relation] |= same.get(other, {other})
    return WordTables(
        attributes=attributes,
        relations=relations,
        same=same,
        inverses={relation: frozenset(others) for relation, others in inverses.items()},
        compatible=frozenset(never),
    )


def _split(cell: str) -> list[str]:
    """Splits a cell that lists relations."""
    return [word for word in cell.split(";") if word]


@dataclass(frozen=True)
class Pool:
    """The words that replacements may come from: normal forms of atoms that the test regions' graphs hold often.

    Attributes:
        words: normal forms by kind of atom.
        relation_forms: the commonest form of each relation as it follows a noun ("hang from": "hanging from").
    """

    words: Mapping[str, frozenset[str]]
    relation_forms: Mapping[str, str]


def build_pool(graphs: Iterable[list[dict]], min_count: int) -> Pool:
    """Collects the pool from graphs.

    Args:
        graphs: column `atoms` of table GRAPHS.
        min_count: least number of times that an atom must occur.
    """
    counts: Counter = Counter()
    forms: dict[str, Counter] = defaultdict(Counter)
    for atoms in graphs:
        for atom in atoms:
            counts[atom["kind"], atom["text"]] += 1
            if atom["kind"] == RELATION:
                forms[atom["text"]].update([atom["surface"]] if atom["surface"] not in ENDINGS else [])
    words = {
        kind: frozenset(text for (k, text), count in counts.items() if k == kind and count >= min_count)
        for kind in (OBJECT, ATTRIBUTE, RELATION)
    }
    return Pool(words, {text: _participial_form(text, surfaces) for text, surfaces in forms.items()})


def _participial_form(relation: str, surfaces: Counter) -> str:
    """Returns the commonest surface without a finite verb, else the present participle."""
    by_count = sorted(surfaces, key=lambda surface: (-surfaces[surface], surface))
    n_words = relation.count(" ")
    usable = (s for s in by_count if inflection.verb_tag(relation, s) in ("", "VBG", "VBN") and s.count(" ") == n_words)
    return next(
        usable, relation if inflection.verb_tag(relation, relation) == "" else inflection.inflect(relation, "VBG")
    )


class CandidateFinder:
    """Finds replacements for atoms that are false in an image.

    Args:
        lexicon: WordNet.
        tables: tables of contrasting words.
        pool: words that replacements may come from.
    """

    def __init__(self, lexicon: Lexicon, tables: WordTables, pool: Pool):
        self._lexicon = lexicon
        self._tables = tables
        self._pool = pool
        self._object_cache: dict[tuple[str, str], list[Candidate]] = {}

    def candidates(self, atoms: list[dict], index: int, facts: ImageFacts) -> list[Candidate]:
        """Returns the replacements of one atom, sorted by text.

        Args:
            atoms: atoms of the region.
            index: the atom's place among them.
            facts: what is true in the image.
        """
        atom = atoms[index]
        if atom["kind"] == OBJECT:
            plural = inflection.is_plural(atom["text"], atom["surface"])
            found = [c for c in self._object_candidates(atom["text"], facts) if self._is_absent(c.text, facts)]
            return [c for c in found if plural or c.text not in PLURALIA_TANTUM]
        if atom["kind"] == ATTRIBUTE:
            names = self._names(atoms[atom["object"]]["text"], facts)
            true = set().union(*(facts.attributes.get(name, ()) for name in names))
            return [c for c in self._attribute_candidates(atom["text"]) if not self._may_be_true(c.text, true)]
        ends = atoms[atom["subject"]]["text"], atoms[atom["object"]]["text"]
        return [c for c in self._relation_candidates(atom["text"]) if not self._holds(ends[0], c.text, ends[1], facts)]

    def _object_candidates(self, text: str, facts: ImageFacts) -> list[Candidate]:
        name = next((n for n in facts.synsets.get(text, ()) if self._lexicon.is_sense_of(n, text)), "")
        if (text, name) not in self._object_cache:
            synset = self._lexicon.synset(name) or self._visible_sense(text)
            cousins = self._lexicon.cousins(synset) if synset else frozenset()
            source = f"cousin of {synset.name()}" if synset else ""
            found = {word: source for word in cousins}
            found.update({word: f"antonym of {text}" for word in self._lexicon.antonyms(text, "n")})
            allowed = self._pool.words[OBJECT] - self._lexicon.relatives(text, "n")
            self._object_cache[text, name] = [Candidate(word, found[word]) for word in sorted(found.keys() & allowed)]
        return self._object_cache[text, name]

    def _visible_sense(self, text: str):
        """Returns the most frequent noun sense that is a physical entity, None where there is none.

        # ASSUME: where Visual Genome gives no synset, the sense is the first that can be seen, never the first blindly.
        """
        return next((s for s in self._lexicon.synsets(text, "n") if self._lexicon.is_physical(s)), None)

    def _is_absent(self, text: str, facts: ImageFacts) -> bool:
        """Says whether no object of the image is of that kind, or may be called so."""
        return not self._lexicon.relatives(text, "n") & facts.kinds

    def _names(self, kind: str, facts: ImageFacts) -> set[str]:
        """Returns the names under which an object of a kind may be listed in the image: a taxi is a car, too."""
        return {kind} | (self._lexicon.relatives(kind, "n") & facts.kinds)

    def _attribute_candidates(self, text: str) -> list[Candidate]:
        if text in self._tables.attributes:
            group, others = self._tables.attributes[text]
            found = {word: f"table of {group}s" for word in others}
        else:
            found = {word: f"antonym of {text}" for word in self._lexicon.antonyms(text, "a")}
        allowed = self._pool.words[ATTRIBUTE] - self._lexicon.synonyms(text, "a")
        return [Candidate(word, found[word]) for word in sorted(found.keys() & allowed)]

    def _may_be_true(self, attribute: str, true: set[str]) -> bool:
        """Says whether an attribute is, or means much the same as, one that is true of the kind."""
        return any(
            attribute in self._lexicon.synonyms(other, "a") or frozenset((attribute, other)) in self._tables.compatible
            for other in true
        )

    def _relation_candidates(self, text: str) -> list[Candidate]:
        """Returns contrasting relations: from the table, else by replacing a verb with an antonym or cousin of it."""
        if text in self._tables.relations:
            found = {word: "table of relations" for word in self._tables.relations[text]}
        elif not inflection.verb_tag(text, text):
            found = {}  # a preposition that the table does not list
        else:
            verb, _, rest = text.partition(" ")
            synsets = self._lexicon.synsets(verb, "v")
            verbs = {}
            if synsets:
                source = f"cousin of {synsets[0].name()}"
                kin = self._lexicon.relatives(verb, "v")
                verbs = {word: source for word in self._lexicon.cousins(synsets[0]) - kin}
            verbs |= {word: f"antonym of {verb}" for word in self._lexicon.antonyms(verb, "v")}
            found = {f"{word} {rest}".strip(): source for word, source in verbs.items()}
        return [Candidate(word, found[word]) for word in sorted(found.keys() & self._pool.words[RELATION])]

    def _holds(self, subject: str, relation: str, object_: str, facts: ImageFacts) -> bool:
        """Says whether a triple is true in the image: in other words, of other names, or seen from the other side."""
        subjects, objects = self._names(subject, facts), self._names(object_, facts)
        forward = self._tables.same.get(relation, frozenset({relation}))
        backward = self._tables.inverses.get(relation, frozenset())
        return any(
            (first in subjects and name in forward and second in objects)
            or (first in objects and name in backward and second in subjects)
            for first, name, second in facts.triples
        )


class FoilBuilder:
    """Builds the foils of regions.

    Args:
        finder: finds replacements.
        pool: words that replacements come from.
        seed: seed of all choices; each region's choices depend on it and the region's id alone.
    """

    def __init__(self, finder: CandidateFinder, pool: Pool, seed: int):
        self._finder = finder
        self._pool = pool
        self._seed = seed

    def build(
        self, region_id: int, caption: str, atoms: list[dict], facts: ImageFacts
    ) -> tuple[dict[str, list[Foil]], str]:
        """Builds the foils of one region.

        Returns:
            Foils by foil_type (atom, comp, combined) and "", or an empty dict and the reason why the full number
            could not be made.
        """
        rng = np.random.default_rng([self._seed, region_id])
        candidates = {}
        for index in range(len(atoms)):
            found = self._finder.candidates(atoms, index, facts)
            candidates[index] = [found[i] for i in rng.permutation(len(found))]
        atom_foils = _take(self._atom_foils(caption, atoms, candidates, rng), N_ATOM_FOILS, caption)
        if len(atom_foils) < N_ATOM_FOILS:
            return {}, "atom_foils"
        comp_foils = _take(self._comp_foils(atoms, candidates, rng), N_COMP_FOILS, caption)
        if len(comp_foils) < N_COMP_FOILS:
            return {}, "comp_foils"
        return {"atom": atom_foils, "comp": comp_foils, "combined": atom_foils + comp_foils}, ""

    def _atom_foils(self, caption: str, atoms: list[dict], candidates: dict, rng) -> Iterator[Foil]:
        """Yields captions with one atom replaced; the atoms take turns, so that foils spread over the caption."""
        usable = [i for i, atom in enumerate(atoms) if _has_own_span(atoms, atom) and atom["surface"] not in ENDINGS]
        turns = [usable[i] for i in rng.permutation(len(usable))]
        for index, candidate in _in_turns({i: candidates[i] for i in turns}):
            atom = atoms[index]
            words = self._inflected(atom, candidate.text)
            text = inflection.replace_span(caption, atom["start"], atom["end"], words)
            yield Foil(text, atom["kind"], atom["text"], candidate.text, candidate.source)

    def _inflected(self, atom: dict, replacement: str) -> str:
        """Returns a replacement in the form of the atom that it replaces."""
        if atom["kind"] == OBJECT:
            return inflection.match_noun(atom["text"], atom["surface"], replacement)
        if atom["kind"] == ATTRIBUTE:
            return inflection.match_adjective(atom["text"], atom["surface"], replacement)
        return inflection.match_relation(atom["text"], atom["surface"], self._pool.relation_forms[replacement])

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
        for index, pair in _in_turns({index: pairs_of_join[index] for index in turns}):
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


def _has_own_span(atoms: list[dict], atom: dict) -> bool:
    """Says whether no other atom stands in the characters of an atom, so that it can be replaced alone."""
    return not any(
        other is not atom and other["start"] < atom["end"] and atom["start"] < other["end"] for other in atoms
    )


def _in_turns(items: Mapping) -> Iterator[tuple]:
    """Yields (key, value) from lists by key: the first of each, then the second of each, and so on."""
    for round_ in range(max(map(len, items.values()), default=0)):
        for key, values in items.items():
            if round_ < len(values):
                yield key, values[round_]


def _take(foils: Iterable[Foil], n_foils: int, caption: str) -> list[Foil]:
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
