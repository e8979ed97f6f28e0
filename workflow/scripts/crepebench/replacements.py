"""Find replacements for atoms that are false in an image.

Source: paper section 4.1: antonyms and cousins of WordNet, absent from the image. A replacement must commonly be
understood as the thing that it stands for (`crepebench.senses`), must not be blocked, and must not be true.
"""

from dataclasses import dataclass

from crepebench import inflection
from crepebench.graphs import ATTRIBUTE, OBJECT, RELATION
from crepebench.image_facts import ImageFacts
from crepebench.lemmas import PLURALIA_TANTUM
from crepebench.lexicon import DOWN, UP, Lexicon
from crepebench.senses import CHOSEN, Sense, SenseChooser
from crepebench.word_pool import Pool
from crepebench.word_tables import WordTables

THE_PICTURE = frozenset("background distance foreground image photo photograph picture scene shot view".split())
"""Nouns by which annotators speak of the picture and its depth."""


COLOUR = "colour"
"""Group of attributes."""


@dataclass(frozen=True)
class Candidate:
    """A replacement for an atom: its normal form, and where it comes from."""

    text: str
    source: str


class CandidateFinder:
    """Finds replacements for atoms that are false in an image.

    Args:
        lexicon: WordNet.
        tables: tables of words.
        pool: words that replacements may come from.
    """

    def __init__(self, lexicon: Lexicon, tables: WordTables, pool: Pool):
        self._lexicon = lexicon
        self._tables = tables
        self._pool = pool
        self._senses = SenseChooser(lexicon, pool.votes, pool.words_by_part_of_speech())
        self._cache: dict[tuple[str, str], list[Candidate]] = {}

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
            if self.is_complexion(atoms, index):
                return []
            names = self.names(atoms[atom["object"]]["text"], facts)
            true = set().union(*(facts.attributes.get(name, ()) for name in names))
            return [c for c in self._attribute_candidates(atom["text"]) if not self.may_be_true(c.text, true)]
        ends = atoms[atom["subject"]]["text"], atoms[atom["object"]]["text"]
        if not all(map(self._has_a_place, ends)):
            return []
        return [c for c in self._relation_candidates(atom["text"]) if not self.holds(ends[0], c.text, ends[1], facts)]

    def is_complexion(self, atoms: list[dict], index: int) -> bool:
        """Says whether an attribute is the colour of a person.

        # ASSUME: a colour said of a person is left alone: annotators mean skin or clothes, and no foil should turn on
        the one, nor be a purple man.
        """
        atom = atoms[index]
        if atom["kind"] != ATTRIBUTE or self._tables.attributes.get(atom["text"], ("",))[0] != COLOUR:
            return False
        sense = self._senses.usual_sense(atoms[atom["object"]]["text"], "n")
        return sense is not None and self._lexicon.is_person(sense.synset)

    def _object_candidates(self, text: str, facts: ImageFacts) -> list[Candidate]:
        """Returns cousins and antonyms of a noun; a mass noun is replaced by a mass noun, any other by none."""
        sense = self._senses.sense(text, "n", facts.synsets.get(text, ()))
        key = (text, str(sense))
        if key not in self._cache:
            found = self._cousins(sense, "n") if sense else {}
            found |= self._antonyms(text, sense)
            allowed = self._pool.words[OBJECT] - self._lexicon.relatives(text, "n")
            is_mass = text in self._tables.mass_nouns
            self._cache[key] = [
                Candidate(word, found[word])
                for word in sorted(found.keys() & allowed)
                if (word in self._tables.mass_nouns) == is_mass
                and not self._is_blocked(word)
                and not self._has_part(word, text)
            ]
        return self._cache[key]

    def _is_blocked(self, text: str) -> bool:
        """Says whether one of the words of a replacement is blocked: "senior citizen" says no more than "citizen"."""
        return not self._tables.blocked.isdisjoint(text.split())

    def _cousins(self, sense: Sense, pos: str) -> dict[str, str]:
        """Returns the words of the pool that are commonly understood as a cousin of a sense, with their source.

        # ASSUME: a sense that no annotator gave is a guess, so only its sisters count, one level up and one down: the
        legs of a table are no kind of keyboard, though both are devices.
        """
        pool = self._pool.words_by_part_of_speech()[pos]
        levels = (1, 1) if sense.origin == CHOSEN else (UP, DOWN)
        cousins = self._lexicon.cousin_senses(sense.synset, *levels)
        return {
            word: f"cousin of {sense}" for word in cousins.keys() & pool if self._senses.means(word, pos, cousins[word])
        }

    def _antonyms(self, word: str, sense: Sense | None) -> dict[str, str]:
        """Returns the antonyms of a word in its sense, with their source."""
        if sense is None:
            return {}
        return {other: f"antonym of {sense}" for other in self._lexicon.antonyms(word, sense.synset)}

    def _is_absent(self, text: str, facts: ImageFacts) -> bool:
        """Says whether no object of the image is of that kind, may be called so, or has it as a part.

        # ASSUME: a word that any description of the image holds, or a synonym of one, counts as present.
        """
        if self._lexicon.relatives(text, "n") & facts.kinds or self._lexicon.synonyms(text, "n") & facts.mentioned:
            return False
        return not any(self._has_part(kind, text) for kind in facts.kinds)

    def _has_part(self, whole: str, part: str) -> bool:
        """Says whether what a noun names has parts of that name: what is in a room is in the building, too."""
        sense = self._senses.usual_sense(whole, "n")
        return sense is not None and part in self._lexicon.parts(sense.synset)

    def names(self, kind: str, facts: ImageFacts) -> set[str]:
        """Returns the names under which an object of a kind may be listed in the image: a taxi is a car, too."""
        return {kind} | (self._lexicon.relatives(kind, "n") & facts.kinds)

    def _attribute_candidates(self, text: str) -> list[Candidate]:
        if text in self._tables.attributes:
            group, others = self._tables.attributes[text]
            found = {word: f"table of {group}s" for word in others}
        else:
            first = self._lexicon.synsets(text, "a")[:1]  # annotators gave adjectives no senses
            found = {word: f"antonym of {text}" for s in first for word in self._lexicon.antonyms(text, s)}
        allowed = self._pool.words[ATTRIBUTE] - self._lexicon.synonyms(text, "a")
        return [Candidate(word, found[word]) for word in sorted(found.keys() & allowed) if not self._is_blocked(word)]

    def may_be_true(self, attribute: str, true: set[str]) -> bool:
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
            found = {}  # a preposition that the table does not list: prepositions never go through WordNet
        else:
            verb, _, rest = text.partition(" ")
            sense = self._senses.sense(verb, "v")
            verbs = self._cousins(sense, "v") if sense else {}
            verbs = {word: source for word, source in verbs.items() if word not in self._lexicon.relatives(verb, "v")}
            verbs |= self._antonyms(verb, sense)
            found = {f"{word} {rest}".strip(): source for word, source in verbs.items()}
        allowed = found.keys() & self._pool.words[RELATION]
        return [Candidate(word, found[word]) for word in sorted(allowed) if not self._is_blocked(word)]

    def _has_a_place(self, noun: str) -> bool:
        """Says whether something can be above or outside what a noun names: no colour, and not the photo itself."""
        return noun not in THE_PICTURE and self._senses.usual_sense(noun, "n") is not None

    def holds(self, subject: str, relation: str, object_: str, facts: ImageFacts) -> bool:
        """Says whether a triple is true in the image: in other words, of other names, or seen from the other side."""
        subjects, objects = self.names(subject, facts), self.names(object_, facts)
        forward = self._tables.same.get(relation, frozenset({relation}))
        backward = self._tables.inverses.get(relation, frozenset())
        return any(
            (first in subjects and name in forward and second in objects)
            or (first in objects and name in backward and second in subjects)
            for first, name, second in facts.triples
        )
