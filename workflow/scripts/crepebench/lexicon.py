"""What foil building asks of WordNet: senses, synonyms, cousins, antonyms and parts of words.

A *cousin* of a synset is reached by going up at most `UP` hypernyms and down at most `DOWN` hyponyms,
and is neither the synset itself nor above or below it.
"""

from functools import lru_cache

from crepebench.lemmas import PLURALIA_TANTUM

UP = 2
DOWN = 2
"""Levels up and down of a cousin. Source: 92.6% of the released productivity foils outside prepositions
lie within two up and two down of a noun sense (measured on the released files)."""

LEVELS_OF_PARTS = 4
"""A person has a body, that an arm, that a hand, and that a finger."""
PHYSICAL_ENTITY = "physical_entity.n.01"
PERSON = "person.n.01"
VISIBLE = {
    "n": frozenset(
        f"noun.{name}"
        for name in "animal artifact body food location object person phenomenon plant substance Tops".split()
    ),
    "v": frozenset(f"verb.{name}" for name in "body consumption contact motion perception stative".split()),
}
"""Lexicographer files of what a picture can show, by part of speech."""
NEVER_CHOSEN = frozenset("copulate.v.01 masturbate.v.01 neck.v.01 sleep_together.v.01".split())
"""Synsets that a picture could show and no caption of the test means: "love" is an emotion."""
# ASSUME: below these synsets anything may lie, so they make no cousins: a curtain and a brick are both artifacts
TOO_GENERAL = frozenset(
    (
        "entity.n.01 physical_entity.n.01 object.n.01 whole.n.02 artifact.n.01 instrumentality.n.03 matter.n.03 "
        "substance.n.01 substance.n.07 abstraction.n.06 thing.n.12 causal_agent.n.01 living_thing.n.01 organism.n.01 "
        "commodity.n.01 location.n.01 region.n.01 region.n.03 part.n.02 part.n.03 unit.n.05 covering.n.02 "
        "solid.n.01 body_part.n.01 area.n.05 equipment.n.01 "
        "change.v.01 change.v.02 move.v.02 move.v.03 travel.v.01 act.v.01 be.v.01 have.v.01 make.v.03 touch.v.01"
    ).split()
)


