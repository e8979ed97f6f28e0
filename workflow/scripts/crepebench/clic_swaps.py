"""Swap words of captions, so that a true caption becomes a false one with the same words.

Source: paper "CLIC, arXiv 2505.24424" and its code: a part of speech that both sentences have is drawn, all alike, then
a word of each; every occurrence is replaced as a whole word. Where there is none, any word does.

# ASSUME: a word counts as being on both sides if the other sentence holds it with any tag, so that what is swapped in
is always new there.
# ASSUME: where no part of speech is shared, the two words of any tag are real ones (no punctuation) that the other
sentence does not hold; where there are none, the item has no negative. CLIC's code takes any two tokens.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from crepebench.inflection import ARTICLE_BEFORE, match_article

EXCLUDED = frozenset("AUX DET INTJ PART PUNCT SYM X SCONJ CCONJ SPACE".split())
"""Coarse tags of words that are not swapped. Source: CLIC's code; ours leaves out SPACE, too."""
NO_WORDS = frozenset(("PUNCT", "SPACE"))
"""Coarse tags of what is never swapped."""
HAS_WORD = re.compile(r"\w")


class Swap(NamedTuple):
    """Words that have changed places.

    Attributes:
        texts: the altered sentences: one, or two where words of two sentences changed places.
        words: the two words, that of the first sentence first.
        pos: their coarse tag, "" where they have none in common.
    """

    texts: tuple[str, ...]
    words: tuple[str, str]
    pos: str

    @property
    def arrivals(self) -> tuple[str, ...]:
        """Words that have come into each of the texts; of one text both."""
        return self.words[::-1]


def replace_words(text: str, replacements: Mapping[str, str], articles: bool = False) -> str:
    """Replaces words wherever they stand as whole words, all at once; quotes around them stay.

    Args:
        text: a sentence.
        replacements: word to put in the place of each word.
        articles: whether an "a" or "an" before a replaced word is made to agree.
    """
    parts, end = [], 0
    for match in whole_words(tuple(sorted(replacements))).finditer(text):
        before, other = text[end : match.start()], replacements[match[0]]
        if articles:
            before = ARTICLE_BEFORE.sub(lambda found, other=other: match_article(found[1], other) + found[2], before)
        parts += [before, other]
        end = match.end()
    return "".join([*parts, text[end:]])


@lru_cache(maxsize=10_000)
def whole_words(words: tuple[str, ...]) -> re.Pattern:
    """Returns what finds words where they stand as whole words; of two at one place the longer one."""
    longest_first = sorted(words, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")


def end_of_word(text: str, word: str) -> int:
    """Returns where the first occurrence of a word ends, in characters; 0 where there is none."""
    found = whole_words((word,)).search(text)
    return found.end() if found else 0


def words_by_tag(words: Sequence[Mapping]) -> dict[str, list[str]]:
    """Returns the distinct words of each coarse tag that may be swapped, sorted, so that draws depend on a seed alone.

    Args:
        words: of a sentence, each with `text` and `pos`.
    """
    found: dict[str, set[str]] = {}
    for word in words:
        if word["pos"] not in EXCLUDED and HAS_WORD.search(word["text"]):
            found.setdefault(word["pos"], set()).add(word["text"])
    return {pos: sorted(found[pos]) for pos in sorted(found)}


def _any_words(words: Sequence[Mapping]) -> list[str]:
    return sorted({w["text"] for w in words if w["pos"] not in NO_WORDS and HAS_WORD.search(w["text"])})


def _draw(options: Sequence, rng: np.random.Generator):
    return options[rng.integers(len(options))]


def swap_across(
    first: str, first_words: Sequence[Mapping], second: str, second_words: Sequence[Mapping], rng: np.random.Generator
) -> Swap | None:
    """Swaps a word of one sentence with a word of another; None where no two words can be swapped.

    Args:
        first: a sentence.
        first_words: its words, each with `text` and `pos`.
        second: another sentence.
        second_words: likewise.
        rng: of the draws.
    """
    own, other = ({word["text"] for word in words} for words in (first_words, second_words))
    firsts, seconds = words_by_tag(first_words), words_by_tag(second_words)
    pools = {
        pos: ([w for w in firsts[pos] if w not in other], [w for w in seconds[pos] if w not in own])
        for pos in firsts
        if pos in seconds
    }
    usable = [(pos, *pool) for pos, pool in pools.items() if all(pool)]
    if not usable:
        any_pool = (
            [w for w in _any_words(first_words) if w not in other],
            [w for w in _any_words(second_words) if w not in own],
        )
        usable = [("", *any_pool)] if all(any_pool) else []
    if not usable:
        return None
    pos, left, right = _draw(usable, rng)
    return exchange(first, second, (_draw(left, rng), _draw(right, rng)), pos)


def exchange(first: str, second: str, words: tuple[str, str], pos: str, articles: bool = False) -> Swap | None:
    """Puts the second word in the place of the first in one sentence, and the other way round in the other.

    Returns:
        None where a sentence does not hold its word as a whole word.
    """
    one, other = words
    texts = (replace_words(first, {one: other}, articles), replace_words(second, {other: one}, articles))
    return None if texts[0] == first or texts[1] == second else Swap(texts, words, pos)


def swap_within(text: str, words: Sequence[Mapping], rng: np.random.Generator) -> Swap | None:
    """Swaps two distinct words of one sentence: of one tag, else any two that may be swapped; None if there are none.

    Args:
        text: a sentence.
        words: its words, each with `text` and `pos`.
        rng: of the draws.
    """
    by_tag = words_by_tag(words)
    usable = [(pos, found) for pos, found in by_tag.items() if len(found) > 1]
    if not usable:
        found = sorted(set().union(*by_tag.values()))
        usable = [("", found)] if len(found) > 1 else []
    if not usable:
        return None
    pos, found = _draw(usable, rng)
    one, other = (found[i] for i in rng.permutation(len(found))[:2])
    swapped = replace_words(text, {one: other, other: one})
    return None if swapped == text else Swap((swapped,), (one, other), pos)
