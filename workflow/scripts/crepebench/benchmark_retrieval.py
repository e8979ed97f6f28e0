"""Find where the truths stand when the pictures and captions of a benchmark's whole pool search each other.

A picture searches all captions of its subset, and each of its own is a truth; a caption searches all pictures, and its
own picture is the truth. What stands above the best truth and what ties with it is counted, so that recalls can be
strict or split ties: `crepebench.benchmark_recalls` makes them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from crepebench.feature_index import crop_id
from crepebench.feature_reader import Features
from crepebench.negation_cues import has_cue
from crepebench.pooled_features import pool_features
from crepebench.raw_retrieval import BLOCK, IMAGE_TO_TEXT, TEXT_TO_IMAGE, distinct_rows, text_rows
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


def rank_pool(pool: Pool, features: Features, score: Scorer | None = None) -> Iterator[dict]:
    """Yields the rows of table BENCHMARK_RANKS of a pool: first of its pictures, then of its captions.

    Args:
        pool: the pool.
        features: features of its texts and crops.
        score: scores pairs (picture, caption), if the model has a score of its own.
    """
    pooled = pool_features(pool.images, features)
    is_kept = np.array([reason == "" for reason in pooled.reasons])
    for crops, reason in zip(pool.images, pooled.reasons, strict=True):
        if reason:
            yield unranked_row(pool.subset, IMAGE_TO_TEXT, crops[0], reason)
    if not is_kept.any():
        return
    pool, images = keep_images(pool, is_kept), pooled.matrix[is_kept]
    rows = text_rows(pool.captions, features)
    captions, is_cut = features.matrix[rows], features.is_cut[rows].tolist()
    truths = truths_of_images(pool)
    n_true = np.bincount(truths[:, 0], minlength=len(images))
    ranked = place_rows(pool_places(images, captions, truths, score), n_true, len(captions))
    for crops, row in zip(pool.images, ranked, strict=True):
        yield {**unranked_row(pool.subset, IMAGE_TO_TEXT, crops[0]), **row}
    of_captions = score and (lambda texts, pictures: score(pictures, texts))
    places = pool_places(captions, images, truths_of_captions(pool), of_captions)
    ranked = place_rows(places, np.ones(len(captions), np.int64), len(images))
    for text, image, cut, row in zip(pool.captions, pool.image_of.tolist(), is_cut, ranked, strict=True):
        of_text = {"caption": text, "has_cue": has_cue(text), "is_cut": cut}
        yield {**unranked_row(pool.subset, TEXT_TO_IMAGE, pool.images[image][0]), **row, **of_text}


def place_rows(places: Places, n_true: np.ndarray, n_candidates: int) -> Iterator[dict]:
    """Yields for each query n_better, n_tied, n_true_tied, n_true and n_candidates."""
    for row in zip(*(counts.tolist() for counts in (*places, n_true)), strict=True):
        yield {**dict(zip((*Places._fields, "n_true"), row, strict=True)), "n_candidates": n_candidates}


def unranked_row(subset: str, direction: str, image: str, reason: str = "") -> dict:
    """Returns a row of table BENCHMARK_RANKS in which nothing is found yet.

    Args:
        subset: part of the benchmark.
        direction: what searches what.
        image: first crop of the query's picture, or of the picture that the query is a caption of.
        reason: why the picture has no feature; it and its captions are not in the pool then.
    """
    none = dict.fromkeys((*Places._fields, "n_true", "n_candidates"))
    query = {"subset": subset, "direction": direction, "image": image, "caption": ""}
    return {**query, **none, "has_cue": False, "is_cut": False, "reason": reason}
