"""Features of pictures that are made of several crops: the frames of a clip.

The store and the index know crops alone, and a frame is a picture like any other. The feature of a clip is made when it
is scored: the mean of the unit features of its frames, of length one. So models, stores and indexes need nothing new.
Source: NegBench's evaluation of MSR-VTT averages the features of four frames (github.com/m1k2zoo/negbench).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from crepebench.feature_index import CROP
from crepebench.feature_reader import ABSENT, Features


class Pooled(NamedTuple):
    """Features of pictures.

    Attributes:
        matrix: (n, dim) float32, unit rows; zero where `reasons` is not "".
        reasons: why a picture has no feature, n texts; "" where it has one.
    """

    matrix: np.ndarray
    reasons: list[str]


def unit_mean(vectors: np.ndarray) -> np.ndarray:
    """Returns the mean of unit vectors, (n, dim) to (dim,) float32, of length one; a single one as it is.

    Raises:
        ValueError: they cancel out, so that the mean has no direction.
    """
    if len(vectors) == 1:
        return vectors[0]
    mean = vectors.astype(np.float64).mean(axis=0)
    length = np.linalg.norm(mean)
    if not length > 0:
        raise ValueError(f"the mean of {len(vectors)} features has length {length}")
    return (mean / length).astype(np.float32)


def pool_features(crop_ids: Sequence[Sequence[str]], features: Features) -> Pooled:
    """Returns the feature of each picture; one that lacks a crop's feature has none, for the reason of that crop.

    Args:
        crop_ids: of each picture its crops, one or more; several for a clip.
        features: features of the crops.

    Raises:
        ValueError: a picture has no crops, or their features cancel out; names the picture's number or first crop.
    """
    matrix = np.zeros((len(crop_ids), features.matrix.shape[1]), np.float32)
    reasons = []
    for place, ids in enumerate(crop_ids):
        if not ids:
            raise ValueError(f"picture {place} has no crops")
        rows = features.rows_of(CROP, list(ids))
        reasons.append(next((features.reasons[id_] for id_, row in zip(ids, rows, strict=True) if row == ABSENT), ""))
        if not reasons[-1]:
            try:
                matrix[place] = unit_mean(features.matrix[rows])
            except ValueError as error:
                raise ValueError(f"picture of crop {ids[0]}: {error}") from error
    return Pooled(matrix, reasons)
