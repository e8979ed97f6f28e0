"""Score questions again without what should decide them: other images, no image, no reading of the text alone.

A trained scorer may answer questions from their texts. So each is also given the images of other questions, the mean
of all images, and, where it has one, a scorer whose text branch is zero. Source: none of these controls is in the paper
(PeakPatch, arXiv 2607.23271). Beside them stands what the correction does to texts and scores.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from crepebench.benchmark_blind import image_numbers
from crepebench.benchmark_items import CHOOSE_CAPTION
from crepebench.benchmark_results import result_rows
from crepebench.benchmark_scores import one_row_a_text, pairs_of, score_pairs
from crepebench.feature_index import TEXT, text_id
from crepebench.feature_reader import Features, read_features
from crepebench.models import load_model
from crepebench.negation_cues import has_cue
from crepebench.pooled_features import add_clips, unit_mean
from crepebench.schema import BENCHMARK_ITEMS, NEGATION_CHANGES, NEGATION_CONTROLS, read_table, write_table
from crepebench.scores import Scorer, score_by_cosine

IMAGES_PERMUTED, MEAN_IMAGE, NO_TEXT_BRANCH = "images_permuted", "mean_image", "text_branch_zeroed"


def permuted(image_numbers: np.ndarray, seed: int) -> np.ndarray:
    """Returns for each question the question whose image it is given: (n_questions,) int64.

    Questions go round by half their number, image beside image in a drawn order, so none keeps its image unless more
    than half of them share one.

    Args:
        image_numbers: (n_questions,) int64, equal for questions of one image.
        seed: seed of the order.
    """
    generator = np.random.default_rng(seed)
    order_of_images = generator.permutation(int(image_numbers.max()) + 1)
    order = np.lexsort((np.arange(len(image_numbers)), order_of_images[image_numbers]))
    given = np.empty(len(order), np.int64)
    given[order] = np.roll(order, len(order) // 2)
    return given


def control_rows(
    items: Sequence[Mapping], features: Features, score: Scorer, without_text_branch: Scorer | None, seed: int
) -> Iterator[dict]:
    """Yields the rows of table NEGATION_CONTROLS.

    Args:
        items: rows of table BENCHMARK_ITEMS that can be used; those of other tasks than CHOOSE_CAPTION are passed over.
        features: features of their texts and crops.
        score: scores pairs of picture and text.
        without_text_branch: likewise, without reading the text alone; None for a model that has no such branch.
        seed: seed of the permutation.

    Raises:
        ValueError: a score is NaN; names the item.
    """
    same = one_row_a_text(features)
    found = [(row, pairs_of(row, features, same)) for row in items if row["task"] == CHOOSE_CAPTION]
    found = [(row, pairs) for row, pairs in found if not pairs.reason]
    if not found:
        return
    rows, pairs = zip(*found, strict=True)
    crops = np.array([one.first[0] for one in pairs])
    mean = unit_mean(features.matrix[np.unique(crops)])
    matrix = np.vstack([features.matrix, mean[None]])
    given = permuted(image_numbers(rows), seed)
    controls = {IMAGES_PERMUTED: (crops[given], score), MEAN_IMAGE: (np.full(len(crops), len(matrix) - 1), score)}
    if without_text_branch:
        controls[NO_TEXT_BRANCH] = crops, without_text_branch
    for control, (images, scorer) in controls.items():
        sizes = [len(one.second) for one in pairs]
        scores = score_pairs(matrix, np.repeat(images, sizes), np.concatenate([one.second for one in pairs]), scorer)
        for row, one, values in zip(rows, pairs, np.split(scores, np.cumsum(sizes)[:-1]), strict=True):
            yield from ({**result, "control": control} for result in result_rows(row, values, one.is_cut))


def change_rows(items: Sequence[Mapping], features: Features, frozen: Features, score: Scorer) -> Iterator[dict]:
    """Yields the rows of table NEGATION_CHANGES: what a correction does to each caption of each question.

    Args:
        items: as in `control_rows`.
        features: features of the corrected model; they may be twice as long, the corrected part first.
        frozen: features of the backbone.
        score: scores pairs of the corrected model.
    """
    dim, same = frozen.matrix.shape[1], one_row_a_text(features)
    for row in items:
        if row["task"] != CHOOSE_CAPTION or (pairs := pairs_of(row, features, same)).reason:
            continue
        before = frozen.matrix[frozen.rows_of(TEXT, [text_id(text) for text in row["captions"]])]
        after = features.matrix[pairs.second, :dim]
        after = after / np.linalg.norm(after, axis=1, keepdims=True)
        images = features.matrix[pairs.first, :dim]
        scores = score_pairs(features.matrix, pairs.first, pairs.second, score)
        offsets = scores - score_by_cosine(images, after)
        cosines = score_by_cosine(before, after)
        for number, text in enumerate(row["captions"]):
            values = {"cosine": float(cosines[number]), "offset": float(offsets[number])}
            yield {"item_id": row["item_id"], "caption": number, "has_cue": has_cue(text), **values}


def score_image_controls(
    items_path: str,
    index_path: str,
    frozen_index_path: str,
    controls_path: str,
    changes_path: str,
    cfg: str,
    weights_paths: Sequence[str],
) -> None:
    """Scores a benchmark's questions with the controls of a corrected model, and measures its corrections.

    Args:
        items_path: table BENCHMARK_ITEMS.
        index_path: table FEATURE_INDEX of the corrected model and the benchmark.
        frozen_index_path: likewise of its backbone.
        controls_path: table NEGATION_CONTROLS to write.
        changes_path: table NEGATION_CHANGES to write.
        cfg: JSON of `model` (config entry of the corrected model) and `seed`.
        weights_paths: files of its weights.

    Raises:
        ValueError: a score is NaN; names the item.
    """
    config = json.loads(cfg)
    items = [row for row in read_table(items_path, BENCHMARK_ITEMS).to_pylist() if not row["reason"]]
    features, frozen = (add_clips(items, read_features(path)) for path in (index_path, frozen_index_path))
    score, without = score_by_cosine, None
    if features.own_score:
        score = load_model(config["model"], weights_paths).score
        without = partial(score, text_branch=False)
    write_table(controls_path, NEGATION_CONTROLS, control_rows(items, features, score, without, config["seed"]))
    write_table(changes_path, NEGATION_CHANGES, change_rows(items, features, frozen, score))
