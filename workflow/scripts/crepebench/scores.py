"""Score retrieval sets with cached features: rank of the truth, margin, and the truth against each foil.

Scores are cosines of unit features, in float64, or what the model's own `score` makes of cached features. The one rule
for ties: candidates that score exactly as the truth share the mean of the ranks that they take up together. A set whose
truth and a foil are one text to the model cannot be solved by it, and is not scored.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crepebench.accounting import KEPT, READ, write_accounting
from crepebench.feature_index import CROP, SET_COLUMNS, TEXT, crop_id, text_id
from crepebench.feature_reader import ABSENT, Features, read_features
from crepebench.models import Model, load_model
from crepebench.schema import RETRIEVAL_SETS, SCORES, read_table, write_table

EQUAL_AFTER_TRUNCATION = "equal_after_truncation"
EQUAL_TOKENS = "equal_tokens"
"""Why a set is not scored: the model reads its truth and a foil as one, cut or whole."""
SETS_PER_BATCH = 2_000
PAIRS_PER_CALL = 4_096
"""Pairs that are scored at once: 50 MB at 512 dimensions; more are no faster."""
Scorer = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Scores of pairs: (n, dim) features of crops, (n, dim) of texts, to (n,)."""
score_by_cosine: Scorer = partial(Model.score, None)
"""What every model does that has no score of its own."""


def truth_ranks(scores: np.ndarray) -> np.ndarray:
    """Returns the rank of the truth in each set, from 1; ties take the mean rank of the tied block.

    Args:
        scores: (n_sets, n_candidates), the truth in column 0.

    Raises:
        ValueError: a score is NaN.
    """
    if np.isnan(scores).any():
        raise ValueError(f"{int(np.isnan(scores).any(axis=1).sum())} of {len(scores)} sets hold a score that is NaN")
    truth, foils = scores[:, :1], scores[:, 1:]
    return 1.0 + (foils > truth).sum(axis=1) + (foils == truth).sum(axis=1) / 2.0


def truth_wins(scores: np.ndarray) -> np.ndarray:
    """Compares the truth with each foil: 1 where it wins, 0.5 for a tie, 0 where it loses.

    Args:
        scores: (n_sets, n_candidates), the truth in column 0.

    Returns:
        (n_sets, n_candidates - 1).
    """
    return pair_wins(scores[:, :1], scores[:, 1:])


def pair_wins(truth: np.ndarray, foils: np.ndarray) -> np.ndarray:
    """Returns 1 where the truth scores above the foil, 0.5 for a tie, 0 where it loses; shapes are broadcast."""
    return (truth > foils) + 0.5 * (truth == foils)


def score_sets(sets: pa.Table, features: Features, score: Scorer = score_by_cosine) -> Iterator[dict]:
    """Yields the rows of table SCORES of sets, in their order; sets that cannot be scored carry the reason instead.

    Args:
        sets: rows of table RETRIEVAL_SETS.
        features: features of their texts and crops.
        score: scores pairs.
    """
    for batch in sets.to_batches(max_chunksize=SETS_PER_BATCH):
        yield from _score_batch(batch, features, score)


def _score_batch(sets: pa.RecordBatch, features: Features, score: Scorer) -> list[dict]:
    """Scores some sets, those of one size together."""
    image_ids, *boxes = (sets[name].to_pylist() for name in SET_COLUMNS[:5])
    crop_ids = [crop_id(image_id, box) for image_id, box in zip(image_ids, zip(*boxes, strict=True), strict=True)]
    crops = features.rows_of(CROP, crop_ids)
    texts, sizes = _candidate_rows(sets, features)
    starts = np.cumsum(sizes) - sizes
    results: list[dict | None] = [None] * len(sets)
    for size in np.unique(sizes).tolist():
        places = np.flatnonzero(sizes == size)
        candidates = texts[starts[places][:, None] + np.arange(size)]
        equal = _equal_reasons(candidates, features)
        for i in np.flatnonzero((crops[places] == ABSENT) | (equal != "")).tolist():
            place = places[i]
            reason = features.reasons[crop_ids[place]] if crops[place] == ABSENT else str(equal[i])
            results[place] = {"rank": None, "margin": None, "wins": None, "reason": reason}
        good = np.flatnonzero((crops[places] != ABSENT) & (equal == ""))
        if len(good):
            scores = score_candidates(features.matrix, crops[places[good]], candidates[good], score)
            for place, result in zip(places[good].tolist(), result_rows(scores), strict=True):
                results[place] = result
    names = zip(sets["set_id"].to_pylist(), sets["foil_type"].to_pylist(), strict=True)
    return [
        {"set_id": set_id, "foil_type": foil_type, **result}
        for (set_id, foil_type), result in zip(names, results, strict=True)
    ]


