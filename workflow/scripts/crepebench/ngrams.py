"""Score texts with an interpolated model of single tokens and pairs, counted in true captions of other images.

What it can solve, style and plausibility of the captions give away. Its form is that of the blind baseline that was
measured on the released productivity files: lower case, marks of start and end, 0.7 x relative frequency of the pair +
0.3 x that of the token, smoothed by 0.5; the sum of logarithms.
"""

from collections.abc import Sequence

import numpy as np

from crepebench.candidate_texts import CandidateSet, CandidateSets, Texts, sum_runs

PAIR_WEIGHT = 0.7
SMOOTHING = 0.5
"""Added to the count of each token."""
START, END = "<s>", "</s>"
"""Marks; no token holds such a sign."""
CHUNK = 200_000
"""Texts scored at once; bounds the memory."""


class Counts:
    """How often things stand in a list, looked up for many at once."""

    def __init__(self, keys: np.ndarray):
        self.keys, self.counts = np.unique(keys, return_counts=True)

    def of(self, keys: np.ndarray) -> np.ndarray:
        """Returns the count of each key, 0 for what is not there: int64, of the same shape."""
        if not len(self.keys):
            return np.zeros(keys.shape, np.int64)
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[places] == keys, self.counts[places], 0)


class NgramScorer:
    """The logarithm of a text's probability under the true captions of the sets that it was fitted on."""

    name = "ngram"
    learns = True

    def fit(self, sets: Sequence[CandidateSet]) -> None:
        """Counts the distinct true captions of each image.

        Args:
            sets: retrieval sets; of them only the truths count.
        """
        sets = CandidateSets.of(sets)
        captions = dict.fromkeys(zip(sets.image_ids.tolist(), (sets.texts[i] for i in sets.truths), strict=True))
        texts = Texts([caption for _, caption in captions])
        self._image_ids, image_of = np.unique([image_id for image_id, _ in captions], return_inverse=True)
        self._place_of = {token: place for place, token in enumerate([START, END, *texts.tokens[0]])}
        self._n_tokens = len(self._place_of)
        first, second, starts = self._pairs(texts)
        images = np.repeat(image_of, np.diff(starts))
        self._firsts, self._seconds = Counts(first), Counts(second)
        self._pair_counts = Counts(self._key(first, second))
        self._own_firsts, self._own_seconds = Counts(self._own(images, first)), Counts(self._own(images, second))
        self._own_pairs = Counts(self._own(images, self._key(first, second)))
        self._own_totals = np.bincount(images, minlength=len(self._image_ids))
        self._total = len(second)

    def score(self, texts: Sequence[str]) -> np.ndarray:
        """Returns the log-probability of each text: (n_texts,) float64."""
        return self._score(Texts.of(texts), None)

    def cross_score(self, sets: Sequence[CandidateSet]) -> np.ndarray:
        """Fits on all sets, and scores each as if the captions of its own image had not been counted.

        Returns:
            (n_texts,) float64, set by set, the truth first.
        """
        sets = CandidateSets.of(sets)
        self.fit(sets)
        images = np.searchsorted(self._image_ids, sets.image_ids)
        return self._score(sets.texts, np.repeat(images, np.diff(sets.starts)))

    def _score(self, texts: Texts, images: np.ndarray | None) -> np.ndarray:
        """Scores texts a chunk at a time; `images` are places of the images that are left out, one a text."""
        chunks = [np.empty(0)]
        for start in range(0, len(texts), CHUNK):
            rows = np.arange(start, min(start + CHUNK, len(texts)))
            first, second, starts = self._pairs(texts.take(rows))
            left_out = None if images is None else np.repeat(images[rows], np.diff(starts))
            chunks.append(sum_runs(np.log(self._probabilities(first, second, left_out)), starts))
        return np.concatenate(chunks)

    def _probabilities(self, first: np.ndarray, second: np.ndarray, images: np.ndarray | None) -> np.ndarray:
        keys = self._key(first, second)
        pairs, firsts, seconds = self._pair_counts.of(keys), self._firsts.of(first), self._seconds.of(second)
        total = self._total
        if images is not None:
            pairs = pairs - self._own_pairs.of(self._own(images, keys))
            firsts = firsts - self._own_firsts.of(self._own(images, first))
            seconds = seconds - self._own_seconds.of(self._own(images, second))
            total = total - self._own_totals[images]
        of_pair = np.divide(pairs, firsts, out=np.zeros(len(pairs)), where=firsts > 0)
        of_token = (seconds + SMOOTHING) / (total + SMOOTHING * self._n_tokens)
        return PAIR_WEIGHT * of_pair + (1 - PAIR_WEIGHT) * of_token

    def _pairs(self, texts: Texts) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns first and second token of all pairs as places in the model's vocabulary, and the starts of texts."""
        vocabulary, values, starts = texts.tokens
        unknown = self._n_tokens
        places = np.array([self._place_of.get(token, unknown) for token in vocabulary], np.int64)[values]
        pair_starts = starts + np.arange(len(starts))
        first, second = (np.empty(pair_starts[-1], np.int64) for _ in range(2))
        is_first, is_last = (np.zeros(pair_starts[-1], bool) for _ in range(2))
        is_first[pair_starts[:-1]] = is_last[pair_starts[1:] - 1] = True
        first[is_first], first[~is_first] = self._place_of[START], places
        second[is_last], second[~is_last] = self._place_of[END], places
        return first, second, pair_starts

    def _key(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        return first * (self._n_tokens + 1) + second

    def _own(self, images: np.ndarray, keys: np.ndarray) -> np.ndarray:
        return images * (self._n_tokens + 1) ** 2 + keys
