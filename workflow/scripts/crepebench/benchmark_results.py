"""Turn the scores of an item into results: strict, and with ties broken at random; and what chance alone would give.

A result is a list of comparisons, all of which must come out right. Which ones follows from the task alone, never from
where an option stands, so a model that gives all options one score has none right, and splits its ties at chance.
"""

from collections.abc import Mapping
from itertools import permutations

import numpy as np

from crepebench.benchmark_items import CHOOSE_CAPTION, CHOOSE_IMAGE, PAIRS, PAIRS_IMAGE, TEXT_ONLY, TWO_CAPTIONS

Comparisons = tuple[tuple[int, int], ...]
"""Places of scores: of each pair the first must be the greater."""
ACCURACY, TEXT, IMAGE, GROUP, ITT, TOT = "accuracy", "text", "image", "group", "itt", "tot"
TEXT_SIDE, IMAGE_SIDE = ((0, 1), (3, 2)), ((0, 2), (3, 1))
"""Of two images and two captions, the scores of which stand image by image."""
METRICS: dict[str, dict[str, Comparisons]] = {
    PAIRS: {TEXT: TEXT_SIDE, IMAGE: IMAGE_SIDE, GROUP: (*TEXT_SIDE, *IMAGE_SIDE)},
    PAIRS_IMAGE: {IMAGE: IMAGE_SIDE},
    TWO_CAPTIONS: {ITT: ((0, 2), (1, 2))},
    TEXT_ONLY: {TOT: ((0, 1), (0, 2))},
}
"""Winoground's and COLA's scores; SugarCrepe++'s: both captions above the false one, and the captions closer to each
other than each is to the false one (TEXT_PAIRS says which texts are compared). Source: the benchmarks' papers."""
TEXT_PAIRS = ((0, 1), (0, 2), (1, 2))
"""Captions whose similarities are the scores of a TEXT_ONLY item, in this order."""


def comparisons(task: str, n_scores: int) -> dict[str, Comparisons]:
    """Returns the comparisons of each metric of a task.

    Args:
        task: one of `crepebench.benchmark_items.TASKS`.
        n_scores: number of scores of an item.
    """
    if task in (CHOOSE_CAPTION, CHOOSE_IMAGE):
        return {ACCURACY: tuple((0, other) for other in range(1, n_scores))}
    return METRICS[task]


def judge(scores: np.ndarray, task: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Judges items of one task and size.

    Args:
        scores: (n_items, n_scores), image by image those of the captions.
        task: one of `crepebench.benchmark_items.TASKS`.

    Returns:
        For each metric two arrays (n_items,): 1.0 where all comparisons come out right, else 0.0; and the share of all
        ways to break ties in which they do.

    Raises:
        ValueError: a score is NaN.
    """
    if np.isnan(scores).any():
        raise ValueError(f"{int(np.isnan(scores).any(axis=1).sum())} of {len(scores)} items hold a score that is NaN")
    found = {}
    for metric, pairs in comparisons(task, scores.shape[1]).items():
        strict = np.all([scores[:, one] > scores[:, other] for one, other in pairs], axis=0).astype(np.float64)
        found[metric] = strict, _ties_split(scores, task, pairs)
    return found


def _ties_split(scores: np.ndarray, task: str, pairs: Comparisons) -> np.ndarray:
    """Returns the probability that all comparisons come out right when equal scores are put in a random order."""
    if task in (CHOOSE_CAPTION, CHOOSE_IMAGE):
        best = scores == scores.max(axis=1, keepdims=True)
        return best[:, 0] / best.sum(axis=1)
    orders = list(permutations(range(scores.shape[1])))
    total = np.zeros(len(scores))
    for order in orders:
        total += np.all(
            [
                (scores[:, one] > scores[:, other])
                | ((scores[:, one] == scores[:, other]) & (order[one] > order[other]))
                for one, other in pairs
            ],
            axis=0,
        )
    return total / len(orders)


def chance(task: str, n_scores: int) -> dict[str, float]:
    """Returns for each metric the share of items, 0-1, that scores without any meaning have right."""
    return {metric: float(found[1][0]) for metric, found in judge(np.zeros((1, n_scores)), task).items()}


def n_scores_of(row: Mapping) -> int:
    """Returns the number of scores of an item, a row of table BENCHMARK_ITEMS."""
    return len(TEXT_PAIRS) if row["task"] == TEXT_ONLY else len(row["images"]) * len(row["captions"])


def result_rows(row: Mapping, scores: np.ndarray, is_cut: bool) -> list[dict]:
    """Returns the rows of table BENCHMARK_SCORES of an item, one for each metric.

    Args:
        row: row of table BENCHMARK_ITEMS.
        scores: (n_scores,).
        is_cut: whether the model reads a caption only in part.

    Raises:
        ValueError: a score is NaN; names the item.
    """
    try:
        judged = judge(scores[None], row["task"])
    except ValueError as error:
        raise ValueError(f"item {row['item_id']!r}: {error}") from error
    shared = {"item_id": row["item_id"], "scores": scores.tolist(), "is_cut": is_cut, "reason": ""}
    return [
        {**shared, "metric": metric, "strict": float(strict[0]), "ties_split": float(split[0])}
        for metric, (strict, split) in judged.items()
    ]


def unscored_rows(row: Mapping, reason: str) -> list[dict]:
    """Returns the rows of an item that cannot be scored."""
    nothing = {"item_id": row["item_id"], "strict": None, "ties_split": None, "scores": [], "is_cut": False}
    return [{**nothing, "metric": metric, "reason": reason} for metric in comparisons(row["task"], n_scores_of(row))]
