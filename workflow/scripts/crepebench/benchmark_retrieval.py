"""Retrieval from the whole pool of a benchmark's pictures and captions, in both directions.

A picture searches all captions, and any caption of its own in the first k is a hit; a caption searches all pictures,
and its own picture in the first k is a hit. Recalls are means over queries: over captions, not over pictures, where
captions search. Ties follow the one rule of this workflow: a truth that ties with false candidates shares the mean of
their ranks. Intervals resample pictures; what is searched stays the whole pool.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from crepebench.benchmark_items import ImageRef, Item
from crepebench.feature_reader import Features
from crepebench.measures import bootstrap_means, cell_seed, interval
from crepebench.negation_cues import has_cue
from crepebench.pooled_features import pool_features
from crepebench.raw_retrieval import IMAGE_TO_TEXT, TEXT_TO_IMAGE, first_true_ranks, retrieval_ranks, text_rows
from crepebench.scores import PAIRS_PER_CALL, Scorer

RETRIEVAL = "retrieval"
"""Task of the items: one picture, and captions that are all true of it."""
CUE, CUT = "cue", "cut"
"""Groups of captions: those that hold a negation cue, and those that are longer than the model reads."""
KS = (1, 5, 10)


@dataclass(frozen=True)
class Pool:
    """The pictures and captions of a subset.

    Attributes:
        subset: part of the benchmark.
        images: distinct pictures.
        captions: captions of all pictures, one after the other; equal ones of two pictures stand twice.
        image_of: (n_captions,) int64, place in `images` of each caption's picture.
    """

    subset: str
    images: tuple[ImageRef, ...]
    captions: tuple[str, ...]
    image_of: np.ndarray


class Found(NamedTuple):
    """What queries of one direction found.

    Attributes:
        images: (n_queries,) place of the query's picture, which the bootstrap resamples.
        ranks: (n_queries,) rank of the best true candidate.
        chances: for each k, the share of hits that random ranks give.
    """

    images: np.ndarray
    ranks: np.ndarray
    chances: Mapping[int, float]


def build_pools(items: Iterable[Item]) -> list[Pool]:
    """Returns the pool of each subset, in the order of the names; rows of one picture are joined.

    Raises:
        ValueError: an item is of another task, or has not one picture; names the item.
    """
    by_subset: dict[str, dict[ImageRef, list[str]]] = {}
    for item in items:
        if item.task != RETRIEVAL or len(item.images) != 1 or not item.captions:
            raise ValueError(f"item {item.id!r}: {item.task}, {len(item.images)} images: no picture with its captions")
        by_subset.setdefault(item.subset, {}).setdefault(item.images[0], []).extend(item.captions)
    return [_pool(subset, by_subset[subset]) for subset in sorted(by_subset)]


def _pool(subset: str, captions_of: Mapping[ImageRef, Sequence[str]]) -> Pool:
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


def search_images(pool: Pool, images: np.ndarray, captions: np.ndarray, score: Scorer | None = None) -> Found:
    """Ranks all pictures for each caption; its own picture alone is true of it (NegBench's evaluation).

    Args:
        pool: the pool.
        images: (n_images, dim) unit features.
        captions: (n_captions, dim) unit features.
        score: scores pairs (picture, caption) where a model has a score of its own; else cosines.
    """
    truths = np.stack([np.arange(len(pool.captions)), pool.image_of], axis=1)
    ranks = _ranks(captions, images, truths, score and (lambda texts, pictures: score(pictures, texts)))
    n_images = len(pool.images)
    return Found(pool.image_of, ranks, {k: 100.0 * min(k, n_images) / n_images for k in KS})


def search_captions(pool: Pool, images: np.ndarray, captions: np.ndarray, score: Scorer | None = None) -> Found:
    """Ranks all captions for each picture; arguments are those of `search_images`.

    # ASSUME: a caption of another picture that is written as one of the picture's own, but for case and spaces, is true
    of it too; COCO's captions hold such pairs, and which of two equal texts comes first says nothing.
    """
    own = [(image, _normal(text)) for image, text in zip(pool.image_of.tolist(), pool.captions, strict=True)]
    places: dict[str, list[int]] = {}
    for place, (_, text) in enumerate(own):
        places.setdefault(text, []).append(place)
    truths = np.array(sorted({(image, place) for image, text in own for place in places[text]}), np.int64)
    n_true = np.bincount(truths[:, 0], minlength=len(pool.images))
    ranks = _ranks(images, captions, truths, score)
    chances = {k: 100.0 * float(np.mean(_chance_of_hit(n_true, len(pool.captions), k))) for k in KS}
    return Found(np.arange(len(pool.images)), ranks, chances)


def _normal(text: str) -> str:
    return " ".join(text.casefold().split())


def _chance_of_hit(n_true: np.ndarray, n_candidates: int, k: int) -> np.ndarray:
    """Returns the chance that one of k candidates drawn without replacement is true."""
    miss = np.ones(len(n_true))
    for drawn in range(min(k, n_candidates)):
        miss *= np.maximum(n_candidates - n_true - drawn, 0) / (n_candidates - drawn)
    return 1.0 - miss


def _ranks(queries: np.ndarray, candidates: np.ndarray, truths: np.ndarray, score: Scorer | None) -> np.ndarray:
    if score is None:
        return retrieval_ranks(queries, candidates, truths)
    ranks, n = np.empty(len(queries)), len(candidates)
    for place, query in enumerate(queries):
        scores = np.empty((1, n))
        for start in range(0, n, PAIRS_PER_CALL):
            part = candidates[start : start + PAIRS_PER_CALL]
            scores[0, start : start + len(part)] = score(np.repeat(query[None], len(part), axis=0), part)
        is_true = np.zeros((1, n), bool)
        first, last = np.searchsorted(truths[:, 0], (place, place + 1))
        is_true[0, truths[first:last, 1]] = True
        ranks[place] = first_true_ranks(scores, is_true)[0]
    return ranks


def recall_rows(found: Found, direction: str, ks: Sequence[int], n_resamples: int, seed: list[int]) -> Iterator[dict]:
    """Yields for each k a row: metric, value, low, high, chance, n_items; percent.

    Args:
        found: what the queries found.
        direction: IMAGE_TO_TEXT or TEXT_TO_IMAGE, for the name of the metric.
        ks: how far down a hit may stand; of KS.
        n_resamples: bootstrap resamples; all k share them.
        seed: seed of the bootstrap.
    """
    hits = [(found.images, (found.ranks <= k).astype(np.float64)) for k in ks]
    means = 100.0 * bootstrap_means(hits, n_resamples, seed)
    for k, (_, of_k), resampled in zip(ks, hits, means, strict=True):
        low, high = interval(resampled)
        value = {"value": 100.0 * float(of_k.mean()), "low": low, "high": high, "chance": found.chances[k]}
        yield {"metric": f"{direction}_recall_at_{k}", **value, "n_items": len(of_k)}


def pool_rows(
    pool: Pool,
    features: Features,
    crops_of: Callable[[ImageRef], Sequence[str]],
    options: Mapping,
    name: str,
    score: Scorer | None = None,
) -> Iterator[dict]:
    """Yields the rows of benchmarks.csv that a model gets on a pool: subset, those of `recall_rows`, and n_missing.

    With option `cue` the captions that hold a negation cue have rows of their own, as subset `<subset>/cue`; what they
    search is the whole pool. The row `captions_cut` says which share of captions is longer than the model reads.

    Args:
        pool: the pool.
        features: features of its texts and crops.
        crops_of: gives the ids of the crops that a picture is made of: one, or a clip's frames.
        options: `directions`, `ks`, `cue` (bool), `n_resamples` and `seed`.
        name: of the model and benchmark, for the seed.
        score: the model's own score, if it has one.

    Raises:
        ValueError: no picture has a feature; names the subset and reasons.
    """
    pooled = pool_features([crops_of(image) for image in pool.images], features)
    is_kept = np.array([reason == "" for reason in pooled.reasons])
    if not is_kept.any():
        raise ValueError(f"{pool.subset}: no picture has a feature: {sorted(set(pooled.reasons))}")
    kept, images = keep_images(pool, is_kept), pooled.matrix[is_kept]
    rows = text_rows(kept.captions, features)
    captions, is_cut = features.matrix[rows], features.is_cut[rows]
    n_missing = int((~is_kept).sum())
    searches = {IMAGE_TO_TEXT: search_captions, TEXT_TO_IMAGE: search_images}
    for direction in options["directions"]:
        found = searches[direction](kept, images, captions, score)
        parts = {pool.subset: found}
        if options["cue"] and direction == TEXT_TO_IMAGE:
            parts[f"{pool.subset}/{CUE}"] = take_queries(found, np.array([has_cue(text) for text in kept.captions]))
        for subset, part in parts.items():
            if len(part.ranks):
                seed = cell_seed(options["seed"], name, subset, direction)
                for row in recall_rows(part, direction, options["ks"], options["n_resamples"], seed):
                    yield {"subset": subset, **row, "n_missing": n_missing}
    share = {"value": 100.0 * float(is_cut.mean()), "low": None, "high": None, "chance": None, "n_items": len(is_cut)}
    yield {"subset": pool.subset, "metric": "captions_cut", **share, "n_missing": n_missing}


def take_queries(found: Found, is_taken: np.ndarray) -> Found:
    """Returns what some of the queries found; `is_taken` is (n_queries,) bool."""
    return Found(found.images[is_taken], found.ranks[is_taken], found.chances)