class Lexicon:
    """Answers the questions that foil building asks of WordNet, each once per word.

    Args:
        reader: what `crepebench.wordnet.read_wordnet` returns.
    """

    def __init__(self, reader):
        self._reader = reader
        self.synset = lru_cache(maxsize=None)(self._synset)
        self.synsets = lru_cache(maxsize=None)(self._synsets)
        self.relatives = lru_cache(maxsize=None)(self._relatives)
        self.synonyms = lru_cache(maxsize=None)(self._synonyms)
        self.cousin_senses = lru_cache(maxsize=None)(self._cousin_senses)
        self.parts = lru_cache(maxsize=None)(self._parts)
        self.antonyms = lru_cache(maxsize=None)(self._antonyms)

    def _synset(self, name: str):
        """Returns the synset called `name` ("plate.n.04"), or None where WordNet 3.0 has none of that name."""
        from nltk.corpus.reader.wordnet import WordNetError

        if not name:
            return None
        try:
            return self._reader.synset(name)
        except (WordNetError, ValueError):
            return None

    def is_sense_of(self, name: str, word: str) -> bool:
        """Says whether the synset called `name` is a sense of `word`, or of a compound noun with that head."""
        synset = self.synset(name)
        forms = {word, word.replace(" ", "")}  # "cell phone" is a cellphone
        return synset is not None and any(
            found in forms or found.rpartition(" ")[2] == word for found in _words(synset)
        )

    def is_physical(self, synset) -> bool:
        """Says whether a noun synset names something that can be seen: a physical entity."""
        return any(above.name() == PHYSICAL_ENTITY for above in synset.closure(_hypernyms))

    def is_person(self, synset) -> bool:
        """Says whether a noun synset names people."""
        return any(above.name() == PERSON for above in (synset, *synset.closure(_hypernyms)))

    def is_visible(self, synset) -> bool:
        """Says whether a picture can show what a noun's or verb's synset names; never single persons and places."""
        if synset.lexname() not in VISIBLE[synset.pos()] or synset.instance_hypernyms():
            return False
        if synset.name() in NEVER_CHOSEN:
            return False
        return synset.pos() == "v" or self.is_physical(synset)

    def _synsets(self, word: str, pos: str) -> tuple:
        """Returns the synsets of `word`: as it stands, joined, or of its head noun (last word)."""
        for form in (word.replace(" ", "_"), word.replace(" ", ""), word.rpartition(" ")[2]):
            found = self._reader.synsets(form, pos=pos)
            if found:
                return tuple(found)
        return ()

    def _relatives(self, word: str, pos: str) -> frozenset[str]:
        """Returns every word that names, of any sense of `word`, the sense itself, one above or one below it."""
        words = set()
        for synset in self.synsets(word, pos):
            words.update(_words(synset))
            for other in synset.closure(_hypernyms):
                words.update(_words(other))
            for other in synset.closure(_hyponyms):
                words.update(_words(other))
        return frozenset(words | {word})

    def _synonyms(self, word: str, pos: str) -> frozenset[str]:
        """Returns every word that shares a synset with `word`, itself included."""
        return frozenset({word}.union(*(_words(synset) for synset in self.synsets(word, pos))))

    def cousins(self, synset) -> frozenset[str]:
        """Returns the words of all cousins of `synset`, less the words of synsets above and below it."""
        return frozenset(self.cousin_senses(synset))

    def _cousin_senses(self, synset, up: int = UP, down: int = DOWN) -> dict[str, frozenset]:
        """Returns the cousins of `synset` by their words, less the words of synsets above and below it."""
        kin = {synset, *synset.closure(_hypernyms), *synset.closure(_hyponyms)}
        ancestors = {other for other in _levels({synset}, _hypernyms, up) if other.name() not in TOO_GENERAL}
        words_of_kin = set().union(*map(_words, kin))
        senses: dict[str, set] = {}
        for other in _levels(ancestors, _hyponyms, down) - kin:
            for word in _words(other) - words_of_kin:
                senses.setdefault(word, set()).add(other)
        return {word: frozenset(found) for word, found in senses.items()}

    def _parts(self, synset) -> frozenset[str]:
        """Returns the words of the parts of what a noun synset names, and of the parts of these."""

        def parts_of(whole) -> list:
            return [part for kind in (whole, *whole.closure(_hypernyms)) for part in kind.part_meronyms()]

        return frozenset().union(*map(_words, _levels({synset}, parts_of, LEVELS_OF_PARTS)))

    def _antonyms(self, word: str, synset) -> tuple[str, ...]:
        """Returns the direct lemma antonyms of `word` in the sense of a synset, never of its synonyms."""
        lemmas = [lemma for lemma in synset.lemmas() if _spoken(lemma.name()) == word]
        found = {_spoken(antonym.name()) for lemma in lemmas for antonym in lemma.antonyms()}
        return tuple(sorted(found - {word}))


def _spoken(name: str) -> str:
    """Returns a lemma's name with spaces, in lower case."""
    return name.lower().replace("_", " ")


def _levels(synsets: set, step, n_levels: int) -> set:
    """Returns what is reached from `synsets` by one to `n_levels` applications of `step`."""
    reached, frontier = set(), set(synsets)
    for _ in range(n_levels):
        frontier = {other for synset in frontier for other in step(synset)} - reached
        reached |= frontier
    return reached


def _hypernyms(synset) -> list:
    return synset.hypernyms() + synset.instance_hypernyms()


def _hyponyms(synset) -> list:
    return synset.hyponyms() + synset.instance_hyponyms()


def _words(synset) -> set[str]:
    """Returns the words of a synset, with spaces, in lower case; of pluralia tantum the plural, too.

    WordNet lists trousers as "trouser", but captions speak of "trousers", which is their own lemma.
    """
    words = set(map(_spoken, synset.lemma_names()))
    return words | {f"{word}s" for word in words if f"{word.rpartition(' ')[2]}s" in PLURALIA_TANTUM}
