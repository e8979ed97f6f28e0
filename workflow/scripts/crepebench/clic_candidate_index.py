"""Find the items that hold a candidate for a word; each item is looked at once.

Source: the authors' answer to reviewers of CLIC (arXiv 2505.24424): an item draws a tag, a word of it, and a second
image whose sentence holds a candidate.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from crepebench.clic_rows import flat_words

MOST = 5
"""Candidates of a word. Source: the authors' answer to reviewers."""
NOUN, VERB, ADJECTIVE, ADVERB, PREPOSITION, NUMBER = "NOUN", "VERB", "ADJ", "ADV", "ADP", "NUM"
KINDS = {
    **dict.fromkeys(("NN", "NNS"), NOUN),
    **dict.fromkeys(("VB", "VBD", "VBG", "VBN", "VBP", "VBZ"), VERB),
    **dict.fromkeys(("JJ", "JJR", "JJS"), ADJECTIVE),
    "RB": ADVERB,
    "IN": PREPOSITION,
    "CD": NUMBER,
}
"""Universal part of speech of the fine tags whose words get candidates."""
Key = tuple[str, str]
"""A word and its fine tag."""


def stands_alone(words: Sequence[Mapping], text: str, fine: str) -> bool:
    """Says whether a word may be replaced by a candidate wherever it stands in a sentence.

    # ASSUME: a noun before a noun ("bus stop"), a preposition within a longer one ("in front of", "outside of") and one
    with nothing behind it ("the trees below") are left alone, since they mean something else by themselves.

    Args:
        words: of the sentence, each with `text` and `fine`.
        text: the word.
        fine: its fine tag.
    """
    for k, word in enumerate(words):
        if (word["text"], word["fine"]) == (text, fine):
            later = words[k + 1 : k + 3]
            if KINDS.get(fine) == NOUN and later and later[0]["fine"].startswith("NN"):
                return False
            is_within = "of" in (other["text"] for other in later)
            if KINDS.get(fine) == PREPOSITION and (is_within or not later or not later[0]["text"].isalnum()):
                return False
    return True


class CandidateIndex:
    """Candidates of words, and the items whose first sentences hold them.

    Args:
        candidates: of each word and fine tag.
        holders: places of the items that hold each candidate and fine tag, sorted, by whether their images are wider.
    """

    def __init__(self, candidates: Mapping[Key, Sequence[str]], holders: Mapping[tuple[str, str, bool], np.ndarray]):
        self._candidates, self._holders = candidates, holders

    def draw(
        self, words: Sequence[Mapping], i: int, wider: bool, rng: np.random.Generator
    ) -> tuple[str, str, str, str, int] | None:
        """Draws a tag of those with candidates, a word of it, a candidate, and another item that holds it.

        Args:
            words: of the first sentence of item i, each with `text`, `pos` and `fine`.
            i: place of the item.
            wider: orientation of its image; the other item has the same.
            rng: of the draws.

        Returns:
            Word, candidate, their fine tag, coarse tag of the word, place of the other item; None where there is none.
        """
        usable: dict[str, dict[Key, list[tuple[str, np.ndarray]]]] = {}
        for word in words:
            key = word["text"], word["fine"]
            if key not in self._candidates or not stands_alone(words, *key):
                continue
            found = [(one, self._others(one, key[1], i, wider)) for one in self._candidates[key]]
            if found := [pair for pair in found if len(pair[1])]:
                usable.setdefault(word["pos"], {})[key] = found
        if not usable:
            return None
        pos = sorted(usable)[rng.integers(len(usable))]
        key = sorted(usable[pos])[rng.integers(len(usable[pos]))]
        candidate, others = usable[pos][key][rng.integers(len(usable[pos][key]))]
        return key[0], candidate, key[1], pos, int(others[rng.integers(len(others))])

    def _others(self, candidate: str, fine: str, i: int, wider: bool) -> np.ndarray:
        """Returns the items of an orientation, without i, that hold a candidate."""
        holders = self._holders.get((candidate, fine, wider), np.zeros(0, np.int64))
        place = int(np.searchsorted(holders, i))
        return np.delete(holders, place) if place < len(holders) and holders[place] == i else holders


def index_candidates(rows: Iterable[Mapping], items: Sequence[Mapping], orientations: np.ndarray) -> CandidateIndex:
    """Returns candidates with the items that hold them; each item is looked at once.

    Args:
        rows: of table CLIC_CANDIDATES.
        items: of table CLIC_ROWS: a `ClicRows`, or dicts.
        orientations: (n_items,) bool, whether each item's image is wider.
    """
    candidates = {(row["word"], row["fine"]): tuple(row["candidates"]) for row in rows}
    wanted = sorted({(one, fine) for (_, fine), found in candidates.items() for one in found})
    number = {key: n for n, key in enumerate(wanted)}
    places, codes = [], []
    for place, text, fine in zip(*flat_words(items), strict=True):
        if (code := number.get((text, fine))) is not None:
            places.append(place)
            codes.append(code)
    pairs = np.unique(np.array([codes, places], np.int64).reshape(2, -1), axis=1)
    bounds = np.searchsorted(pairs[0], np.arange(len(wanted) + 1))
    orientations = np.asarray(orientations, bool)
    holders = {}
    for key, n in number.items():
        own = pairs[1, bounds[n] : bounds[n + 1]]
        for wider in (False, True):
            holders[*key, wider] = own[orientations[own] == wider]
    return CandidateIndex(candidates, holders)
