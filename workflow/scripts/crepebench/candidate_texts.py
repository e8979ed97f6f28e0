"""The texts of retrieval sets as scorers of text read them: sets, tokens, and both as flat arrays.

Texts are cut into tokens once. Sets of some images are then slices of arrays, so that a scorer can be fitted and
tried on many choices of images.
"""

import re
from array import array
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

TOKEN = re.compile(r"(?:[^\W_]|['-])+|[.,;]")
"""Runs of letters, digits, apostrophes and hyphens; single full stops, commas and semicolons."""


DECIMALS = 9
"""Of all scores."""
WORD = re.compile(r"(?:[^\W_]|['-])+")
VOWELS = "aeiou"
SURFACE = ("words", "characters", "capitals", "punctuation", "digits", "repeated_words", "articles_off", "ends_in_mark")


class CandidateSet(NamedTuple):
    """The texts of one retrieval set, without crop and ids: all that a blind scorer may see.

    Attributes:
        image_id: image, by which scorers are fitted crosswise.
        truth: true caption.
        foils: false captions.
    """

    image_id: int
    truth: str
    foils: tuple[str, ...]


def tokenise(text: str) -> list[str]:
    """Returns the tokens of a text, in lower case."""
    return TOKEN.findall(text.lower())


def surface_counts(text: str) -> list[int]:
    """Returns the counts named in SURFACE, which need no knowledge of what the words mean.

    `articles_off` counts "a" before a vowel and "an" before a consonant; words like "hour" count too.
    """
    words = WORD.findall(text)
    lowered = [word.lower() for word in words]
    articles_off = sum(
        (word == "an") != (following[0] in VOWELS) for word, following in pairwise(lowered) if word in ("a", "an")
    )
    return [
        len(words),
        len(text),
        sum(map(str.isupper, text)),
        sum(not (c.isalnum() or c.isspace()) for c in text),
        sum(map(str.isdigit, text)),
        len(words) - len(set(lowered)),
        articles_off,
        int(text.endswith((".", "!", "?"))),
    ]


def take_runs(values: np.ndarray, starts: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Takes some of many runs that stand one after the other.

    Args:
        values: (n_values,) all runs.
        starts: (n_runs + 1,) int64, where each run starts, and the end.
        rows: (n_rows,) int64, runs to take.

    Returns:
        Their values, and their starts and end.
    """
    sizes = np.diff(starts)[rows]
    new_starts = np.r_[0, np.cumsum(sizes)]
    places = np.repeat(starts[rows] - new_starts[:-1], sizes) + np.arange(new_starts[-1])
    return values[places], new_starts


def sum_runs(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Returns the sum of each run, 0.0 for an empty one: (n_runs,) float64.

    Sums are rounded, so that the same values in another order have the same sum, and texts that a scorer cannot tell
    apart tie.
    """
    rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return np.round(np.bincount(rows, weights=values, minlength=len(starts) - 1), DECIMALS)


class Texts(Sequence[str]):
    """Texts with their tokens and counts, which are taken when they are first asked for."""

    def __init__(self, texts: Sequence[str]):
        self._texts = texts

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Texts":
        """Returns texts with their tokens; the same object where it is one already."""
        return texts if isinstance(texts, cls) else cls(texts)

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, place):
        return self._texts[place]

    @cached_property
    def tokens(self) -> tuple[list[str], np.ndarray, np.ndarray]:
        """The vocabulary, tokens as int32 places in it, and (n_texts + 1,) starts of the texts."""
        place_of: dict[str, int] = {}
        values, sizes = array("i"), np.empty(len(self._texts), np.int64)
        for i, text in enumerate(self._texts):
            tokens = tokenise(text)
            sizes[i] = len(tokens)
            values.extend([place_of.setdefault(token, len(place_of)) for token in tokens])
        return list(place_of), np.array(values, np.int32), np.r_[0, np.cumsum(sizes)]

    @cached_property
    def surface(self) -> np.ndarray:
        """The counts of `surface_counts`: (n_texts, len(SURFACE)) int32."""
        return np.array([surface_counts(text) for text in self._texts], np.int32).reshape(-1, len(SURFACE))

    def take(self, rows: np.ndarray) -> "Texts":
        """Returns some of the texts, with the tokens and counts that they have already."""
        taken = Texts([self._texts[row] for row in rows.tolist()])
        if "surface" in self.__dict__:
            taken.__dict__["surface"] = self.surface[rows]
        if "tokens" in self.__dict__:
            vocabulary, values, starts = self.tokens
            taken.__dict__["tokens"] = (vocabulary, *take_runs(values, starts, rows))
        return taken


class CandidateSets(Sequence[CandidateSet]):
    """Retrieval sets as flat arrays; the texts of a set stand together, the truth first.

    Attributes:
        image_ids: (n_sets,) int64.
        starts: (n_sets + 1,) int64, where the texts of each set start, and the end.
        texts: all texts.
    """

    def __init__(self, image_ids: np.ndarray, starts: np.ndarray, texts: Texts):
        self.image_ids, self.starts, self.texts = image_ids, starts, texts

    @classmethod
    def of(cls, sets: Sequence[CandidateSet]) -> "CandidateSets":
        """Returns sets as flat arrays; the same object where it is one already."""
        if isinstance(sets, cls):
            return sets
        starts = np.r_[0, np.cumsum([1 + len(found.foils) for found in sets], dtype=np.int64)]
        texts = [text for found in sets for text in (found.truth, *found.foils)]
        return cls(np.array([found.image_id for found in sets], np.int64), starts, Texts(texts))

    def __len__(self) -> int:
        return len(self.image_ids)

    def __getitem__(self, place: int) -> CandidateSet:
        truth, *foils = self.texts[self.starts[place] : self.starts[place + 1]]
        return CandidateSet(int(self.image_ids[place]), truth, tuple(foils))

    @property
    def truths(self) -> np.ndarray:
        """Places of the truths among the texts, (n_sets,) int64."""
        return self.starts[:-1]

    @cached_property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Places of truth and foil of every pair: two times (n_pairs,) int64."""
        n_foils = np.diff(self.starts) - 1
        is_foil = np.ones(len(self.texts), bool)
        is_foil[self.truths] = False
        return np.repeat(self.truths, n_foils), np.flatnonzero(is_foil)

    def take(self, rows: np.ndarray) -> "CandidateSets":
        """Returns some of the sets."""
        places, starts = take_runs(np.arange(len(self.texts)), self.starts, rows)
        return CandidateSets(self.image_ids[rows], starts, self.texts.take(places))
