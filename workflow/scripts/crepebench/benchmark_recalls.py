"""Make recalls of the ranks of a benchmark's retrieval, with intervals and chance.

Recalls are means over queries: over captions, not over pictures, where captions search. Intervals resample pictures:
all captions of a picture stand or fall together, and what is searched stays the whole pool.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from crepebench.measures import bootstrap_means, cell_seed, interval, recall_at
from crepebench.raw_retrieval import TEXT_TO_IMAGE

CUE = "cue"
CAPTIONS_CUT = "captions_cut"


def chance_of_hit(n_true: np.ndarray, n_candidates: np.ndarray, k: int) -> np.ndarray:
    """Returns the chance, 0-1, that one of k candidates drawn without replacement is true, for each query.

    Args:
        n_true: (n,) true candidates of each query.
        n_candidates: (n,) all its candidates.
        k: number of candidates that are drawn; all of them where there are fewer.
    """
    miss = np.ones(len(n_true))
    for n_drawn in range(k):
        left = n_candidates - n_drawn
        miss *= np.where(left > 0, np.maximum(left - n_true, 0) / np.maximum(left, 1), 1.0)
    return 1.0 - miss


def recall_rows(ranks: Sequence[Mapping], direction: str, ks: Sequence[int], n_resamples: int, seed: list[int]):
    """Yields for each k a row: metric, value, low, high, chance, n_items; percent.

    Args:
        ranks: rows of table BENCHMARK_RANKS of one direction, all with a rank.
        direction: for the name of the metric.
        ks: how far down a hit may stand.
        n_resamples: bootstrap resamples; all k share them.
        seed: seed of the bootstrap.
    """
    found, images = np.array([row["rank"] for row in ranks]), np.array([row["image"] for row in ranks])
    n_true, n_candidates = (np.array([row[key] for row in ranks]) for key in ("n_true", "n_candidates"))
    groups = [(images, (found <= k).astype(np.float64)) for k in ks]
    means = 100.0 * bootstrap_means(groups, n_resamples, seed)
    for k, resampled in zip(ks, means, strict=True):
        low, high = interval(resampled)
        chance = 100.0 * float(chance_of_hit(n_true, n_candidates, k).mean())
        value = {"value": recall_at(found, k), "low": low, "high": high, "chance": chance}
        yield {"metric": f"{direction}_recall_at_{k}", **value, "n_items": len(found)}


def subset_rows(ranks: Iterable[Mapping], options: Mapping, n_lost: Mapping[str, int], name: str) -> Iterator[dict]:
    """Yields the rows of benchmarks.csv that a model gets: subset, n_missing, and those of `recall_rows`.

    With option `cue` the captions that hold a negation cue have rows of their own, as subset `<subset>/cue`; what they
    search is the whole pool. Metric `captions_cut` is the share of captions that are longer than the model reads.

    Args:
        ranks: rows of table BENCHMARK_RANKS.
        options: `directions`, `ks`, `cue` (bool), `n_resamples` and `seed`.
        n_lost: by subset, items that never came to the model, as their picture is missing.
        name: of the model and benchmark, for the seed.

    Raises:
        ValueError: no picture of a subset has a feature; names the subset and the reasons.
    """
    by_subset: dict[str, list[Mapping]] = {}
    for row in ranks:
        by_subset.setdefault(row["subset"], []).append(row)
    for subset, rows in by_subset.items():
        ranked = [row for row in rows if not row["reason"]]
        if not ranked:
            raise ValueError(f"{subset}: no picture has a feature: {sorted({row['reason'] for row in rows})}")
        n_missing = {"n_missing": n_lost.get(subset, 0) + len(rows) - len(ranked)}
        for direction in options["directions"]:
            of_direction = [row for row in ranked if row["direction"] == direction]
            parts = {subset: of_direction}
            if options["cue"] and direction == TEXT_TO_IMAGE:
                parts[f"{subset}/{CUE}"] = [row for row in of_direction if row["has_cue"]]
            for part, chosen in parts.items():
                if chosen:
                    seed = cell_seed(options["seed"], name, part, direction)
                    for row in recall_rows(chosen, direction, options["ks"], options["n_resamples"], seed):
                        yield {"subset": part, **row, **n_missing}
        cut = [row["is_cut"] for row in ranked if row["direction"] == TEXT_TO_IMAGE]
        share = {"value": 100.0 * float(np.mean(cut)), "low": None, "high": None, "chance": None}
        yield {"subset": subset, "metric": CAPTIONS_CUT, **share, "n_items": len(cut), **n_missing}
