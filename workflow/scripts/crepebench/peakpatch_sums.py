"""Layers of a network in float64 whose results depend on nothing but their row.

A matrix product may sum in another order for another number of rows, and the last digits change with it. Here both
factors are first rounded to multiples of powers of two, so coarse that every product and every partial sum is exact in
float64; then no order matters. The power is chosen for each row; rounding moves what is summed by far less than
float32 would.
"""

import numpy as np

WEIGHT_GRID = 2.0**-24
"""Of which weights are multiples."""
DIGITS = 53
"""Of a float64."""
EPSILON = 1e-5
"""Added to variances, as torch's LayerNorm does."""


def exact_linear(inputs: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Returns inputs times a weight, plus a bias, the sums without any rounding.

    Args:
        inputs: (n, in) float64.
        weight: (out, in) float64.
        bias: (out,) float64.
    """
    weight = np.rint(weight / WEIGHT_GRID) * WEIGHT_GRID
    bounds = np.abs(inputs).max(axis=1, keepdims=True) * np.abs(weight).sum(axis=1).max() * 2
    grid = np.ldexp(1.0, np.frexp(bounds)[1] - DIGITS) / WEIGHT_GRID
    return (np.rint(inputs / grid) * grid) @ weight.T + bias


def layer_norm(inputs: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Returns rows of mean 0 and variance 1, times a weight, plus a bias: (n, size) float64."""
    centred = inputs - inputs.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + EPSILON) * weight + bias


def exact_gelu(inputs: np.ndarray) -> np.ndarray:
    """Returns the Gaussian error linear unit of numbers."""
    from scipy.special import erf

    return inputs * 0.5 * (1 + erf(inputs * np.sqrt(0.5)))
