"""Answer a benchmark without its pictures: the audit's blind scorers, fitted on captions of other images.

They are fitted on the benchmark's own questions, so they bound what text alone may reach; they do not say that a model
uses it. Only the tasks with one picture and several captions can be answered so.
"""

import json
import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from crepebench.accounting import KEPT, READ, write_accounting
from crepebench.audit import audit_sets, make_parts
from crepebench.benchmark_items import CHOOSE_CAPTION, IMAGE_TAG, TWO_CAPTIONS
from crepebench.benchmark_results import result_rows
from crepebench.blind_scorers import AssertedWordScorer, Scorer
from crepebench.candidate_texts import CandidateSets, Texts
from crepebench.language_models import LanguageModel
from crepebench.measures import STRONGEST
from crepebench.schema import BENCHMARK_BLIND, BENCHMARK_ITEMS, read_table, write_table

logger = logging.getLogger(__name__)

TASKS = (CHOOSE_CAPTION, TWO_CAPTIONS)
"""Tasks that a score of each caption can decide."""
NOT_BY_TEXT, TOO_FEW_IMAGES = "not_decided_by_captions", "too_few_images"
"""Why an item is not answered blind."""
IMAGES_PER_FOLD = 4
"""Images that a fold has at least; with fewer, nothing is learned."""


def blind_parts(parts: Sequence[Callable[[], Scorer]]) -> list[Callable[[], Scorer]]:
    """Returns what makes each scorer but the combination: the audit's, and one that knows what a caption denies."""
    return [*parts, AssertedWordScorer]


def image_of(row: Mapping) -> str:
    """Returns the image by which an item is resampled and dealt to folds.

    Args:
        row: row of table BENCHMARK_ITEMS.
    """
    # ASSUME: an item of several images stands or falls with the first, the right one where there is one; joining all
    # items that share any image could make one group of a whole benchmark.
    if row["images"]:
        return str(row["images"][0]["image_id"])
    tags = {tag["name"]: tag["value"] for tag in row["tags"]}
    return f"{IMAGE_TAG}:{tags[IMAGE_TAG]}" if IMAGE_TAG in tags else f"item:{row['item_id']}"


def image_numbers(rows: Sequence[Mapping]) -> np.ndarray:
    """Returns the number of each item's image, (n_items,) int64, in the order of the images' names."""
    return np.unique([image_of(row) for row in rows], return_inverse=True)[1].astype(np.int64)


def candidate_sets(rows: Sequence[Mapping]) -> CandidateSets:
    """Returns what a scorer of texts learns from: the true caption and the false ones.

    Of an item with two true captions each makes a set with the false one, one set after the other.
    """
    groups, images = [], []
    for row, image in zip(rows, image_numbers(rows).tolist(), strict=True):
        captions = row["captions"]
        found = [[captions[0], captions[2]], [captions[1], captions[2]]] if row["task"] == TWO_CAPTIONS else [captions]
        groups += found
        images += [image] * len(found)
    starts = np.r_[0, np.cumsum([len(group) for group in groups])].astype(np.int64)
    return CandidateSets(np.array(images, np.int64), starts, Texts([text for group in groups for text in group]))


def blind_scores(rows: Sequence[Mapping], scores: np.ndarray) -> Iterator[np.ndarray]:
    """Yields the scores of each item's captions.

    Args:
        rows: items, as given to `candidate_sets`.
        scores: (n_texts,) scores of its texts.
    """
    start = 0
    for row in rows:
        size = len(row["captions"])
        if row["task"] == TWO_CAPTIONS:  # stored as first, false, second, false
            yield scores[[start, start + 2, start + 1]]
            start += 4
        else:
            yield scores[start : start + size]
            start += size


def blind_rows(
    rows: Sequence[Mapping], parts: Sequence[Callable[[], Scorer]], n_folds: int, seed: int
) -> Iterator[tuple[Mapping, np.ndarray | str]]:
    """Yields each item with the strongest blind scorer's scores of its captions, or why there are none.

    Scorers are fitted for each subset and task alone, and judged on folds of images that they have not seen.

    Args:
        rows: rows of table BENCHMARK_ITEMS.
        parts: what makes each scorer but the combination.
        n_folds: number of folds of images.
        seed: seed of the folds.
    """
    groups = defaultdict(list)
    for row in rows:
        groups[row["subset"], row["task"]].append(row)
    for (subset, task), found in groups.items():
        n_images = len(set(map(image_of, found)))
        reason = NOT_BY_TEXT if task not in TASKS else TOO_FEW_IMAGES if n_images < IMAGES_PER_FOLD * n_folds else ""
        if reason:
            yield from ((row, reason) for row in found)
            continue
        logger.info("%s: %d items of %d images", subset, len(found), n_images)
        scores = audit_sets(candidate_sets(found), parts, n_folds, seed)[STRONGEST]
        yield from zip(found, blind_scores(found, scores), strict=True)


def audit_benchmark(items_path: str, blind_path: str, accounting_path: str, benchmark: str, cfg: str) -> None:
    """Writes what text alone makes of a benchmark.

    Args:
        items_path: table BENCHMARK_ITEMS.
        blind_path: table BENCHMARK_BLIND to write; items that are not answered are not in it.
        accounting_path: counts to write.
        benchmark: name of the benchmark.
        cfg: JSON of `folds`, `seed` and `language_model` (block `audit`).
    """
    audit = json.loads(cfg)
    language_model = LanguageModel(audit["language_model"]) if audit["language_model"] else None
    items = [row for row in read_table(items_path, BENCHMARK_ITEMS).to_pylist() if not row["reason"]]
    parts = blind_parts(make_parts(audit["seed"], language_model))
    counts, written = Counter({READ: len(items), KEPT: 0}), []
    for row, found in blind_rows(items, parts, audit["folds"], audit["seed"]):
        counts[found if isinstance(found, str) else KEPT] += 1
        written += [] if isinstance(found, str) else result_rows(row, found, is_cut=False)
    write_table(blind_path, BENCHMARK_BLIND, written)
    write_accounting(accounting_path, f"benchmark_blind/{benchmark}", {"item": counts})
