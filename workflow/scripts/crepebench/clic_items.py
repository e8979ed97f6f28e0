"""Make what CLIC trains on: two images, captions that are true of both, and one that is not.

Source: paper "CLIC, arXiv 2505.24424" and its code. Of sentences a0, a1, ... and b0, b1, ... of two images of one
orientation: p1 = a0 b0, p2 = b0 a0, further positives of other sentences, n = a0 and b0 with a word each swapped.

An item is a function of seed, epoch and its number alone, whoever asks for it and in whatever order.

# ASSUME: the second image is another one than the first; CLIC's code lets an image be drawn beside itself. The only
image of an orientation is joined with itself, and counted.
# ASSUME: both swapped words must lie within what the model reads of the negative, else they are drawn again, at most
10 times; then the item has no negative, and is counted. CLIC's code does not look.
# ASSUME: where an image has fewer other sentences than are drawn, all are taken, then others again, by chance.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from crepebench.clic_candidate_index import stands_alone
from crepebench.clic_sentences import in_one
from crepebench.clic_settings import ACROSS, CANDIDATES, JOINED, RANDOM, SINGLE, WITHIN, Variant
from crepebench.clic_swaps import Swap, end_of_word, exchange, swap_across, swap_within

TRIES = 10
"""Draws of words until an item goes without negative."""
POSITIVE_TRUNCATED, NEGATIVE_TRUNCATED = "positive_truncated", "negative_truncated"
"""A caption that a model reads in part: each positive counts; of a negative the swapped words are read."""
NEGATIVE_REDRAWN, NO_NEGATIVE = "negative_redrawn", "no_negative"
ANY_WORD_SWAPPED, CANDIDATE_MISSING = "any_word_swapped", "candidate_missing"
JOINED_WITH_ITSELF = "joined_with_itself"
SWAPS, PICTURES, NEGATIVES = (ACROSS, WITHIN), (JOINED, SINGLE), (RANDOM, CANDIDATES)
"""What a variant may say of items."""


class Item(NamedTuple):
    """What one step learns from.

    Attributes:
        first: place of the first image.
        second: place of the second image; that of the first for single pictures.
        image_order: whether the second image stands first; says nothing of the order of captions.
        positives: p1, p2, and the further ones.
        negative: n, "" where there is none.
        plain: the first sentence of the first image, as it stands.
        pos: coarse tag of the swapped words, "" where they share none.
        reasons: what is counted, in this module's words; a reason stands once for each caption that it is of.
        words: the swapped words, that of the first sentence first.
    """

    first: int
    second: int
    image_order: bool
    positives: tuple[str, ...]
    negative: str
    plain: str
    pos: str
    reasons: tuple[str, ...]
    words: tuple[str, str] = ("", "")


class ItemMaker:
    """Makes items.

    Args:
        rows: of table CLIC_ROWS, as dicts.
        orientations: (n,) bool, whether each image is wider.
        options: of the variant: n_extra, swap, pictures, and negatives, which must be set.
        seed: of all draws.
        count_tokens: gives the tokens that a model needs for each of some texts, with its marks of beginning and end.
        context: tokens that the model reads.
        candidates: what `crepebench.clic_candidate_index.index_candidates` returns; for CANDIDATES alone.

    Raises:
        ValueError: an option has no such value, there are no rows, or candidates are missing.
    """

    def __init__(
        self,
        rows: Sequence[Mapping],
        orientations: np.ndarray,
        options: Variant,
        seed: int,
        count_tokens: Callable[[Sequence[str]], Sequence[int]],
        context: int,
        candidates=None,
    ):
        _check(rows, orientations, options, candidates)
        self._rows, self._options, self._seed = rows, options, seed
        self._count, self._context, self._candidates = count_tokens, context, candidates
        self.orientations = np.asarray(orientations, bool)
        self._members = {wider: np.flatnonzero(self.orientations == wider) for wider in (False, True)}
        places = np.zeros(len(rows), np.int64)
        for members in self._members.values():
            places[members] = np.arange(len(members))
        self._places = places
        """Place of each row among those of its orientation."""

    def __len__(self) -> int:
        return len(self._rows)

    def item(self, epoch: int, i: int) -> Item:
        """Returns item i of an epoch: the same for any worker, order and hash seed."""
        rng = np.random.default_rng([self._seed, epoch, i])
        first, reasons = self._rows[i], []
        is_single = self._options.pictures == SINGLE
        image_order = bool(rng.random() < 0.5) and not is_single
        j = i if is_single else self._draw_second(i, rng)
        if j == i and not is_single:
            reasons.append(JOINED_WITH_ITSELF)
        swap, negative = None, ""
        if self._options.negatives == CANDIDATES and j != i:
            found = self._candidate_negative(i, first, rng, reasons)
            if found is None:
                reasons.append(CANDIDATE_MISSING)
            else:
                j, swap, negative = found
        second = first if j == i else self._rows[j]
        positives = self._positives(first, second, is_single, rng)
        if not negative:
            swap, negative = self._random_negative(first, second, positives, rng, reasons)
        reasons += self._count_truncated(positives, negative)
        if not negative:
            reasons.append(NO_NEGATIVE)
        elif not swap.pos:
            reasons.append(ANY_WORD_SWAPPED)
        pos, words = (swap.pos, swap.words) if negative else ("", ("", ""))
        plain = first["sentences"][0]
        return Item(i, j, image_order, positives, negative, plain, pos, tuple(reasons), words)

    def _draw_second(self, i: int, rng: np.random.Generator) -> int:
        """Draws another image of the orientation of image i; i itself where there is no other."""
        members = self._members[bool(self.orientations[i])]
        if len(members) == 1:
            return i
        place = int(rng.integers(len(members) - 1))
        return int(members[place + (place >= self._places[i])])

    def _positives(self, first: Mapping, second: Mapping, is_single: bool, rng: np.random.Generator) -> tuple[str, ...]:
        n = self._options.n_extra
        a, b = first["sentences"], second["sentences"]
        if is_single:
            return (
                in_one(a[0]),
                in_one(a[0]),
                *(in_one(one) for one in _draw_others(a[1:], n, rng)),
            )
        extras = zip(_draw_others(a[1:], n, rng), _draw_others(b[1:], n, rng), strict=True)
        return (
            in_one(a[0], b[0]),
            in_one(b[0], a[0]),
            *(in_one(*_any_order(pair, rng)) for pair in extras),
        )

    def _random_negative(
        self, first: Mapping, second: Mapping, positives: Sequence[str], rng: np.random.Generator, reasons: list[str]
    ) -> tuple[Swap | None, str]:
        """Draws words until both lie within what the model reads, and no positive says the same; adds to `reasons`."""
        for attempt in range(TRIES):
            if attempt:
                reasons.append(NEGATIVE_REDRAWN)
            swap, parts = self._swap(first, second, rng)
            if swap is None:
                break
            negative = self._fitting([parts[k] for k in rng.permutation(len(parts))])
            if negative and negative not in positives:
                return swap, negative
        return None, ""

    def _swap(
        self, first: Mapping, second: Mapping, rng: np.random.Generator
    ) -> tuple[Swap | None, list[tuple[str, tuple[str, ...]]]]:
        """Returns a swap, and each sentence of the negative with the words that have come into it."""
        texts = first["sentences"][0], second["sentences"][0]
        if self._options.swap == ACROSS:
            swap = swap_across(texts[0], first["words"], texts[1], second["words"], rng)
            parts = [] if swap is None else [(t, (w,)) for t, w in zip(swap.texts, swap.arrivals, strict=True)]
            return swap, parts
        own = swap_within(texts[0], first["words"], rng)
        swaps = [own] if self._options.pictures == SINGLE else [own, swap_within(texts[1], second["words"], rng)]
        parts = [
            (text, ()) if swap is None else (swap.texts[0], swap.words)
            for text, swap in zip(texts, swaps, strict=False)
        ]
        return next((swap for swap in swaps if swap is not None), None), parts

    def _candidate_negative(
        self, i: int, first: Mapping, rng: np.random.Generator, reasons: list[str]
    ) -> tuple[int, Swap, str] | None:
        """Draws tag, word, candidate and a second image whose first sentence holds it."""
        for attempt in range(TRIES):
            if attempt:
                reasons.append(NEGATIVE_REDRAWN)
            found = self._candidates.draw(first["words"], i, bool(self.orientations[i]), rng)
            if found is None:
                return None
            word, other, fine, pos, j = found
            second = self._rows[j]
            own, others = ({w["text"] for w in row["words"]} for row in (first, second))
            if other in own or word in others or not stands_alone(second["words"], other, fine):
                continue
            swap = exchange(first["sentences"][0], second["sentences"][0], (word, other), pos, articles=True)
            if swap is None:
                continue
            parts = [(text, (one,)) for text, one in zip(swap.texts, swap.arrivals, strict=True)]
            if negative := self._fitting([parts[k] for k in rng.permutation(2)]):
                return j, swap, negative
        return None

    def _fitting(self, parts: Sequence[tuple[str, tuple[str, ...]]]) -> str:
        """Joins sentences; returns "" unless the model reads all words that have come into them.

        Args:
            parts: each sentence with these words.
        """
        text, start, end = in_one(*(sentence for sentence, _ in parts)), 0, 0
        for sentence, words in parts:
            end = max([end, *(start + end_of_word(sentence, word) for word in words)])
            start += len(in_one(sentence)) + 1
        needed = self._count([text[:end]])[0] if end else 0
        return text if needed <= self._context else ""

    def _count_truncated(self, positives: tuple[str, ...], negative: str) -> list[str]:
        texts = [*positives, *([negative] if negative else [])]
        over = [count > self._context for count in self._count(texts)]
        reasons = [POSITIVE_TRUNCATED] * sum(over[: len(positives)])
        return reasons + [NEGATIVE_TRUNCATED] * sum(over[len(positives) :])


def _draw_others(sentences: Sequence[str], n: int, rng: np.random.Generator) -> list[str]:
    """Draws n sentences: none twice while there are enough, else all and some again."""
    order = list(rng.permutation(len(sentences))[:n])
    order += list(rng.integers(len(sentences), size=n - len(order)))
    return [sentences[k] for k in order]


def _any_order(pair: Sequence[str], rng: np.random.Generator) -> Sequence[str]:
    return pair if rng.random() < 0.5 else pair[::-1]


def _check(rows: Sequence[Mapping], orientations: np.ndarray, options: Variant, candidates) -> None:
    for name, known in (("swap", SWAPS), ("pictures", PICTURES), ("negatives", NEGATIVES)):
        if getattr(options, name) not in known:
            raise ValueError(f"items: {name} is {getattr(options, name)!r}, none of {', '.join(known)}")
    if options.pictures == SINGLE and options.swap != WITHIN:
        raise ValueError("items: single pictures have one sentence, so words can be swapped within it alone")
    if not len(rows) or len(rows) != len(orientations):
        raise ValueError(f"items: {len(rows)} rows and {len(orientations)} orientations")
    if options.negatives == CANDIDATES and (candidates is None or options.swap != ACROSS):
        raise ValueError("items: negatives by candidates need candidates, and words swapped across sentences")
