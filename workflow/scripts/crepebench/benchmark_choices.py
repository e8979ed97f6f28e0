"""Count which kind of wrong caption is chosen, where a reader says of what kind each caption of an item is.

Source: NegBench reports how often each type of wrong answer is chosen (arXiv:2501.09425).
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from crepebench.benchmark_items import CHOOSE_CAPTION, RIGHT
from crepebench.benchmark_results import ACCURACY

CHOSEN = "chosen_"
"""Beginning of the metric of a kind."""


def choice_metrics(item: Mapping) -> list[str]:
    """Returns the metrics of the kinds of wrong captions of an item, a row of table BENCHMARK_ITEMS."""
    kinds = item["kinds"] if item["task"] == CHOOSE_CAPTION else []
    return [CHOSEN + kind for kind in dict.fromkeys(kinds) if kind != RIGHT]


def choice_chance(item: Mapping, metric: str) -> float:
    """Returns the share, 0-1, of an item's captions that are of the metric's kind."""
    return item["kinds"].count(metric.removeprefix(CHOSEN)) / len(item["kinds"])


def choice_rows(items: Sequence[Mapping], rows: Sequence[Mapping]) -> Iterator[dict]:
    """Yields a row for each kind of wrong captions of each item that was scored; captions that tie share the choice.

    Args:
        items: rows of table BENCHMARK_ITEMS.
        rows: rows of table BENCHMARK_SCORES or BENCHMARK_BLIND.
    """
    found = {row["item_id"]: row for row in rows if row["metric"] == ACCURACY and row["scores"]}
    for item in items:
        row, metrics = found.get(item["item_id"]), choice_metrics(item)
        if row is None or not metrics:
            continue
        scores, kinds = np.array(row["scores"]), np.array(item["kinds"])
        best = scores == scores.max()
        for metric in metrics:
            share = float(best[kinds == metric.removeprefix(CHOSEN)].sum() / best.sum())
            yield {**row, "metric": metric, "strict": share, "ties_split": share}
