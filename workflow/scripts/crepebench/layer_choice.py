"""Choose the peak layer and the anchor layer from the curves D and A, by a rule without parameters.

The paper takes the layer where negation is told apart best (the peak), and a layer before it where the text is not yet
drawn to the image (the anchor); "PeakPatch" (arXiv 2607.23271), layer analysis. It gives no exact rule; this is ours:

    peak    smallest l in 1..L-1 where D(l) is the maximum of 1..L-1
    onset   smallest l >= 2 where A(l) - A(l-1) is more than the mean slope (A(L) - A(1)) / (L - 1)
    anchor  largest l < peak and < onset with D(l) >= D(l-1), where D(0) = 0; if there is none, max(1, peak - 2)
"""

from collections.abc import Mapping, Sequence

import numpy as np

RULE_VERSION = 1
"""To be raised with every change of the rule."""
TOLERANCE = 1e-6
"""Within which values of D, or slopes of A, are equal."""
RULE, CONFIG = "rule", "config"


def choose_layers(distance: Sequence[float], alignment: Sequence[float], override: Mapping | None = None) -> dict:
    """Chooses peak and anchor.

    # ASSUME: the layer rule is ours where the paper says "before the steep rise": the peak leaves the last layer out,
    ties go to the lowest layer, and a rise is steep if it is more than the mean slope.
    # ASSUME: a collapse is a distance at the last layer below that at the peak by more than the tolerance, so that a
    flat curve has none.

    Args:
        distance: D(1) to D(L).
        alignment: A(1) to A(L).
        override: `peak` and `anchor` of the config, numbers of layers or None; a given one is taken instead.

    Returns:
        rule_version, n_layers, peak, onset (None where A has no steep rise), anchor, chosen_by, rule_peak, rule_anchor,
        collapse and warnings.

    Raises:
        ValueError: there are fewer than two layers, the curves differ in length or hold what is no number, or the
            config's layers do not fit.
    """
    d, a = np.asarray(distance, np.float64), np.asarray(alignment, np.float64)
    n_layers = len(d)
    if n_layers < 2 or len(a) != n_layers:
        raise ValueError(f"curves of {n_layers} and {len(a)} layers: peak and anchor need at least two, of both")
    if not np.isfinite([d, a]).all():
        raise ValueError(f"the curves hold what is no number: D {d.tolist()}, A {a.tolist()}")
    warnings: list[str] = []
    rule_peak = 1 + int(np.argmax(d[:-1] >= d[:-1].max() - TOLERANCE))
    collapse = bool(d[-1] < d[rule_peak - 1] - TOLERANCE)
    if not collapse:
        warnings.append(
            f"no collapse: D is {d[-1]:.4f} at the last layer ({n_layers}) and {d[rule_peak - 1]:.4f} at the peak "
            f"({rule_peak})"
        )
    elif rule_peak == 1:
        warnings.append("D is highest at layer 1: it does not rise before it falls")
    onset = find_onset(a)
    if onset is None:
        warnings.append("no onset: A rises nowhere by more than its mean slope, so all layers count as before it")
    if a[-1] <= a[0] + TOLERANCE:
        warnings.append(
            f"A does not rise: {a[0]:.4f} at layer 1, {a[-1]:.4f} at layer {n_layers}; the onset says little"
        )
    given = {name: (override or {}).get(name) for name in ("peak", "anchor")}
    peak = rule_peak if given["peak"] is None else _check(given["peak"], "peak", n_layers)
    rule_anchor, found = find_anchor(d, rule_peak, onset)
    by_rule, found = (rule_anchor, found) if peak == rule_peak else find_anchor(d, peak, onset)
    if not found and given["anchor"] is None:
        warnings.append(f"no layer before the peak ({peak}) and the onset ({onset}) where D rises: anchor {by_rule}")
    anchor = by_rule if given["anchor"] is None else _check(given["anchor"], "anchor", n_layers)
    if anchor == peak:
        warnings.append(f"the anchor is the peak ({peak}): there is no layer before it")
    if anchor > peak:
        raise ValueError(f"the anchor layer ({anchor}) must not lie behind the peak layer ({peak})")
    return {
        "rule_version": RULE_VERSION,
        "n_layers": n_layers,
        "peak": peak,
        "onset": onset,
        "anchor": anchor,
        "chosen_by": RULE if given["peak"] is None and given["anchor"] is None else CONFIG,
        "rule_peak": rule_peak,
        "rule_anchor": rule_anchor,
        "collapse": collapse,
        "warnings": warnings,
    }


def find_onset(alignment: np.ndarray) -> int | None:
    """Returns the first layer where A rises by more than its mean slope, None where there is none."""
    rises = np.diff(alignment)
    steep = np.flatnonzero(rises > rises.mean() + TOLERANCE)
    return int(steep[0]) + 2 if len(steep) else None


def find_anchor(distance: np.ndarray, peak: int, onset: int | None) -> tuple[int, bool]:
    """Returns the anchor of a peak, and whether a layer fulfils the rule; if none does, it is max(1, peak - 2)."""
    before = peak if onset is None else min(peak, onset)
    previous = np.concatenate([[0.0], distance[:-1]])
    fitting = [layer for layer in range(1, before) if distance[layer - 1] >= previous[layer - 1]]
    return (fitting[-1], True) if fitting else (max(1, peak - 2), False)


def _check(layer: int, name: str, n_layers: int) -> int:
    """Returns a layer of the config.

    Raises:
        ValueError: the model has no such layer.
    """
    if isinstance(layer, bool) or not isinstance(layer, int) or not 1 <= layer <= n_layers:
        raise ValueError(f"config: the {name} layer {layer!r} is none of the model's layers 1 to {n_layers}")
    return layer
