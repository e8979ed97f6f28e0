"""Rank the whole pool of a benchmark's pictures and captions, in both directions.

A picture searches all captions of its subset, and each of its own is a truth; a caption searches all pictures, and its
own picture is the truth. Ties follow the one rule of this workflow: a truth that ties with false candidates shares the
mean of their ranks. `crepebench.benchmark_recalls` makes recalls of the ranks.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from crepebench.feature_index import crop_id
from crepebench.feature_reader import Features
from crepebench.negation_cues import has_cue
from crepebench.pooled_features import pool_features
from crepebench.raw_retrieval import IMAGE_TO_TEXT, TEXT_TO_IMAGE, first_true_ranks, retrieval_ranks, text_rows
from crepebench.scores import PAIRS_PER_CALL, Scorer

RETRIEVAL = "retrieval"
"""Task of the items: one picture, or the frames of one clip, and captions that are all true of it."""
BOX_KEYS = ("x", "y", "width", "height")


@dataclass(frozen=True)
class Pool:
    """The pictures and captions of a subset.

    Attributes:
        subset: part of the benchmark.
        images: distinct pictures: of each the ids of its crops, one, or the frames of a clip.
        captions: captions of all pictures, one after the other; equal ones of two pictures stand twice.
        image_of: (n_captions,) int64, place in `images` of each caption's picture.
    """

    subset: str
    images: tuple[tuple[str, ...], ...]
    captions: tuple[str, ...]
    image_of: np.ndarray


def build_pools(rows: Iterable[Mapping]) -> list[Pool]:
    """Returns the pool of each subset, in the order of the names; items of one picture are joined.

    Args:
        rows: rows of table BENCHMARK_ITEMS that can be used.

    Raises:
        ValueError: an item is of another task, or has no picture or caption; names the item.
    """
    by_subset: dict[str, dict[tuple[str, ...], list[str]]] = {}
    for row in rows:
        if row["task"] != RETRIEVAL or not row["images"] or not row["captions"]:
            raise ValueError(f"item {row['item_id']!r}, task {row['task']}: no picture with its captions")
        crops = tuple(crop_id(image["image_id"], tuple(image[key] for key in BOX_KEYS)) for image in row["images"])
        by_subset.setdefault(row["subset"], {}).setdefault(crops, []).extend(row["captions"])
    return [_pool(subset, by_subset[subset]) for subset in sorted(by_subset)]


def _pool(subset: str, captions_of: Mapping[tuple[str, ...], list[str]]) -> Pool:
    counts = [len(captions) for captions in captions_of.values()]
    captions = tuple(caption for own in captions_of.values() for caption in own)
    return Pool(subset, tuple(captions_of), captions, np.repeat(np.arange(len(counts)), counts))


def keep_images(pool: Pool, is_kept: np.ndarray) -> Pool:
    """Returns a pool without some pictures and their captions; `is_kept` is (n_images,) bool."""
    places = np.cumsum(is_kept) - 1
    kept = is_kept[pool.image_of]
    captions = tuple(caption for caption, is_in in zip(pool.captions, kept, strict=True) if is_in)
    images = tuple(image for image, is_in in zip(pool.images, is_kept, strict=True) if is_in)
    return Pool(pool.subset, images, captions, places[pool.image_of[kept]])


def truths_of_captions(pool: Pool) -> np.ndarray:
    """Returns which pictures are true of captions: (n_captions, 2) places, sorted; each caption's own one alone."""
    return np.stack([np.arange(len(pool.captions)), pool.image_of], axis=1)


def truths_of_images(pool: Pool) -> np.ndarray:
    """Returns which captions are true of pictures: (n_truths, 2) places of pictures and captions, sorted.

    # ASSUME: another picture's caption that is written as one of a picture's own, but for case and spaces, is true of
    it too; which of two equal texts is found first says nothing.
    """
    texts = [" ".join(caption.lower().split()) for caption in pool.captions]
    places: dict[str, list[int]] = {}
    for place, text in enumerate(texts):
        places.setdefault(text, []).append(place)
    owned = zip(pool.image_of.tolist(), texts, strict=True)
    return np.array(sorted({(image, place) for image, text in owned for place in places[text]}), np.int64)


