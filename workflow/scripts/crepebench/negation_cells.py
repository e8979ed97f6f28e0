"""Average results of items over the cells of a benchmark, with intervals: what negation.csv is made of."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from crepebench.benchmark_blind import image_numbers
from crepebench.benchmark_cells import cells_of
from crepebench.measures import bootstrap_means, cell_seed, interval

NEAR_TIE = "near_tie"
NEAR_SHARE = 0.25
"""Share of the questions that are the nearest to a tie; paper, table 13."""


class Bootstrap(NamedTuple):
    """How intervals are drawn.

    Attributes:
        n_resamples: number of resamples of images.
        seed: their seed.
        names: names of the table's row beside subset and metric, which the seed depends on.
    """

    n_resamples: int
    seed: int
    names: tuple[str, ...]


def mean_of(values: np.ndarray, images: np.ndarray, metric: str, subset: str, draw: Bootstrap) -> dict:
    """Returns the row of some values, in percent.

    Args:
        values: (n,) results of items, shares from 0 to 1 or their differences.
        images: (n,) number of each item's image.
        metric: name of the metric.
        subset: name of the cell.
        draw: how the interval is drawn.
    """
    seed = cell_seed(draw.seed, *draw.names, subset, metric)
    low, high = interval(100.0 * bootstrap_means([(images, values)], draw.n_resamples, seed)[0])
    return {"subset": subset, "metric": metric, "value": 100.0 * float(values.mean()), "low": low, "high": high}


def cell_rows(
    items: Sequence[Mapping], values: np.ndarray, metric: str, macros: Mapping, draw: Bootstrap
) -> Iterator[dict]:
    """Yields a row for all items, each subset and each value of a tag; items whose value is NaN are left out.

    Args:
        items: rows of table BENCHMARK_ITEMS that share the metric.
        values: (n_items,).
        metric: name of the metric.
        macros: of the reader's manifest; says which tags have rows.
        draw: how intervals are drawn.
    """
    images, is_known = image_numbers(items), ~np.isnan(values)
    for cell in cells_of(items, macros):
        if cell.average:
            continue
        (group,) = cell.groups
        group = group[is_known[group]]
        if len(group):
            yield mean_of(values[group], images[group], metric, cell.subset, draw)


def near_ties(items: Sequence[Mapping], scores: Sequence[Mapping]) -> set[str]:
    """Returns the ids of the questions whose two best captions are the nearest to each other.

    Source: paper, table 13: the quarter with the smallest margins of the frozen model, rounded up; ties by their id.

    Args:
        items: rows of table BENCHMARK_ITEMS of one number of captions.
        scores: rows of table BENCHMARK_SCORES of the frozen model.
    """
    found = {row["item_id"]: row["scores"] for row in scores if row["scores"]}
    margins = []
    for item in items:
        if item["item_id"] in found:
            best = sorted(found[item["item_id"]], reverse=True)
            margins.append((best[0] - best[1], item["item_id"]))
    return {name for _, name in sorted(margins)[: int(np.ceil(NEAR_SHARE * len(margins)))]}
