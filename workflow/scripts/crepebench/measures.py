"""Measures of retrieval: recalls, ranks, pairwise accuracy and their intervals, and the CSV files that hold them.

All shares are percent with two decimals. Intervals are 95% percentile bootstrap intervals over images: the sets of an
image stand or fall together. docs/tables.md explains every column.
"""

import csv
import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from crepebench.files import atomic_path
from crepebench.schema import RETRIEVAL_SETS, SCORES, read_table

MEASURES = (
    "n_queries",
    "n_images",
    "n_candidates",
    "recall_at_1",
    "recall_at_3",
    "recall_at_5",
    "recall_at_10",
    "average_recall",
    "mean_rank",
    "median_rank",
    "recall_at_1_low",
    "recall_at_1_high",
    "pairwise_accuracy",
    "pairwise_accuracy_low",
    "pairwise_accuracy_high",
    "random_recall_at_1",
    "blind_recall_at_1",
    "marks",
)
"""Columns of a table of recalls, after those that name the cell."""
BY_KIND_MEASURES = (
    "foil_kind",
    "n_pairs",
    "n_images",
    "pairwise_accuracy",
    "pairwise_accuracy_low",
    "pairwise_accuracy_high",
)
STRONGEST = "strongest"
"""Name, in blind_baselines.csv, of the blind scorer that was chosen on other images."""
CHUNK = 100
"""Bootstrap resamples drawn at once; bounds the memory."""
LOW, HIGH = 2.5, 97.5


def recall_at(ranks: np.ndarray, k: int) -> float:
    """Returns the share of queries, in percent, whose truth has a rank of at most k; ranks of ties may be halves."""
    return 100.0 * float(np.mean(ranks <= k))


def cell_seed(seed: int, *names: str) -> list[int]:
    """Returns a seed for one cell of a table, so that its interval does not depend on the other cells."""
    return [seed, int.from_bytes(hashlib.sha256("\0".join(names).encode()).digest()[:8], "big")]


def bootstrap_means(groups: Sequence[tuple[np.ndarray, np.ndarray]], n_resamples: int, seed: list[int]) -> np.ndarray:
    """Resamples images and returns the mean of each group of values in each resample.

    Args:
        groups: per group, the image ids and the values of its records; all groups share one set of images.
        n_resamples: number of resamples.
        seed: seed of the generator.

    Returns:
        (n_groups, n_resamples) float64; NaN where a resample leaves a group empty.
    """
    image_ids = np.unique(np.concatenate([ids for ids, _ in groups]))
    sums = np.zeros((len(groups), len(image_ids)))
    sizes = np.zeros_like(sums)
    for i, (ids, values) in enumerate(groups):
        place = np.searchsorted(image_ids, ids)
        np.add.at(sums[i], place, values)
        np.add.at(sizes[i], place, 1.0)
    rng = np.random.default_rng(seed)
    means = []
    for start in range(0, n_resamples, CHUNK):
        n_drawn = min(CHUNK, n_resamples - start)
        draws = rng.integers(0, len(image_ids), size=(n_drawn, len(image_ids)))
        weights = np.stack([np.bincount(draw, minlength=len(image_ids)) for draw in draws]).astype(np.float64)
        with np.errstate(invalid="ignore"):
            means.append((sums @ weights.T) / (sizes @ weights.T))
    return np.concatenate(means, axis=1)


def interval(values: np.ndarray) -> tuple[float, float]:
    """Returns the 2.5th and 97.5th percentile of resampled values, those that are NaN left out."""
    low, high = np.nanpercentile(values, [LOW, HIGH])
    return float(low), float(high)


def read_queries(sets_paths: Sequence[str], scores_path: str) -> list[dict]:
    """Reads the retrieval sets that a model scored, with `rank` and `wins`.

    Args:
        sets_paths: tables RETRIEVAL_SETS of a family.
        scores_path: table SCORES of the model and family.
    """
    scores = {(row["set_id"], row["foil_type"]): row for row in read_table(scores_path, SCORES).to_pylist()}
    queries = []
    for path in sets_paths:
        for row in read_table(path, RETRIEVAL_SETS).to_pylist():
            score = scores[row["set_id"], row["foil_type"]]
            if not score["reason"]:
                queries.append({**row, "rank": score["rank"], "wins": score["wins"]})
    return queries


def query_hits(rows: list[dict]) -> tuple[np.ndarray, np.ndarray]:
    """Returns the image id of each query, and 1.0 where its truth has rank 1, else 0.0."""
    image_ids = np.array([row["image_id"] for row in rows])
    return image_ids, np.array([row["rank"] <= 1 for row in rows], dtype=np.float64)


