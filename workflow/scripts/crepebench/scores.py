"""Score retrieval sets with cached features: rank of the truth, margin, and the truth against each foil.

Scores are cosines of unit features, in float64. The one rule for ties: candidates that score exactly as the truth
share the mean of the ranks that they take up together.
"""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from crepebench.accounting import KEPT, READ, write_accounting
from crepebench.feature_index import CROP, TEXT, crop_id, read_features, text_id
from crepebench.schema import RETRIEVAL_SETS, SCORES, read_table, write_table


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


def score_rows(sets: list[dict], row_of: dict, matrix: np.ndarray, reasons: dict[str, str]) -> Iterator[dict]:
    """Yields the scores of sets; sets whose crop has no feature carry the reason instead.

    Args:
        sets: rows of table RETRIEVAL_SETS.
        row_of: row of the matrix for each (kind, id).
        matrix: (n, dim) unit features.
        reasons: why crops have no feature, by id.
    """
    for row in sets:
        crop = crop_id(row["image_id"], (row["x"], row["y"], row["width"], row["height"]))
        result = {"set_id": row["set_id"], "foil_type": row["foil_type"]}
        if (CROP, crop) not in row_of:
            yield {**result, "rank": None, "margin": None, "wins": None, "reason": reasons[crop]}
            continue
        texts = [row["caption"], *(foil["text"] for foil in row["foils"])]
        candidates = matrix[[row_of[TEXT, text_id(text)] for text in texts]].astype(np.float64)
        products = candidates * matrix[row_of[CROP, crop]].astype(np.float64)
        scores = products.sum(axis=1)[None]  # row by row, so that equal texts score exactly alike
        yield {
            **result,
            "rank": float(truth_ranks(scores)[0]),
            "margin": float(scores[0, 0] - scores[0, 1:].max()),
            "wins": truth_wins(scores)[0].tolist(),
            "reason": "",
        }


def score_retrieval_sets(
    sets_paths: list[str], index_path: str, scores_path: str, accounting_path: str, model: str, family: str
) -> None:
    """Scores all retrieval sets of a family with one model.

    Args:
        sets_paths: tables RETRIEVAL_SETS.
        index_path: table FEATURE_INDEX of the model and family.
        scores_path: table SCORES to write.
        accounting_path: counts to write.
        model: name of the model.
        family: family of the sets.
    """
    features = read_features(index_path)
    counts: Counter = Counter({READ: 0, KEPT: 0})

    def rows() -> Iterator[dict]:
        for path in sets_paths:
            for row in score_rows(read_table(path, RETRIEVAL_SETS).to_pylist(), *features):
                counts[READ] += 1
                counts[row["reason"] or KEPT] += 1
                yield row

    write_table(scores_path, SCORES, rows())
    write_accounting(accounting_path, f"scores/{model}/{family}", {"query": counts})
