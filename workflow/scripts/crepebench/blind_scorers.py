"""Score the texts of retrieval sets without the image: whatever finds the truth here needs no vision.

A scorer has a `name`, `fit(sets)`, and `score(texts)`: higher means more likely the truth. It sees texts only, one at a
time. One that learns is judged on sets of images that it was not fitted on (`cross_fit`).
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from crepebench.candidate_texts import DECIMALS, SURFACE, CandidateSet, CandidateSets, Texts, sum_runs, take_runs
from crepebench.negation_cues import denied_tokens
from crepebench.scores import pair_wins

RIDGE = 1.0
"""Weight of half the squared weights, beside the sum of the losses of all pairs."""
SOLVER = {"maxiter": 200, "ftol": 1e-7, "gtol": 1e-6}
"""Bounds of the steps of a logistic regression, and of what a last step may change."""
MOST = 40
"""Counts of a text's surface above this are taken as this."""
DENIED = "not "
"""Beginning of a word that is denied; no token holds a space."""
INNER_FOLDS = 3
"""Folds by which a combination gets scores of its own training sets."""


def fit_pairs(differences, ridge: float = RIDGE) -> np.ndarray:
    """Fits the weights with which the truth beats the foil in as many pairs as possible: a logistic regression.

    Args:
        differences: (n_pairs, n_columns), features of the truth less those of the foil; an array or a sparse matrix.
        ridge: weight of the penalty.

    Returns:
        (n_columns,) float64; zeros where there is no pair.
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    n_pairs = max(differences.shape[0], 1)

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        margins = differences @ weights
        value = np.logaddexp(0.0, -margins).sum() + ridge / 2 * weights @ weights
        return value / n_pairs, (ridge * weights - differences.T @ expit(-margins)) / n_pairs

    start = np.zeros(differences.shape[1])
    return minimize(loss, start, jac=True, method="L-BFGS-B", options=SOLVER).x


def count_differences(values: np.ndarray, starts: np.ndarray, n_columns: int, sets: CandidateSets):
    """Returns how much more often each thing stands in the truth than in the foil, for pairs that differ.

    Args:
        values: things of all texts, as columns.
        starts: where the things of each text start, and the end.
        n_columns: number of columns.
        sets: sets of the texts.

    Returns:
        (n, n_columns) sparse matrix; pairs without any difference are left out.
    """
    from scipy.sparse import csr_matrix

    counts = csr_matrix((np.ones(len(values)), values, starts), shape=(len(starts) - 1, n_columns))
    truths, foils = sets.pairs
    differences = counts[truths] - counts[foils]
    differences.eliminate_zeros()
    return differences[differences.getnnz(axis=1) > 0]  # the others are ties whatever the weights


class Scorer(ABC):
    """A scorer that learns nothing; others say so and override `fit`."""

    name = ""
    learns = False

    def fit(self, sets: Sequence[CandidateSet]) -> None:  # noqa: B027  most scorers learn nothing
        """Learns from sets of some images."""

    @abstractmethod
    def score(self, texts: Sequence[str]) -> np.ndarray:
        """Returns the score of each text: (n_texts,) float64."""


class CountScorer(Scorer):
    """Prefers texts with the fewest or the most of one of the things that `surface_counts` counts."""

    def __init__(self, name: str):
        """`name` is `fewest_<count>` or `most_<count>`."""
        self.name = name
        which, _, count = name.partition("_")
        self._sign, self._column = {"fewest": -1.0, "most": 1.0}[which], SURFACE.index(count)

    def score(self, texts: Sequence[str]) -> np.ndarray:
        """Returns the count, or less the count."""
        return self._sign * Texts.of(texts).surface[:, self._column]


class SurfaceScorer(Scorer):
    """Adds up learned weights of a text's lengths, capitals, marks and slips, each count with a weight of its own."""

    name = "surface"
    learns = True

    def fit(self, sets: Sequence[CandidateSet]) -> None:
        """Learns the weight of each value of each count."""
        sets = CandidateSets.of(sets)
        values, starts = self._values(sets.texts)
        self._weights = fit_pairs(count_differences(values, starts, len(SURFACE) * (MOST + 1), sets))

    def score(self, texts: Sequence[str]) -> np.ndarray:
        """Returns the sum of the weights."""
        values, starts = self._values(Texts.of(texts))
        return sum_runs(self._weights[values], starts)

    @staticmethod
    def _values(texts: Texts) -> tuple[np.ndarray, np.ndarray]:
        counts = texts.surface.copy()
        counts[:, SURFACE.index("characters")] //= 4  # finer steps would be too many
        columns = np.arange(len(SURFACE)) * (MOST + 1) + np.minimum(counts, MOST)
        return columns.ravel(), np.arange(len(texts) + 1) * len(SURFACE)


class WordScorer(Scorer):
    """Adds up learned weights of a text's words: those of truths are positive, those of foils negative."""

    name = "words"
    learns = True

    def fit(self, sets: Sequence[CandidateSet]) -> None:
        """Learns the weight of each word from pairs of truth and foil."""
        sets = CandidateSets.of(sets)
        vocabulary, values, starts = self._tokens(sets.texts)
        weights = fit_pairs(count_differences(values, starts, len(vocabulary), sets))
        self._weight_of = dict(zip(vocabulary, weights.tolist(), strict=True))

    def score(self, texts: Sequence[str]) -> np.ndarray:
        """Returns the sum of the weights, 0 for words that were not learned."""
        vocabulary, values, starts = self._tokens(Texts.of(texts))
        weights = np.array([self._weight_of.get(word, 0.0) for word in vocabulary])
        return sum_runs(weights[values] if len(values) else np.empty(0), starts)

    def _tokens(self, texts: Texts) -> tuple[list[str], np.ndarray, np.ndarray]:
        """Returns vocabulary, words as places in it, and the starts of the texts; see `Texts.tokens`."""
        return texts.tokens


