"""Find where the truth stands when a query searches a pool of candidates, and what that is worth.

A hit is strict: the best truth stands in the first k even if all false candidates that tie with it come first. Beside
it is the hit with ties split: what is to be expected if equal scores are put in a random order. A model that gives all
one score has no strict hit, and with ties split exactly chance.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from crepebench.raw_retrieval import BLOCK, distinct_rows
from crepebench.scores import PAIRS_PER_CALL, Scorer


class Places(NamedTuple):
    """Where the best true candidate of each query stands; all (n_queries,) int64.

    Attributes:
        n_better: false candidates above it.
        n_tied: false candidates that tie with it.
        n_true_tied: true candidates at its score, itself among them.
    """

    n_better: np.ndarray
    n_tied: np.ndarray
    n_true_tied: np.ndarray


def pool_places(queries: np.ndarray, candidates: np.ndarray, truths: np.ndarray, score: Scorer | None) -> Places:
    """Finds the best true candidate of each query among all candidates, block by block.

    Args:
        queries: (n_queries, dim) unit features.
        candidates: (n_candidates, dim) unit features; equal ones tie exactly.
        truths: (n_truths, 2) places of queries and of the candidates that are true of them, sorted; one at least for
            each query.
        score: scores pairs (query, candidate) of a model that has a score of its own; else cosines.

    Raises:
        ValueError: a score is NaN.
    """
    score_block = _cosines(candidates) if score is None else _own_scores(candidates, score)
    step, blocks = max(1, BLOCK // len(candidates)), []
    for start in range(0, len(queries), step):
        scores = score_block(queries[start : start + step])
        if np.isnan(scores).any():
            raise ValueError(f"{int(np.isnan(scores).any(axis=1).sum())} of {len(scores)} queries have a score NaN")
        is_true = np.zeros(scores.shape, bool)
        first, last = np.searchsorted(truths[:, 0], (start, start + step))
        is_true[truths[first:last, 0] - start, truths[first:last, 1]] = True
        best = np.where(is_true, scores, -np.inf).max(axis=1, keepdims=True)
        equal = scores == best
        found = (scores > best, equal & ~is_true, equal & is_true)
        blocks.append([counted.sum(axis=1) for counted in found])
    return Places(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))


def _cosines(candidates: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    # a product of matrices may give equal columns sums that differ in their last bits: each is multiplied once
    distinct, place = distinct_rows(candidates)
    distinct = distinct.astype(np.float64).T
    return lambda queries: (queries.astype(np.float64) @ distinct)[:, place]


def _own_scores(candidates: np.ndarray, score: Scorer) -> Callable[[np.ndarray], np.ndarray]:
    def score_block(queries: np.ndarray) -> np.ndarray:
        n, scores = len(candidates), np.empty(len(queries) * len(candidates))
        for start in range(0, len(scores), PAIRS_PER_CALL):
            pairs = np.arange(start, min(start + PAIRS_PER_CALL, len(scores)))
            scores[pairs] = np.ravel(score(queries[pairs // n], candidates[pairs % n]))
        return scores.reshape(len(queries), n)

    return score_block


def chance_of_hit(n_true: np.ndarray, n_candidates: np.ndarray, n_drawn: np.ndarray) -> np.ndarray:
    """Returns the chance, 0-1, that a true candidate is among some that are drawn without replacement, (n,).

    Args:
        n_true: (n,) true candidates of each query.
        n_candidates: (n,) all its candidates.
        n_drawn: (n,) how many are drawn; all where there are fewer, none where it is negative.
    """
    miss = np.ones(len(n_true))
    for number in range(max(0, int(n_drawn.max(initial=0)))):
        left = n_candidates - number
        still = np.where(left > 0, np.maximum(left - n_true, 0) / np.maximum(left, 1), 1.0)
        miss *= np.where(number < n_drawn, still, 1.0)
    return 1.0 - miss


def hit_rows(item_ids: Sequence[str], places: Places, ks: Mapping[str, int], is_cut: Sequence[bool]) -> list[dict]:
    """Returns the rows of table BENCHMARK_SCORES of queries, query by query; `scores` is empty.

    Args:
        item_ids: of the queries.
        places: where their truths stand.
        ks: how far down a hit of each metric may stand.
        is_cut: whether the model reads a text of the query only in part.
    """
    strict = {metric: (places.n_better + places.n_tied < k).astype(np.float64) for metric, k in ks.items()}
    n_tied = places.n_tied + places.n_true_tied
    split = {metric: chance_of_hit(places.n_true_tied, n_tied, k - places.n_better) for metric, k in ks.items()}
    return [
        {
            **{"item_id": item_id, "metric": metric, "scores": [], "is_cut": bool(cut), "reason": ""},
            **{"strict": float(strict[metric][query]), "ties_split": float(split[metric][query])},
        }
        for query, (item_id, cut) in enumerate(zip(item_ids, is_cut, strict=True))
        for metric in ks
    ]


def missed_rows(item_id: str, metrics: Sequence[str], reason: str) -> list[dict]:
    """Returns the rows of table BENCHMARK_SCORES of a query that cannot be made."""
    nothing = {"item_id": item_id, "strict": None, "ties_split": None, "scores": [], "is_cut": False}
    return [{**nothing, "metric": metric, "reason": reason} for metric in metrics]
