"""Make recalls of where the truths of a benchmark's retrieval stand, with intervals and chance.

A recall is strict: a truth counts that stands in the first k even if all that ties with it comes first. Beside it is
the recall with ties split: what is to be expected if equal scores are put in a random order. A model that gives all
one score has a strict recall of 0, and with ties split exactly chance.

Recalls are means over queries: over captions, not over pictures, where captions search. Intervals resample pictures:
all captions of a picture stand or fall together, and what is searched stays the whole pool.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from crepebench.measures import bootstrap_means, cell_seed, interval
from crepebench.raw_retrieval import TEXT_TO_IMAGE

CUE = "cue"
CAPTIONS_CUT = "captions_cut"
TIES_SPLIT = "_ties_split"
"""End of the name of a metric with ties split."""


def chance_of_hit(n_true: np.ndarray, n_candidates: np.ndarray, n_drawn: np.ndarray) -> np.ndarray:
    """Returns the chance, 0-1, that a true candidate is among some that are drawn without replacement, (n,).

    Args:
        n_true: (n,) true candidates of each query.
        n_candidates: (n,) all its candidates.
        n_drawn: (n,) how many are drawn; all where there are fewer, none where it is negative.
    """
    miss = np.ones(len(n_true))
    for number in range(max(0, int(n_drawn.max(initial=0)))):
        left = n_candidates - number
        still = np.where(left > 0, np.maximum(left - n_true, 0) / np.maximum(left, 1), 1.0)
        miss *= np.where(number < n_drawn, still, 1.0)
    return 1.0 - miss


def hits_of(ranks: Sequence[Mapping], k: int) -> dict[str, np.ndarray]:
    """Returns the hits of each query in the first k, 0-1: strict, with ties split, and by chance; (n,) float64 each."""
    keys = ("n_better", "n_tied", "n_true_tied", "n_true", "n_candidates")
    n_better, n_tied, n_true_tied, n_true, n_candidates = np.array([[row[key] for key in keys] for row in ranks]).T
    return {
        "strict": (n_better + n_tied < k).astype(np.float64),
        "split": chance_of_hit(n_true_tied, n_true_tied + n_tied, k - n_better),
        "chance": chance_of_hit(n_true, n_candidates, np.full(len(ranks), k)),
    }


def recall_rows(ranks: Sequence[Mapping], metric: str, k: int, n_resamples: int, seed: list[int]) -> Iterator[dict]:
    """Yields the rows of a recall, strict and with ties split: metric, value, low, high, chance, n_items; percent.

    Args:
        ranks: rows of table BENCHMARK_RANKS of one direction that have no reason.
        metric: its name.
        k: how far down a hit may stand.
        n_resamples: bootstrap resamples.
        seed: seed of the bootstrap.
    """
    images, hits = np.array([row["image"] for row in ranks]), hits_of(ranks, k)
    means = 100.0 * bootstrap_means([(images, hits[name]) for name in ("strict", "split")], n_resamples, seed)
    for name, end, resampled in zip(("strict", "split"), ("", TIES_SPLIT), means, strict=True):
        low, high = interval(resampled)
        value = {"value": 100.0 * float(hits[name].mean()), "low": low, "high": high}
        yield {"metric": metric + end, **value, "chance": 100.0 * float(hits["chance"].mean()), "n_items": len(ranks)}


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
                    for k in options["ks"]:
                        for row in recall_rows(chosen, f"{direction}_recall_at_{k}", k, options["n_resamples"], seed):
                            yield {"subset": part, **row, **n_missing}
        cut = [row["is_cut"] for row in ranked if row["direction"] == TEXT_TO_IMAGE]
        share = {"value": 100.0 * float(np.mean(cut)), "low": None, "high": None, "chance": None}
        yield {"subset": subset, "metric": CAPTIONS_CUT, **share, "n_items": len(cut), **n_missing}