class AssertedWordScorer(WordScorer):
    """Like WordScorer, but a word that a text denies is another word than one that it asserts.

    So learned weights may say that a thing is likely to be there, and a lie to deny.
    """

    name = "asserted_words"

    def _tokens(self, texts: Texts) -> tuple[list[str], np.ndarray, np.ndarray]:
        vocabulary, values, starts = texts.tokens
        denied = [DENIED + word for word in vocabulary]
        is_denied = np.concatenate(
            [denied_tokens([vocabulary[i] for i in run]) for run in np.split(values, starts[1:-1])]
        )
        return [*vocabulary, *denied], values + len(vocabulary) * is_denied, starts


class RandomWordScorer(Scorer):
    """Adds up random weights of a text's words; shows what a set's form alone makes of recall at 1."""

    name = "random_words"

    def __init__(self, seed: int):
        self._seed = seed

    def score(self, texts: Sequence[str]) -> np.ndarray:
        """Returns the sum of the weights; that of a word depends on nothing but the word and the seed."""
        vocabulary, values, starts = Texts.of(texts).tokens
        digests = (hashlib.sha256(f"{self._seed}\0{word}".encode()).digest() for word in vocabulary)
        weights = np.array([int.from_bytes(digest[:8], "big") / 2**64 - 0.5 for digest in digests])
        return sum_runs(weights[values] if len(values) else np.empty(0), starts)


class CombinationScorer(Scorer):
    """Adds up the scores of other scorers with learned weights.

    Attributes:
        accuracies: pairwise accuracy of each part and of the combination on the sets it was fitted on, each set scored
            by parts that had not seen its image.
    """

    name = "combination"
    learns = True

    def __init__(self, make_parts: Sequence[Callable[[], Scorer]], seed: int, n_folds: int = INNER_FOLDS):
        self._make_parts, self._seed, self._n_folds = make_parts, seed, n_folds

    def fit(self, sets: Sequence[CandidateSet]) -> None:
        """Fits the weights on scores of parts that had not seen the image, then the parts on all sets."""
        sets = CandidateSets.of(sets)
        crosswise = np.stack([cross_fit(make, sets, self._n_folds, self._seed) for make in self._make_parts], 1)
        truths, foils = sets.pairs
        differences = crosswise[truths] - crosswise[foils]
        spread = np.sqrt(np.mean(differences**2, axis=0)) if len(differences) else np.ones(len(self._make_parts))
        self._scale = np.where(spread > 0, spread, 1.0)
        self._weights = fit_pairs(differences / self._scale)
        self._parts = [make() for make in self._make_parts]
        for part in self._parts:
            part.fit(sets)
        scores = [*crosswise.T, self._combine(crosswise)]
        self.accuracies = {
            scorer.name: pairwise_accuracy(found, sets)
            for scorer, found in zip([*self._parts, self], scores, strict=True)
        }

    def score(self, texts: Sequence[str]) -> np.ndarray:
        """Returns the weighted sum of the parts' scores."""
        return self.score_all(texts)[self.name]

    def score_all(self, texts: Sequence[str]) -> dict[str, np.ndarray]:
        """Returns the scores of each part and of the combination, by name."""
        texts = Texts.of(texts)
        found = {part.name: part.score(texts) for part in self._parts}
        return {**found, self.name: self._combine(np.stack(list(found.values()), 1))}

    def _combine(self, scores: np.ndarray) -> np.ndarray:
        return np.round((scores / self._scale) @ self._weights, DECIMALS)


def pairwise_accuracy(scores: np.ndarray, sets: CandidateSets) -> float:
    """Returns the share of pairs, 0-1, that the truth wins, ties as half; NaN where there is no pair."""
    truths, foils = sets.pairs
    return float(np.mean(pair_wins(scores[truths], scores[foils]))) if len(foils) else float("nan")


def folds_of(image_ids: np.ndarray, n_folds: int, seed: int) -> np.ndarray:
    """Deals images to folds: (n_sets,) int64. Folds depend on the images, not on the order of the sets."""
    images, places = np.unique(image_ids, return_inverse=True)
    return (np.random.default_rng(seed).permutation(len(images)) % n_folds)[places]


def split_folds(sets: CandidateSets, n_folds: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yields, fold by fold, which sets to learn from and which to score: two times places of sets."""
    folds = folds_of(sets.image_ids, n_folds, seed)
    for fold in range(n_folds):
        yield np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)


def cross_fit(make: Callable[[], Scorer], sets: Sequence[CandidateSet], n_folds: int, seed: int) -> np.ndarray:
    """Scores each set with a model that has not seen its image.

    Args:
        make: makes a scorer that has learned nothing.
        sets: sets to learn from and to score.
        n_folds: number of folds of images; a scorer that can take single images out again does that instead.
        seed: seed of the folds.

    Returns:
        (n_texts,) float64, set by set, the truth first.
    """
    sets, scorer = CandidateSets.of(sets), make()
    if not scorer.learns:
        return scorer.score(sets.texts)
    if hasattr(scorer, "cross_score"):
        return scorer.cross_score(sets)
    scores = np.empty(len(sets.texts))
    places = np.arange(len(sets.texts))
    for train, test in split_folds(sets, n_folds, seed):
        scorer = make()
        scorer.fit(sets.take(train))
        where, _ = take_runs(places, sets.starts, test)
        scores[where] = scorer.score(sets.texts.take(where))
    return scores
