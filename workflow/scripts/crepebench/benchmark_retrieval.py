"""Retrieval from the whole pool of a benchmark's pictures and captions, in both directions.

Every query is an item, so that recalls are means over queries: over captions, not over pictures, where captions search.
The pool of an item is what the other items of its subset bring:

- RETRIEVE_CAPTION: a picture with all its captions, each of which is true; it searches the captions of all such items.
- RETRIEVE_IMAGE: one caption and its picture, which alone is true; it searches the pictures of all such items.

A picture may be a clip: `crepebench.pooled_features` gives it a feature.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence

import numpy as np

from crepebench.benchmark_items import ImageRef, Item
from crepebench.feature_index import CROP
from crepebench.feature_reader import ABSENT, Features
from crepebench.negation_cues import has_cue
from crepebench.pool_places import chance_of_hit, hit_rows, missed_rows, pool_places
from crepebench.pooled_features import picture_id
from crepebench.raw_retrieval import IMAGE_TO_TEXT, TEXT_TO_IMAGE, text_rows
from crepebench.scores import Scorer

RETRIEVE_CAPTION, RETRIEVE_IMAGE = "retrieve_caption", "retrieve_image"
KS = (1, 5, 10)
METRICS = {
    RETRIEVE_CAPTION: {f"{IMAGE_TO_TEXT}_recall_at_{k}": k for k in KS},
    RETRIEVE_IMAGE: {f"{TEXT_TO_IMAGE}_recall_at_{k}": k for k in KS},
}
"""How far down a hit of each metric may stand, by task."""
CUE_TAG = "with_cue"
"""Tag of captions that hold a negation cue; its value is the subset, so that each subset has a row for them."""


def retrieval_items(
    name: str, subset: str, image: ImageRef, captions: Sequence[str], tasks: Sequence[str], cues: bool
) -> Iterator[Item]:
    """Yields the items of a picture and its captions.

    Args:
        name: unique in the benchmark; ids begin with it.
        subset: part of the benchmark, whose pictures and captions are one pool.
        image: the picture, or clip.
        captions: what is true of it.
        tasks: RETRIEVE_CAPTION, RETRIEVE_IMAGE or both.
        cues: whether captions that hold a negation cue are tagged.
    """
    if RETRIEVE_CAPTION in tasks:
        yield Item(f"{name}/captions", subset, RETRIEVE_CAPTION, (image,), tuple(captions), {})
    if RETRIEVE_IMAGE in tasks:
        for number, caption in enumerate(captions):
            tags = {CUE_TAG: subset} if cues and has_cue(caption) else {}
            yield Item(f"{name}/image/{number}", subset, RETRIEVE_IMAGE, (image,), (caption,), tags)


def pools_of(rows: Sequence[Mapping], task: str) -> dict[str, list[Mapping]]:
    """Returns the items of a task by subset: each is one pool."""
    pools: dict[str, list[Mapping]] = {}
    for row in rows:
        if row["task"] == task:
            pools.setdefault(row["subset"], []).append(row)
    return pools


def score_retrieval(rows: Sequence[Mapping], features: Features, score: Scorer | None = None) -> Iterator[dict]:
    """Yields the rows of table BENCHMARK_SCORES of the items of both tasks; items of other tasks are passed over.

    A picture that has no feature leaves the pool, with its captions.

    Args:
        rows: rows of table BENCHMARK_ITEMS that can be used.
        features: features of their texts and crops.
        score: scores pairs (picture, caption) of a model that has a score of its own; else cosines.

    Raises:
        ValueError: a score is NaN; names the subset.
    """
    searches = {RETRIEVE_CAPTION: _search_captions, RETRIEVE_IMAGE: _search_images}
    for task, search in searches.items():
        for subset, items in pools_of(rows, task).items():
            kept, crops = yield from split_missing(items, features, list(METRICS[task]))
            if kept:
                try:
                    yield from search(kept, crops, features, score)
                except ValueError as error:
                    raise ValueError(f"{task}, subset {subset}: {error}") from error


def split_missing(
    items: Sequence[Mapping], features: Features, metrics: Sequence[str]
) -> Generator[dict, None, tuple[list[Mapping], np.ndarray]]:
    """Yields the rows of table BENCHMARK_SCORES of items whose picture has no feature; returns the others.

    Args:
        items: rows of table BENCHMARK_ITEMS, of one picture each.
        features: features of their crops.
        metrics: metrics of their task.

    Returns:
        The items, and (n_items, dim) features of their pictures.
    """
    ids = [picture_id(row["images"][0]) for row in items]
    places = features.rows_of(CROP, ids)
    for row, id_, place in zip(items, ids, places, strict=True):
        if place == ABSENT:
            yield from missed_rows(row["item_id"], metrics, features.reasons[id_])
    kept = [row for row, place in zip(items, places, strict=True) if place != ABSENT]
    return kept, features.matrix[places[places != ABSENT]]


def _search_captions(
    items: Sequence[Mapping], images: np.ndarray, features: Features, score: Scorer | None
) -> list[dict]:
    captions = [caption for row in items for caption in row["captions"]]
    rows = text_rows(captions, features)
    is_cut = np.split(features.is_cut[rows], np.cumsum([len(row["captions"]) for row in items])[:-1])
    places = pool_places(images, features.matrix[rows], true_captions(items), score)
    ids = [row["item_id"] for row in items]
    return hit_rows(ids, places, METRICS[RETRIEVE_CAPTION], [cut.any() for cut in is_cut])


def _search_images(
    items: Sequence[Mapping], images: np.ndarray, features: Features, score: Scorer | None
) -> list[dict]:
    rows = text_rows([row["captions"][0] for row in items], features)
    first, own = distinct_images(items)
    of_captions = score and (lambda texts, pictures: score(pictures, texts))
    truths = np.stack([np.arange(len(items)), own], axis=1)
    places = pool_places(features.matrix[rows], images[first], truths, of_captions)
    ids = [row["item_id"] for row in items]
    return hit_rows(ids, places, METRICS[RETRIEVE_IMAGE], features.is_cut[rows].tolist())


def distinct_images(items: Sequence[Mapping]) -> tuple[np.ndarray, np.ndarray]:
    """Returns the place of the first item of each picture, and for each item the number of its picture."""
    numbers: dict[str, int] = {}
    own = np.array([numbers.setdefault(picture_id(row["images"][0]), len(numbers)) for row in items], np.int64)
    return np.unique(own, return_index=True)[1], own


def true_captions(items: Sequence[Mapping]) -> np.ndarray:
    """Returns which captions are true of pictures: (n_truths, 2) places of items and of captions, sorted.

    Captions of all items stand one after the other.

    # ASSUME: another picture's caption that is written as one of a picture's own, but for case and spaces, is true of
    it too; which of two equal texts is found first says nothing.
    """
    texts = [[" ".join(caption.lower().split()) for caption in row["captions"]] for row in items]
    places: dict[str, list[int]] = {}
    for place, text in enumerate(text for own in texts for text in own):
        places.setdefault(text, []).append(place)
    return np.array(sorted({(item, place) for item, own in enumerate(texts) for t in own for place in places[t]}))


def retrieval_chances(rows: Sequence[Mapping]) -> dict[tuple[str, str], float]:
    """Returns the chance of a hit, 0-1, by item and metric, for items of both tasks: what random scores give.

    Args:
        rows: rows of table BENCHMARK_ITEMS that can be used.
    """
    chances: dict[tuple[str, str], float] = {}
    for task, metrics in METRICS.items():
        for items in pools_of(rows, task).values():
            if task == RETRIEVE_CAPTION:
                n_true = np.bincount(true_captions(items)[:, 0], minlength=len(items))
                n_candidates = sum(len(row["captions"]) for row in items)
            else:
                n_true, n_candidates = np.ones(len(items), np.int64), len(distinct_images(items)[0])
            n_all = np.full(len(items), n_candidates)
            for metric, k in metrics.items():
                found = chance_of_hit(n_true, n_all, np.full(len(items), k)).tolist()
                chances |= {(row["item_id"], metric): one for row, one in zip(items, found, strict=True)}
    return chances