def pool_ranks(queries: np.ndarray, candidates: np.ndarray, truths: np.ndarray, score: Scorer | None) -> np.ndarray:
    """Ranks all candidates for each query.

    Args:
        queries: (n_queries, dim) unit features.
        candidates: (n_candidates, dim) unit features; equal ones tie exactly.
        truths: (n_truths, 2) places of queries and of the candidates that are true of them, sorted.
        score: scores pairs (query, candidate) of a model that has a score of its own; else cosines.

    Returns:
        (n_queries,) rank of the best true candidate, from 1; ties may make it a half.

    Raises:
        ValueError: a score is NaN.
    """
    if score is None:
        return retrieval_ranks(queries, candidates, truths)
    ranks, n = np.empty(len(queries)), len(candidates)
    for place, query in enumerate(queries):
        scores, is_true = np.empty((1, n)), np.zeros((1, n), bool)
        for start in range(0, n, PAIRS_PER_CALL):
            part = candidates[start : start + PAIRS_PER_CALL]
            scores[0, start : start + len(part)] = np.ravel(score(np.repeat(query[None], len(part), axis=0), part))
        first, last = np.searchsorted(truths[:, 0], (place, place + 1))
        is_true[0, truths[first:last, 1]] = True
        ranks[place] = first_true_ranks(scores, is_true)[0]
    return ranks


def rank_pool(pool: Pool, features: Features, score: Scorer | None = None) -> Iterator[dict]:
    """Yields the rows of table BENCHMARK_RANKS of a pool: first of its pictures, then of its captions.

    A row has subset, direction, image (the picture's first crop; of a caption, that of its own picture), caption (""
    for a picture), rank, n_true (candidates that are true of the query), n_candidates, has_cue, is_cut (of a caption),
    and reason ("" unless the picture has no feature; it and its captions leave the pool then).

    Args:
        pool: the pool.
        features: features of its texts and crops.
        score: scores pairs (picture, caption), if the model has a score of its own.
    """
    pooled = pool_features(pool.images, features)
    is_kept = np.array([reason == "" for reason in pooled.reasons])
    for crops, reason in zip(pool.images, pooled.reasons, strict=True):
        if reason:
            yield {**_row(pool.subset, IMAGE_TO_TEXT, crops[0]), "reason": reason}
    if not is_kept.any():
        return
    pool, images = keep_images(pool, is_kept), pooled.matrix[is_kept]
    places = text_rows(pool.captions, features)
    captions, is_cut = features.matrix[places], features.is_cut[places]
    truths = truths_of_images(pool)
    counts = np.bincount(truths[:, 0], minlength=len(images)).tolist()
    ranks = pool_ranks(images, captions, truths, score).tolist()
    for crops, rank, n_true in zip(pool.images, ranks, counts, strict=True):
        found = {"rank": rank, "n_true": n_true, "n_candidates": len(captions)}
        yield {**_row(pool.subset, IMAGE_TO_TEXT, crops[0]), **found}
    of_captions = score and (lambda texts, pictures: score(pictures, texts))
    ranks = pool_ranks(captions, images, truths_of_captions(pool), of_captions).tolist()
    for text, image, rank, cut in zip(pool.captions, pool.image_of.tolist(), ranks, is_cut.tolist(), strict=True):
        found = {"rank": rank, "n_true": 1, "n_candidates": len(images)}
        marks = {"caption": text, "has_cue": has_cue(text), "is_cut": cut}
        yield {**_row(pool.subset, TEXT_TO_IMAGE, pool.images[image][0]), **found, **marks}


def _row(subset: str, direction: str, image: str) -> dict:
    none = {"rank": None, "n_true": None, "n_candidates": None}
    return {
        **{"subset": subset, "direction": direction, "image": image, "caption": ""},
        **{**none, "has_cue": False, "is_cut": False, "reason": ""},
    }
