"""Score the items of a benchmark with cached features: every picture of an item with every caption of it.

Texts that are one to the model have one feature, so that they tie exactly. Scores are cosines, or what the model's own
`score` makes of the features.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from crepebench.accounting import KEPT, READ, write_accounting
from crepebench.benchmark_items import TEXT_ONLY
from crepebench.benchmark_pools import POOL_SHAPES, score_pools
from crepebench.benchmark_results import TEXT_PAIRS, result_rows, unscored_rows
from crepebench.feature_index import CROP, TEXT, crop_id, text_id
from crepebench.feature_reader import ABSENT, Features, read_features
from crepebench.models import load_model
from crepebench.pooled_features import add_clips
from crepebench.schema import BENCHMARK_ITEMS, BENCHMARK_SCORES, read_table, write_table
from crepebench.scores import PAIRS_PER_CALL, Scorer, score_by_cosine

NO_TEXT_SIMILARITY = "no_text_similarity"
"""Why an item of texts alone is not scored: the model compares pictures with texts in a way of its own."""


class Pairs(NamedTuple):
    """The rows of the feature matrix that are scored for an item, or the reason why it is not scored.

    Attributes:
        first: (n_scores,) rows of pictures; of an item of texts alone, of texts.
        second: (n_scores,) rows of texts.
        is_cut: whether the model reads a caption only in part.
        reason: "" where the item is scored.
    """

    first: np.ndarray
    second: np.ndarray
    is_cut: bool
    reason: str


def one_row_a_text(features: Features) -> np.ndarray:
    """Returns for each row of the matrix the first row of the same tokens, else itself: (n,) int64."""
    rows = np.arange(len(features.tokens))
    texts = np.flatnonzero(features.tokens != ABSENT)
    _, first, place = np.unique(features.tokens[texts], return_index=True, return_inverse=True)
    rows[texts] = texts[first][place.ravel()]
    return rows


def pairs_of(row: Mapping, features: Features, same: np.ndarray) -> Pairs:
    """Returns what is scored for an item.

    Args:
        row: row of table BENCHMARK_ITEMS.
        features: features of its texts and crops.
        same: what `one_row_a_text` returns.
    """
    found = features.rows_of(TEXT, [text_id(text) for text in row["captions"]])
    is_cut, texts, none = bool(features.is_cut[found].any()), same[found], np.empty(0, np.int64)
    if row["task"] == TEXT_ONLY:
        first, second = np.array(TEXT_PAIRS).T
        return Pairs(texts[first], texts[second], is_cut, NO_TEXT_SIMILARITY if features.own_score else "")
    ids = [
        crop_id(image["image_id"], tuple(image[key] for key in ("x", "y", "width", "height")))
        for image in row["images"]
    ]
    crops = features.rows_of(CROP, ids)
    if (crops == ABSENT).any():
        return Pairs(none, none, is_cut, features.reasons[ids[int(np.argmax(crops == ABSENT))]])
    return Pairs(np.repeat(crops, len(texts)), np.tile(texts, len(crops)), is_cut, "")


def score_pairs(matrix: np.ndarray, first: np.ndarray, second: np.ndarray, score: Scorer) -> np.ndarray:
    """Scores pairs of rows of a matrix, some thousands at a time: (n_pairs,) float64."""
    scores = np.empty(len(first))
    for start in range(0, len(first), PAIRS_PER_CALL):
        part = slice(start, start + PAIRS_PER_CALL)
        scores[part] = np.asarray(score(matrix[first[part]], matrix[second[part]])).ravel()
    return scores


def score_items(items: Sequence[Mapping], features: Features, score: Scorer = score_by_cosine) -> Iterator[dict]:
    """Yields the rows of table BENCHMARK_SCORES of items that can be used, in their order.

    Args:
        items: rows of table BENCHMARK_ITEMS.
        features: features of their texts and crops.
        score: scores pairs of picture and text.

    Raises:
        ValueError: a score is NaN; names the item.
    """
    same = one_row_a_text(features)
    pairs = [pairs_of(row, features, same) for row in items]
    if not pairs:
        return
    first, second = (np.concatenate([getattr(found, side) for found in pairs]) for side in ("first", "second"))
    is_of_texts = np.concatenate(
        [np.full(len(found.first), row["task"] == TEXT_ONLY) for row, found in zip(items, pairs, strict=True)]
    )
    scores = np.zeros(len(first))
    scores[~is_of_texts] = score_pairs(features.matrix, first[~is_of_texts], second[~is_of_texts], score)
    if not features.own_score:
        scores[is_of_texts] = score_pairs(features.matrix, first[is_of_texts], second[is_of_texts], score_by_cosine)
    start = 0
    for row, found in zip(items, pairs, strict=True):
        end = start + len(found.first)
        yield from (
            unscored_rows(row, found.reason) if found.reason else result_rows(row, scores[start:end], found.is_cut)
        )
        start = end


def score_benchmark(
    items_path: str,
    index_path: str,
    scores_path: str,
    accounting_path: str,
    model: str,
    benchmark: str,
    cfg: str,
    weights_paths: Sequence[str] = (),
) -> None:
    """Scores a benchmark with one model.

    Args:
        items_path: table BENCHMARK_ITEMS.
        index_path: table FEATURE_INDEX of the model and the benchmark.
        scores_path: table BENCHMARK_SCORES to write.
        accounting_path: counts to write.
        model: name of the model.
        benchmark: name of the benchmark.
        cfg: JSON of `model` (its config entry); only a model with a score of its own is loaded.
        weights_paths: files of its weights, likewise.

    Raises:
        ValueError: a score is NaN; names benchmark, model and item.
    """
    features = read_features(index_path)
    score = load_model(json.loads(cfg)["model"], weights_paths).score if features.own_score else score_by_cosine
    items = [row for row in read_table(items_path, BENCHMARK_ITEMS).to_pylist() if not row["reason"]]
    try:
        features = add_clips(items, features)
        rows = list(score_items([row for row in items if row["task"] not in POOL_SHAPES], features, score))
        rows += score_pools(items, features, score if features.own_score else None)
    except ValueError as error:
        raise ValueError(f"benchmark {benchmark}, model {model}: {error}") from error
    reasons = {row["item_id"]: row["reason"] for row in rows}
    counts = Counter({READ: len(reasons), KEPT: 0})  # prompts of classes are no questions
    counts.update(reason or KEPT for reason in reasons.values())
    write_table(scores_path, BENCHMARK_SCORES, rows)
    write_accounting(accounting_path, f"benchmark_scores/{model}/{benchmark}", {"item": counts})
