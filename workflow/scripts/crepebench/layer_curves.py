"""Measure, layer by layer, how far a caption lies from its negation, and how near to its image.

D(l) is the mean of 1 - cos(f^l(right), f^l(negated)), A(l) that of cos(f^l(right), f_I). Both are means over triples of
image, right caption and false negation. Source: paper "PeakPatch" (arXiv 2607.23271), layer analysis.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from crepebench.measures import bootstrap_means, interval

N_RESAMPLES = 1000
SEED = 0


class Curve(NamedTuple):
    """A mean for each layer, layer 1 first, with the ends of its 95% interval; each (n_layers,) float64."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def cosines(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Returns the cosine of each row of two arrays (n, width) as (n,) float64.

    Raises:
        ValueError: the shapes differ, or a row is zero or holds what is no number.
    """
    one, other = np.asarray(one, np.float64), np.asarray(other, np.float64)
    if one.shape != other.shape:
        raise ValueError(f"features of shapes {one.shape} and {other.shape} are no pairs")
    lengths = np.linalg.norm(one, axis=-1) * np.linalg.norm(other, axis=-1)
    if not np.isfinite(lengths).all() or not (lengths > 0).all():
        raise ValueError(f"{int((~(lengths > 0)).sum())} of {lengths.size} pairs of features are zero or no numbers")
    return np.clip((one * other).sum(axis=-1) / lengths, -1.0, 1.0)


def distances(right: Mapping[int, np.ndarray], wrong: Mapping[int, np.ndarray]) -> np.ndarray:
    """Returns the cosine distance of each pair at each layer.

    Args:
        right: (n, dim) features f^l of the right captions by layer, 1 to n_layers.
        wrong: those of their negations.

    Returns:
        (n, n_layers) float64, layer 1 first.
    """
    return np.stack([1.0 - cosines(right[layer], wrong[layer]) for layer in layers_of(right)], axis=1)


def alignments(right: Mapping[int, np.ndarray], images: np.ndarray) -> np.ndarray:
    """Returns the cosine of each right caption and its image at each layer, (n, n_layers) float64.

    Args:
        right: (n, dim) features f^l of the right captions by layer, 1 to n_layers.
        images: (n, dim) features of the images.
    """
    return np.stack([cosines(right[layer], images) for layer in layers_of(right)], axis=1)


def token_distances(
    right: Mapping[int, np.ndarray], wrong: Mapping[int, np.ndarray], right_valid: np.ndarray, wrong_valid: np.ndarray
) -> np.ndarray:
    """Returns the mean distance of the tokens at the same positions of each pair, at each layer.

    # ASSUME: the token-level variant compares LN_final(H^l) without projection, at the positions that are valid (up to
    the end token) in both captions; the paper names neither mask nor projection.

    Args:
        right: (n, length, width) features of tokens of the right captions by layer.
        wrong: those of their negations; the length may differ.
        right_valid: (n, length) bool.
        wrong_valid: likewise.

    Returns:
        (n, n_layers) float64.

    Raises:
        ValueError: a pair has no position that is valid in both.
    """
    length = min(right_valid.shape[1], wrong_valid.shape[1])
    valid = right_valid[:, :length] & wrong_valid[:, :length]
    counts = valid.sum(axis=1)
    if not counts.all():
        raise ValueError(f"pair {int(np.argmin(counts))} has no position that is valid in both captions")
    pair = np.nonzero(valid)[0]
    columns = []
    for layer in layers_of(right):
        each = 1.0 - cosines(right[layer][:, :length][valid], wrong[layer][:, :length][valid])
        columns.append(np.bincount(pair, weights=each, minlength=len(valid)) / counts)
    return np.stack(columns, axis=1)


def layers_of(features: Mapping[int, np.ndarray]) -> list[int]:
    """Returns the layers 1 to n that features are of.

    Raises:
        ValueError: there is none, or one is missing.
    """
    layers = sorted(features)
    if not layers or layers != list(range(1, len(layers) + 1)):
        raise ValueError(f"features of all layers from 1 on are wanted, not of {layers}")
    return layers


def curve_of(
    values: np.ndarray, image_ids: Sequence[int] | None = None, n_resamples: int = N_RESAMPLES, seed: int = SEED
) -> Curve:
    """Returns the mean of each layer with its 95% bootstrap interval.

    # ASSUME: the intervals of the curves resample images, so that several triples of an image stand or fall together,
    as in all other tables; the paper gives none.

    Args:
        values: (n, n_layers), one row a triple.
        image_ids: image of each row; each row for itself where None.
        n_resamples: resamples; the layers share them.
        seed: seed of the generator.

    Raises:
        ValueError: there is no row.
    """
    if not len(values):
        raise ValueError("there are no triples to draw curves of")
    ids = np.arange(len(values)) if image_ids is None else np.asarray(image_ids)
    means = bootstrap_means([(ids, column) for column in values.T], n_resamples, [seed])
    ends = np.array([interval(layer) for layer in means])
    return Curve(values.mean(axis=0), ends[:, 0], ends[:, 1])
