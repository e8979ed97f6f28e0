"""Choose the sense of a word that a picture shows.

The first sense of WordNet is often not the visible one: "plate" is home plate first, "kite" a cheque, "bike" a
motorcycle, "table" a table of figures. What annotators said of the object itself comes first, then what they said of
objects of that name in other images; only then is a sense chosen among the visible ones.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from crepebench.lexicon import Lexicon

ANNOTATED = "annotated"
ANNOTATED_ELSEWHERE = "annotated elsewhere"
CHOSEN = "chosen"
"""Where a sense comes from."""


@dataclass(frozen=True)
class Sense:
    """A synset of WordNet and where the choice of it comes from."""

    synset: object
    origin: str

    def __str__(self) -> str:
        return f"{self.synset.name()} ({self.origin})"


class SenseChooser:
    """Chooses senses of nouns and verbs.

    Args:
        lexicon: WordNet.
        votes: how often annotators gave each synset to each word, by part of speech and word.
        pool: the words that replacements may come from, by part of speech.
    """

    def __init__(
        self, lexicon: Lexicon, votes: Mapping[str, Mapping[str, Mapping[str, int]]], pool: Mapping[str, frozenset[str]]
    ):
        self._lexicon = lexicon
        self._votes = votes
        self._pool = pool
        self.usual_sense = lru_cache(maxsize=None)(self._usual_sense)

    def sense(self, word: str, pos: str, names: Iterable[str] = ()) -> Sense | None:
        """Returns the sense of a word in one image.

        Args:
            word: normal form.
            pos: "n" or "v".
            names: synsets that annotators gave to it in this image.
        """
        name = next((name for name in names if self._is_visible_sense(name, word)), None)
        return Sense(self._lexicon.synset(name), ANNOTATED) if name else self.usual_sense(word, pos)

    def _is_visible_sense(self, name: str, word: str) -> bool:
        """Says whether an annotated synset is a sense of the word and can be seen; some name another object."""
        return self._lexicon.is_sense_of(name, word) and self._lexicon.is_visible(self._lexicon.synset(name))

    def _usual_sense(self, word: str, pos: str) -> Sense | None:
        """Returns the sense that annotators gave the word most often, else the one that suits the pool best.

        # ASSUME: where no annotator gave a synset, the sense is the visible one with the most cousins in the pool;
        each further sense must have twice as many. So "plate" is a dish where pictures show bowls and cups.
        """
        votes = self._votes.get(pos, {}).get(word, {})
        for name in sorted(votes, key=lambda name: (-votes[name], name)):
            if self._is_visible_sense(name, word):
                return Sense(self._lexicon.synset(name), ANNOTATED_ELSEWHERE)
        visible = [synset for synset in self._lexicon.synsets(word, pos) if self._lexicon.is_visible(synset)]
        pool = self._pool.get(pos, frozenset())
        support = [len(pool & self._lexicon.cousins(synset)) / 2**i for i, synset in enumerate(visible)]
        return Sense(visible[support.index(max(support))], CHOSEN) if visible else None

    def means(self, word: str, pos: str, senses: frozenset) -> bool:
        """Says whether a word is commonly understood in one of some senses.

        # ASSUME: a word that nobody annotated must have a visible first sense, too: "arm" is a limb, not a branch;
        "spring" is a season.
        """
        usual = self.usual_sense(word, pos)
        if usual is None or usual.synset not in senses:
            return False
        return usual.origin == ANNOTATED_ELSEWHERE or self._lexicon.is_visible(self._lexicon.synsets(word, pos)[0])