def query_wins(rows: list[dict]) -> tuple[np.ndarray, np.ndarray]:
    """Returns the image id of each query, and the share of its foils that the truth beats, ties as half.

    Where all sets have one size, the mean of the shares is the share of all pairs of truth and foil.
    """
    return np.array([row["image_id"] for row in rows]), np.array([np.mean(row["wins"]) for row in rows])


def measures_row(rows: list[dict], n_resamples: int, seed: list[int]) -> dict:
    """Returns the measures of one cell: recalls, ranks, pairwise accuracy, intervals and random line.

    Args:
        rows: queries with image_id, foils, rank and wins.
        n_resamples: bootstrap resamples; both intervals come from the same ones.
        seed: seed of the bootstrap.

    Raises:
        ValueError: the sets differ in size.
    """
    ranks = np.array([row["rank"] for row in rows])
    sizes = {len(row["foils"]) + 1 for row in rows}
    if len(sizes) != 1:
        raise ValueError(f"sets of different sizes in one cell: {sorted(sizes)}")
    n_candidates = sizes.pop()
    wins = query_wins(rows)
    means = 100.0 * bootstrap_means([query_hits(rows), wins], n_resamples, seed)
    (low, high), (wins_low, wins_high) = map(interval, means)
    recall_1, recall_3 = recall_at(ranks, 1), recall_at(ranks, 3)
    return {
        "n_queries": len(rows),
        "n_images": len({row["image_id"] for row in rows}),
        "n_candidates": n_candidates,
        "recall_at_1": recall_1,
        "recall_at_3": recall_3,
        "recall_at_5": recall_at(ranks, 5),
        "recall_at_10": recall_at(ranks, 10),
        "average_recall": (recall_1 + recall_3) / 2,  # as in the published tables
        "mean_rank": float(ranks.mean()),
        # ASSUME: the median rank is that of the ranks with ties as halves, and lies between the two middle ones of an
        # even number; the released code rounds it down, and so can call a truth that ties with a foil the first.
        "median_rank": float(np.median(ranks)),
        "recall_at_1_low": low,
        "recall_at_1_high": high,
        "pairwise_accuracy": 100.0 * float(wins[1].mean()),
        "pairwise_accuracy_low": wins_low,
        "pairwise_accuracy_high": wins_high,
        "random_recall_at_1": 100.0 / n_candidates,
    }


def by_kind_rows(rows: list[dict], n_resamples: int, seed: int, cell: tuple[str, ...]) -> Iterator[dict]:
    """Yields the pairwise accuracy of one cell for each kind of foil: truth against foil, chance 50."""
    wins, ids = defaultdict(list), defaultdict(list)
    for row in rows:
        for foil, win in zip(row["foils"], row["wins"], strict=True):
            wins[foil["kind"]].append(win)
            ids[foil["kind"]].append(row["image_id"])
    for kind in sorted(wins):
        values, image_ids = np.array(wins[kind]), np.array(ids[kind])
        means = 100.0 * bootstrap_means([(image_ids, values)], n_resamples, cell_seed(seed, *cell, kind))
        low, high = interval(means[0])
        yield {
            "foil_kind": kind,
            "n_pairs": len(values),
            "n_images": len(set(ids[kind])),
            "pairwise_accuracy": 100.0 * float(values.mean()),
            "pairwise_accuracy_low": low,
            "pairwise_accuracy_high": high,
        }


def marks_of(measures: Mapping, definition: Mapping, before: Sequence[str] = (), after: Sequence[str] = ()) -> str:
    """Returns the marks of a cell, separated by spaces; docs/tables.md explains them.

    Args:
        measures: measures of the cell, with the random line, and the blind line where the table has one.
        definition: the model's definition in the config.
        before: marks of the table's own, to stand before what the model has seen.
        after: and behind that.
    """
    marks = [*before, *(f"seen_images_{source}" for source in definition["seen_images"]), *after]
    if measures["recall_at_1_low"] <= measures["random_recall_at_1"]:
        marks.append("not_above_random")
    if "blind_recall_at_1" in measures and measures["recall_at_1_low"] <= measures["blind_recall_at_1"]:
        marks.append("not_above_blind")
    return " ".join(marks)


def read_blind_recalls(path: str, names: Sequence[str]) -> dict[tuple[str, ...], float]:
    """Reads R@1 of the strongest blind scorer from the audit of a family.

    Args:
        path: audit of the family.
        names: columns that name a cell.
    """
    with open(path, newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["scorer"] == STRONGEST]
    return {tuple(row[name] for name in names): float(row["recall_at_1"]) for row in rows}


def write_csv(path: str, columns: Sequence[str], rows: list[dict]) -> None:
    """Writes a table for people: floats with two decimals, line feeds as line ends."""
    with atomic_path(path) as partial, open(partial, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        for row in rows:
            values = (row[column] for column in columns)
            writer.writerow(
                f"{round(float(value), 2) + 0.0:.2f}" if isinstance(value, float) else value for value in values
            )
