"""Choose among candidate foils those with which text alone cannot tell truth from foil.

A text gives the truth away where a word, a pair of words or a length stands more often in truths than in the foils that
replace it. So one choice is made over all sets: each takes from its candidates as many foils as it needs, such that
over the whole data set everything that can be counted in a text stands as often in truths as in foils (per pair of
truth and foil). The choice is a descent: the set at hand is taken out and chosen anew, with the lowest sum of squared
differences. Within a set the truth has a drawn rank among its foils by likelihood, each rank equally often, so that
neither the likeliest nor the least likely text is the truth more often than by chance.

Differences that chance makes are left alone. Were every count made equal, the truths of some images would lack what the
others have too much of, and who knows the others could tell them by it.

The result depends on the seed and the sets alone. No scorer that learns from foils is used here: `words` and
`combination` of `crepebench.blind_scorers` judge a choice that they had no part in.
"""

import itertools
from typing import NamedTuple

import numpy as np

from crepebench.candidate_texts import SURFACE, CandidateSets
from crepebench.refinement_kernels import drop_sets, find_gains, sweep

N_SWEEPS = 20
"""Times that every set is chosen anew."""
# ASSUME: a difference of two standard errors is chance; a larger one is brought down to one and a half
CHANCE = 2.0
GOAL = 1.5
"""In standard errors of a random choice."""
FUNCTION_WORDS = frozenset("a an the and is are".split())
MOST = 40
CHARACTERS_A_STEP = 2
"""Lengths in characters are counted in steps of this many."""


class Differences(NamedTuple):
    """What each candidate has more or less of than its truth, as rows of a sparse matrix.

    Attributes:
        columns: things counted.
        values: count in the truth less count in the foil.
        starts: (n_candidates + 1,) where each candidate starts, and the end.
    """

    columns: np.ndarray
    values: np.ndarray
    starts: np.ndarray


class Choice(NamedTuple):
    """The foils chosen for each set.

    Attributes:
        taken: (n_sets, n_foils) int64, places among the set's own candidates, ascending.
        is_kept: (n_sets,) bool; False where no choice hides the truth.
    """

    taken: np.ndarray
    is_kept: np.ndarray


def count_differences(sets: CandidateSets) -> Differences:
    """Counts tokens, neighbours, words that stand in one text, and the values of all counts of the surface."""
    from scipy.sparse import csr_matrix, hstack

    vocabulary, values, starts = sets.texts.tokens
    n_texts, n_words = len(sets.texts), len(vocabulary)
    values = values.astype(np.int64)
    surface = np.minimum(sets.texts.surface, MOST * CHARACTERS_A_STEP)
    surface[:, SURFACE.index("characters")] //= CHARACTERS_A_STEP
    surface = np.arange(len(SURFACE)) * (MOST + 1) + np.minimum(surface, MOST)
    blocks = []
    for columns, offsets in (
        (values, starts),
        _neighbours(values, starts, n_words),
        _joint_words(values, starts, vocabulary),
        (surface.ravel(), np.arange(n_texts + 1) * len(SURFACE)),
    ):
        names, places = np.unique(columns, return_inverse=True)
        ones = np.ones(len(places), np.int64)
        blocks.append(csr_matrix((ones, places, offsets), shape=(n_texts, max(len(names), 1))))
    counts = hstack(blocks, format="csr")
    truths, foils = sets.pairs
    differences = (counts[truths] - counts[foils]).tocsr()
    differences.eliminate_zeros()
    differences.sort_indices()
    return Differences(*(part.astype(np.int64) for part in (differences.indices, differences.data, differences.indptr)))


