"""The tasks whose items search a pool that all items of their subset make: retrieval and classification by names.

These tasks are scored together, not item by item; all else (items, features, tables) is as for other tasks.
"""

from collections.abc import Iterator, Mapping, Sequence

from crepebench.benchmark_items import Shape
from crepebench.benchmark_retrieval import METRICS as RETRIEVAL_METRICS
from crepebench.benchmark_retrieval import RETRIEVE_CAPTION, RETRIEVE_IMAGE, retrieval_chances, score_retrieval
from crepebench.feature_reader import Features
from crepebench.scores import Scorer
from crepebench.zero_shot import CLASS, CLASSIFY, class_chances, score_classes
from crepebench.zero_shot import METRICS as CLASS_METRICS

POOL_SHAPES = {
    RETRIEVE_CAPTION: Shape((1, 1), (1, None)),
    RETRIEVE_IMAGE: Shape((1, 1), (1, 1)),
    CLASS: Shape((0, 0), (1, None)),
    CLASSIFY: Shape((1, 1), (1, 1)),
}
"""Numbers of pictures and captions of the items."""
POOL_METRICS: dict[str, tuple[str, ...]] = {
    **{task: tuple(metrics) for task, metrics in RETRIEVAL_METRICS.items()},
    **{CLASS: (), CLASSIFY: tuple(CLASS_METRICS)},
}
"""Metrics of each task; an item of CLASS has none, it is a candidate."""


def score_pools(rows: Sequence[Mapping], features: Features, score: Scorer | None = None) -> Iterator[dict]:
    """Yields the rows of table BENCHMARK_SCORES of the items of these tasks; items of others are passed over.

    Args:
        rows: rows of table BENCHMARK_ITEMS that can be used.
        features: features of their texts and crops.
        score: scores pairs of picture and text of a model that has a score of its own; None for cosines.

    Raises:
        ValueError: a score is NaN, or a picture has no class; names task and subset, or the item.
    """
    yield from score_retrieval(rows, features, score)
    yield from score_classes(rows, features, score)


def pool_chances(rows: Sequence[Mapping]) -> dict[tuple[str, str], float]:
    """Returns the chance of a hit, 0-1, by item and metric, of the items of these tasks.

    Args:
        rows: rows of table BENCHMARK_ITEMS that can be used.
    """
    return {**retrieval_chances(rows), **class_chances(rows)}
