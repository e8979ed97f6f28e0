"""Retrieval from a whole pool of captions and crops, without constructed foils, in both directions.

Source: paper section B.2. The pairs of crop and true caption of a cell (a split, a number of atoms) are dealt to
K = min(20, |D| / N) folds of N pairs. In a fold each crop searches the captions and each caption the crops; measures
are means over the folds. What else is known to be true of a crop counts as found, too. Cosines of unit features are
float64, taken block by block: beside the features of the candidates only BLOCK scores are in memory.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from crepebench.boxes import Box, intersection
from crepebench.feature_index import CROP, TEXT, crop_id, text_id
from crepebench.feature_reader import Features
from crepebench.measures import bootstrap_means, interval, recall_at
from crepebench.scores import truth_ranks

IMAGE_TO_TEXT, TEXT_TO_IMAGE = DIRECTIONS = ("image_to_text", "text_to_image")
MOST_FOLDS = 20
"""Paper, section B.2."""
SHOWN = 0.75
"""Share of a caption's region that a crop must show for the caption to be true of it."""
SIMPLE_ATOMS = 5
"""Atoms up to which a caption is simple: likely to be true of many images."""
BLOCK = 4_000_000
"""Scores that are held at once: 32 MB, and three times as much for what is made of them."""
KnownCaptions = Mapping[int, Mapping[str, Sequence[Box]]]
"""Of each image the true captions, each with the boxes of which it was written."""


class Pair(NamedTuple):
    """A crop and its true caption."""

    set_id: str
    image_id: int
    box: Box
    caption: str
    n_atoms: int


class Fold(NamedTuple):
    """The distinct crops and captions of the pairs of a fold, and which belong together.

    Attributes:
        crops: image id and box, sorted.
        texts: captions, sorted.
        truths: (n_truths, 2) int64, places of each crop and caption that is known to be true of it, sorted.
        text_queries: image id and place in `texts` of each distinct caption of an image.
    """

    crops: list[tuple[int, Box]]
    texts: list[str]
    truths: np.ndarray
    text_queries: list[tuple[int, int]]


def known_captions(pairs: Iterable[Pair]) -> KnownCaptions:
    """Collects what is known to be true of each image, whatever split or fold it is in."""
    known: dict[int, dict[str, list[Box]]] = defaultdict(lambda: defaultdict(list))
    for pair in pairs:
        known[pair.image_id][pair.caption].append(pair.box)
    return known