def _neighbours(values: np.ndarray, starts: np.ndarray, n_words: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns neighbours as numbers, with a mark at both ends of a text, and where each text starts."""
    pair_starts = starts + np.arange(len(starts))
    first = np.full(pair_starts[-1], n_words, np.int64)
    second = np.full(pair_starts[-1], n_words, np.int64)
    is_first, is_last = np.zeros(len(first), bool), np.zeros(len(first), bool)
    is_first[pair_starts[:-1]] = is_last[pair_starts[1:] - 1] = True
    first[~is_first], second[~is_last] = values, values
    return first * (n_words + 1) + second, pair_starts


def _joint_words(values: np.ndarray, starts: np.ndarray, vocabulary: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Returns all pairs of words of a text but function words, in their order, as numbers, and starts of the texts."""
    is_content = np.array([word not in FUNCTION_WORDS for word in vocabulary], bool)[values]
    texts = np.repeat(np.arange(len(starts) - 1), np.diff(starts))[is_content]
    words, keys, owners = values[is_content], [], []
    for distance in range(1, int(np.bincount(texts, minlength=1).max(initial=0))):
        together = texts[distance:] == texts[:-distance]
        keys.append((words[:-distance] * len(vocabulary) + words[distance:])[together])
        owners.append(texts[distance:][together])
    keys, owners = (np.concatenate([np.empty(0, np.int64), *parts]) for parts in (keys, owners))
    order = np.argsort(owners, kind="stable")
    return keys[order], np.r_[0, np.cumsum(np.bincount(owners, minlength=len(starts) - 1))]


def draw_ranks(n_above: np.ndarray, n_below: np.ndarray, n_foils: int, order: np.ndarray) -> np.ndarray:
    """Draws how many foils of each set shall be likelier than its truth, each number equally often as far as it goes.

    Sets with the least choice come first, and each takes the number that was taken least so far.

    Args:
        n_above: (n_sets,) candidates that are likelier than the truth.
        n_below: (n_sets,) candidates that are not.
        n_foils: foils of a set.
        order: (n_sets,) random order of the sets.

    Returns:
        (n_sets,) int64.
    """
    low, high = np.maximum(n_foils - n_below, 0), np.minimum(n_above, n_foils)
    taken = np.zeros(n_foils + 1, np.int64)
    ranks = np.zeros(len(n_above), np.int64)
    for i in order[np.argsort((high - low)[order], kind="stable")].tolist():
        ranks[i] = low[i] + np.argmin(taken[low[i] : high[i] + 1])
        taken[ranks[i]] += 1
    return ranks


def choose_randomly(first: np.ndarray, is_above: np.ndarray, ranks: np.ndarray, n_foils: int, rng) -> np.ndarray:
    """Chooses foils of each set at random, `ranks` of them likelier than the truth.

    Args:
        first: (n_sets + 1,) where the candidates of each set start, and the end.
        is_above: (n_candidates,) whether a candidate is likelier than its truth.
        ranks: (n_sets,) how many of these to take.
        n_foils: foils of a set.
        rng: generator.

    Returns:
        (n_sets, n_foils) int64, places among all candidates.
    """
    set_of = np.repeat(np.arange(len(ranks)), np.diff(first))
    order = np.lexsort((rng.random(len(is_above)), is_above, set_of))  # by set, those below first, each at random
    n_below = np.add.reduceat(~is_above, first[:-1]).astype(np.int64) if len(ranks) else np.zeros(0, np.int64)
    place = np.arange(n_foils)
    n_from_below = (n_foils - ranks)[:, None]
    offsets = np.where(place < n_from_below, place, n_below[:, None] + place - n_from_below)
    return order[first[:-1, None] + offsets]


def even_out(ranks: np.ndarray, n_foils: int, most: int, order: np.ndarray) -> np.ndarray:
    """Says which sets to keep so that no rank occurs oftener than by chance, as far as `most` lost sets allow."""
    counts, fair = np.bincount(ranks, minlength=n_foils + 1), len(ranks) / (n_foils + 1)
    least = int(fair + CHANCE * fair**0.5)
    cap = next(cap for cap in itertools.count(least) if np.maximum(counts - cap, 0).sum() <= most)
    is_kept, seen = np.zeros(len(ranks), bool), np.zeros(n_foils + 1, np.int64)
    for i in order.tolist():
        is_kept[i] = seen[ranks[i]] < cap
        seen[ranks[i]] += 1
    return is_kept


def standard_errors(differences: Differences, taken: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns how much more often each thing stands in truths than in chosen foils, and the standard error of that.

    Args:
        differences: what candidates have more or less of than their truths.
        taken: (n_sets, n_foils) places of the chosen candidates.

    Returns:
        (n_columns,) int64 and float64.
    """
    from scipy.sparse import csr_matrix

    n_columns = int(differences.columns.max(initial=-1)) + 1
    n_candidates = len(differences.starts) - 1
    matrix = csr_matrix((differences.values, differences.columns, differences.starts), shape=(n_candidates, n_columns))
    rows = np.repeat(np.arange(len(taken)), taken.shape[1])
    chosen = csr_matrix((np.ones(taken.size, np.int64), (rows, taken.ravel())), shape=(len(taken), n_candidates))
    sums = chosen @ matrix
    return np.asarray(sums.sum(axis=0)).ravel(), np.sqrt(np.asarray(sums.multiply(sums).sum(axis=0)).ravel())


def choose_foils(sets: CandidateSets, scores: np.ndarray | None, n_foils: int, max_lost: float, seed: int) -> Choice:
    """Chooses the foils of all sets.

    Args:
        sets: truths and their candidates, at least `n_foils` each, in an order that does not depend on jobs.
        scores: (n_texts,) likelihood of each text, the truth of a set first; None where it shall not matter.
        n_foils: foils of a set.
        max_lost: 0-1, share of the sets that may be lost.
        seed: seed of the choice.
    """
    rng = np.random.default_rng(seed)
    n_sets, first = len(sets), np.r_[0, np.cumsum(np.diff(sets.starts) - 1)]
    if not n_sets:
        return Choice(np.empty((0, n_foils), np.int64), np.empty(0, bool))
    order = rng.permutation(n_sets)
    truths, foils = sets.pairs
    # ASSUME: a foil as likely as its truth counts as above or below by the toss of a coin
    tie = rng.random(len(foils)) < 0.5
    scores = np.zeros(len(sets.texts)) if scores is None else scores
    is_above = (scores[foils] > scores[truths]) | ((scores[foils] == scores[truths]) & tie)
    n_above = np.add.reduceat(is_above, first[:-1]).astype(np.int64)
    ranks = draw_ranks(n_above, np.diff(first) - n_above, n_foils, order)
    most = int(max_lost * n_sets)
    is_kept = even_out(ranks, n_foils, most, order)
    taken = choose_randomly(first, is_above, ranks, n_foils, rng)

    differences = count_differences(sets)
    balance, errors = standard_errors(differences, taken[is_kept])
    goal = np.where(np.abs(balance) > CHANCE * errors, GOAL, CHANCE)
    slack, loose = (np.floor(factor * errors).astype(np.int64) for factor in (goal, CHANCE))
    args = (*differences, first, is_above, ranks)
    for n_sweeps in (N_SWEEPS, N_SWEEPS // 2):
        kept = order[is_kept[order]]
        for _ in range(n_sweeps):
            sweep(balance, slack, *args, kept, taken, n_foils)
        if n_sweeps == N_SWEEPS:
            gains = find_gains(balance, loose, *differences, taken)
            by_gain = kept[np.argsort(-gains[kept], kind="stable")]
            drop_sets(balance, loose, *differences, taken, by_gain, most - int((~is_kept).sum()), is_kept)
    return Choice(np.sort(taken - first[:-1, None], axis=1), is_kept)