def _candidate_rows(sets: pa.RecordBatch, features: Features) -> tuple[np.ndarray, np.ndarray]:
    """Returns the rows of all candidates, set after set with the truth first, and the number of each set's."""
    captions, foils = sets["caption"].to_pylist(), sets["foils"]
    foil_texts = pc.struct_field(foils.flatten(), "text").to_pylist()
    n_foils = foils.value_lengths().to_numpy()
    texts, start = [], 0
    for caption, n in zip(captions, n_foils.tolist(), strict=True):
        texts += [caption, *foil_texts[start : start + n]]
        start += n
    return features.rows_of(TEXT, [text_id(text) for text in texts]), n_foils.astype(np.int64) + 1


def _equal_reasons(candidates: np.ndarray, features: Features) -> np.ndarray:
    """Says why sets cannot be scored because truth and a foil are one to the model; "" where they are not.

    Args:
        candidates: (n_sets, n_candidates), rows of the matrix, the truth in column 0.
        features: says which texts are one.
    """
    tokens = features.tokens[candidates]
    equal = tokens[:, :1] == tokens[:, 1:]
    cut = (equal & (features.is_cut[candidates[:, :1]] | features.is_cut[candidates[:, 1:]])).any(axis=1)
    return np.where(cut, EQUAL_AFTER_TRUNCATION, np.where(equal.any(axis=1), EQUAL_TOKENS, ""))


def score_candidates(matrix: np.ndarray, crops: np.ndarray, candidates: np.ndarray, score: Scorer) -> np.ndarray:
    """Scores the candidates of sets of one size, pair by pair, so that equal texts score exactly alike.

    Args:
        matrix: (n, dim) features.
        crops: (n_sets,), row of each set's crop.
        candidates: (n_sets, n_candidates), rows of its texts.
        score: scores pairs.

    Returns:
        (n_sets, n_candidates) float64.
    """
    n_sets, size = candidates.shape
    step = max(1, PAIRS_PER_CALL // size)
    scores = np.empty((n_sets, size), np.float64)
    for start in range(0, n_sets, step):
        part = slice(start, start + step)
        images, texts = matrix[np.repeat(crops[part], size)], matrix[candidates[part].ravel()]
        scores[part] = np.asarray(score(images, texts)).reshape(-1, size)
    return scores


def result_rows(scores: np.ndarray) -> Iterator[dict]:
    """Yields what table SCORES says of sets of one size: (n_sets, n_candidates), the truth in column 0."""
    margins = scores[:, 0] - scores[:, 1:].max(axis=1)
    columns = truth_ranks(scores).tolist(), margins.tolist(), truth_wins(scores).tolist()
    for rank, margin, wins in zip(*columns, strict=True):
        yield {"rank": rank, "margin": margin, "wins": wins, "reason": ""}


def score_retrieval_sets(
    sets_paths: list[str],
    index_path: str,
    scores_path: str,
    accounting_path: str,
    model: str,
    family: str,
    cfg: str = "",
    weights_paths: Sequence[str] = (),
) -> None:
    """Scores all retrieval sets of a family with one model, one table of sets after the other.

    Args:
        sets_paths: tables RETRIEVAL_SETS.
        index_path: table FEATURE_INDEX of the model and family.
        scores_path: table SCORES to write.
        accounting_path: counts to write.
        model: name of the model.
        family: family of the sets.
        cfg: JSON of `model` (its config entry); only a model with a score of its own is loaded.
        weights_paths: files of its weights, likewise.
    """
    features = read_features(index_path)
    score = load_model(json.loads(cfg)["model"], weights_paths).score if features.own_score else score_by_cosine
    counts: Counter = Counter({READ: 0, KEPT: 0})

    def rows() -> Iterator[dict]:
        for path in sets_paths:
            for row in score_sets(read_table(path, RETRIEVAL_SETS), features, score):
                counts[READ] += 1
                counts[row["reason"] or KEPT] += 1
                yield row

    write_table(scores_path, SCORES, rows())
    write_accounting(accounting_path, f"scores/{model}/{family}", {"query": counts})