def deal_folds(pairs: Sequence[Pair], size: int, seed: int) -> list[list[Pair]]:
    """Deals pairs to folds of equal size in an order that depends on nothing but the seed and their ids.

    Pairs that do not fill a fold, and those beyond MOST_FOLDS folds, are in none; fewer than `size` make one fold.
    """
    # ASSUME: which pair is in which fold is drawn at random, and every fold but that of a small cell has exactly N
    # pairs; the paper gives neither the draw nor what becomes of the rest.
    dealt = sorted(pairs, key=lambda pair: hashlib.sha256(f"{seed} {pair.set_id}".encode()).digest())
    n_folds = min(MOST_FOLDS, len(dealt) // size)
    return [dealt[i * size : (i + 1) * size] for i in range(n_folds)] or [dealt]


def shows(crop: Box, region: Box) -> bool:
    """Says whether a crop shows enough of a region for the region's caption to be true of it."""
    # ASSUME: a caption of the same image is true of a crop that shows three quarters of the caption's region; the paper
    # is silent. It takes three quarters as the bound from which two crops are one.
    return intersection(crop, region) >= SHOWN * region[2] * region[3]


def build_fold(pairs: Sequence[Pair], known: KnownCaptions) -> Fold:
    """Sorts out the crops and captions of a fold."""
    # ASSUME: equal captions of a pool are one candidate, and so are equal crops; a caption that two images share is
    # true of both.
    crops = sorted({(pair.image_id, pair.box) for pair in pairs})
    texts = sorted({pair.caption for pair in pairs})
    place_of = {text: place for place, text in enumerate(texts)}
    truths = sorted(
        (i, place_of[text])
        for i, (image_id, box) in enumerate(crops)
        for text, regions in known[image_id].items()
        if text in place_of and any(shows(box, region) for region in regions)
    )
    return Fold(
        crops, texts, np.array(truths, np.int64), sorted({(pair.image_id, place_of[pair.caption]) for pair in pairs})
    )


def first_true_ranks(scores: np.ndarray, truths: np.ndarray) -> np.ndarray:
    """Returns the rank of the best true candidate of each query, from 1.

    Other true candidates take no rank away; false ones that tie with it share the mean of their ranks with it.

    Args:
        scores: (n_queries, n_candidates).
        truths: as many, bool; one true candidate at least in each row.

    Raises:
        ValueError: a score is NaN, or a query has no true candidate.
    """
    if not truths.any(axis=1).all():
        raise ValueError(f"{int((~truths.any(axis=1)).sum())} of {len(scores)} queries have no true candidate")
    best = np.where(truths, scores, -np.inf).max(axis=1, keepdims=True)
    return truth_ranks(np.hstack([best, np.where(truths, -np.inf, scores)]))


def retrieval_ranks(queries: np.ndarray, candidates: np.ndarray, truths: np.ndarray) -> np.ndarray:
    """Ranks the candidates of each query, block by block.

    Args:
        queries: (n_queries, dim) unit features.
        candidates: (n_candidates, dim) unit features; equal ones tie exactly.
        truths: (n_truths, 2) places of queries and of the candidates that are true of them, sorted.

    Returns:
        (n_queries,) rank of the best true candidate.
    """
    # a product of matrices may give equal columns sums that differ in their last bits: each is multiplied once
    distinct, place = distinct_rows(candidates)
    distinct = distinct.astype(np.float64).T
    step = max(1, BLOCK // len(candidates))
    ranks = np.empty(len(queries))
    for start in range(0, len(queries), step):
        part = slice(start, start + step)
        scores = (queries[part].astype(np.float64) @ distinct)[:, place]
        is_true = np.zeros(scores.shape, bool)
        first, last = np.searchsorted(truths[:, 0], (start, start + step))
        is_true[truths[first:last, 0] - start, truths[first:last, 1]] = True
        ranks[part] = first_true_ranks(scores, is_true)
    return ranks


def distinct_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the distinct rows of a float32 matrix, and which of them each row is; rows differ if a bit does."""
    rows = np.ascontiguousarray(rows)
    as_bytes = rows.view(np.dtype((np.void, rows.shape[1] * rows.itemsize))).ravel()
    _, first, place = np.unique(as_bytes, return_index=True, return_inverse=True)
    return rows[first], place.ravel()


def text_rows(texts: Sequence[str], features: Features) -> np.ndarray:
    """Returns the row of each text in the matrix, one and the same for texts that the model reads as one."""
    rows = features.rows_of(TEXT, [text_id(text) for text in texts])
    _, first, place = np.unique(features.tokens[rows], return_index=True, return_inverse=True)
    return rows[first][place.ravel()]


class Found(NamedTuple):
    """What the queries of a fold found in one direction: image id and rank of each, and chance of a hit at rank 1."""

    image_ids: np.ndarray
    ranks: np.ndarray
    chances: np.ndarray


def search_fold(fold: Fold, features: Features) -> Iterator[tuple[str, Found]]:
    """Yields what was found in each direction."""
    of_crops, of_texts = fold.truths, fold.truths[np.lexsort(fold.truths.T)][:, ::-1]
    crops = features.matrix[features.rows_of(CROP, [crop_id(*crop) for crop in fold.crops])]
    texts = features.matrix[text_rows(fold.texts, features)]
    image_ids = np.array([image_id for image_id, _ in fold.crops])
    chances = np.bincount(of_crops[:, 0], minlength=len(crops)) / len(texts)
    yield IMAGE_TO_TEXT, Found(image_ids, retrieval_ranks(crops, texts, of_crops), chances)
    image_ids, places = map(np.array, zip(*fold.text_queries, strict=True))
    chances = np.bincount(of_texts[:, 0], minlength=len(texts)) / len(crops)
    ranks = retrieval_ranks(texts, crops, of_texts)  # a caption that several images share is ranked once
    yield TEXT_TO_IMAGE, Found(image_ids, ranks[places], chances[places])


def measures_of(folds: Sequence[Found], n_resamples: int, seed: list[int]) -> dict:
    """Returns the measures of a cell and direction: means over the folds of what each fold gives.

    All folds are resampled with the same images; a resample that leaves a fold empty goes without that fold.
    """
    groups = [(fold.image_ids, (fold.ranks <= 1).astype(np.float64)) for fold in folds]
    means = bootstrap_means(groups, n_resamples, seed)
    filled = ~np.isnan(means)
    with np.errstate(invalid="ignore"):
        low, high = interval(100.0 * np.where(filled, means, 0.0).sum(axis=0) / filled.sum(axis=0))
    return {
        "n_queries": sum(len(fold.ranks) for fold in folds),
        **{f"recall_at_{k}": _mean(recall_at(fold.ranks, k) for fold in folds) for k in (1, 5, 10)},
        "mean_rank": _mean(fold.ranks.mean() for fold in folds),
        "median_rank": _mean(np.median(fold.ranks) for fold in folds),
        "recall_at_1_low": low,
        "recall_at_1_high": high,
        "random_recall_at_1": 100.0 * _mean(fold.chances.mean() for fold in folds),
    }


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


def is_simple(pairs: Sequence[Pair]) -> bool:
    """Says whether half of the captions or more have so few atoms that they are likely to be true of many images."""
    # ASSUME: captions of five atoms and fewer are simple; the paper calls raw scores of captions of low complexity
    # unreliable and draws no line.
    known = (pair.n_atoms for pair in pairs if pair.n_atoms is not None)  # released regions do not say it
    return 2 * sum(n_atoms <= SIMPLE_ATOMS for n_atoms in known) >= len(pairs)
