"""Find replacements for atoms that are false in an image.

Source: paper section 4.1: antonyms and cousins of WordNet, absent from the image.
"""

from dataclasses import dataclass

from crepebench import inflection
from crepebench.graphs import ATTRIBUTE, OBJECT, RELATION
from crepebench.image_facts import ImageFacts
from crepebench.lemmas import PLURALIA_TANTUM
from crepebench.word_pool import Pool
from crepebench.word_tables import WordTables
from crepebench.wordnet import Lexicon


@dataclass(frozen=True)
class Candidate:
    """A replacement for an atom: its normal form, and where it comes from."""

    text: str
    source: str


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
