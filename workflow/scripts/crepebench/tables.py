"""Turn scores into the tables that people read: recalls per split, gaps, pairwise accuracy by foil kind.

All shares are percent with two decimals. Intervals are 95% percentile bootstrap intervals over images: the sets of an
image stand or fall together, and for a gap both splits are resampled with the same images. docs/tables.md explains
every column.
"""

import csv
import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from crepebench.accounting import COLUMNS as ACCOUNTING_COLUMNS
from crepebench.accounting import KEPT, READ, check_counts, read_accounting
from crepebench.files import atomic_path
from crepebench.foils import FOIL_TYPES
from crepebench.retrieval_sets import FAMILY
from crepebench.schema import RETRIEVAL_SETS, SCORES, SPLITS, read_table
from crepebench.set_matching import match_cells
from crepebench.splits import ALL_SPLITS, SC, UC, UNDECIDED

KEY_COLUMNS = ("protocol", "training_corpus", "model", "foil_type")
SYSTEMATICITY_COLUMNS = (
    *KEY_COLUMNS,
    "split",
    "n_queries",
    "n_images",
    "n_candidates",
    "recall_at_1",
    "recall_at_3",
    "recall_at_5",
    "average_recall",
    "mean_rank",
    "recall_at_1_low",
    "recall_at_1_high",
    "random_recall_at_1",
    "blind_recall_at_1",
    "marks",
    "corpus_id",
)
GAP_COLUMNS = (*KEY_COLUMNS, "seen", "unseen", "gap", "gap_low", "gap_high", "corpus_id")
GAP_SEEDS_COLUMNS = (
    *(*KEY_COLUMNS, "n_seeds", "seen_mean", "unseen_mean", "gap_mean", "gap_lowest", "gap_highest", "corpus_id"),
)
BY_KIND_COLUMNS = (
    *KEY_COLUMNS,
    "split",
    "foil_kind",
    "n_pairs",
    "n_images",
    "pairwise_accuracy",
    "pairwise_accuracy_low",
    "pairwise_accuracy_high",
    "corpus_id",
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


class Queries:
    """The scored queries of one model, joined with what the tables group by."""

    def __init__(self, sets_paths: list[str], scores_path: str):
        scores = {(row["set_id"], row["foil_type"]): row for row in read_table(scores_path, SCORES).to_pylist()}
        self.rows = []
        for path in sets_paths:
            for row in read_table(path, RETRIEVAL_SETS).to_pylist():
                score = scores[row["set_id"], row["foil_type"]]
                if not score["reason"]:
                    self.rows.append({**row, "rank": score["rank"], "wins": score["wins"]})

    def cells(self, split_of: dict[int, str]) -> Iterator[tuple[str, str, str, list[dict]]]:
        """Yields protocol, foil_type, split and rows of each cell that has any."""
        cells = defaultdict(list)
        for row in self.rows:
            cells[row["protocol"], row["foil_type"], split_of[row["region_id"]]].append(row)
        for protocol in sorted({key[0] for key in cells}):
            for foil_type in FOIL_TYPES:
                for split in ALL_SPLITS:
                    if (protocol, foil_type, split) in cells:
                        yield protocol, foil_type, split, cells[protocol, foil_type, split]


def compared_cells(
    queries: Queries, split_of: dict[int, str], config: dict
) -> Iterator[tuple[str, str, str, list[dict]]]:
    """Yields the cells of `Queries.cells`; those of SC and UC matched where the config says so.

    Args:
        queries: scored queries of a model.
        split_of: split of each region.
        config: `matched` and `seed`.
    """
    cells = queries.cells(split_of)
    return match_cells(cells, config["seed"]) if config["matched"] else cells


def query_hits(rows: list[dict]) -> tuple[np.ndarray, np.ndarray]:
    """Returns the image id of each query, and 1.0 where its truth has rank 1, else 0.0."""
    image_ids = np.array([row["image_id"] for row in rows])
    return image_ids, np.array([row["rank"] <= 1 for row in rows], dtype=np.float64)


def systematicity_row(rows: list[dict], n_resamples: int, seed: list[int]) -> dict:
    """Returns the measures of one cell: recalls, ranks, interval and random line."""
    ranks = np.array([row["rank"] for row in rows])
    sizes = {len(row["foils"]) + 1 for row in rows}
    if len(sizes) != 1:
        raise ValueError(f"sets of different sizes in one cell: {sorted(sizes)}")
    n_candidates = sizes.pop()
    low, high = interval(100.0 * bootstrap_means([query_hits(rows)], n_resamples, seed)[0])
    recall_1, recall_3 = recall_at(ranks, 1), recall_at(ranks, 3)
    return {
        "n_queries": len(rows),
        "n_images": len({row["image_id"] for row in rows}),
        "n_candidates": n_candidates,
        "recall_at_1": recall_1,
        "recall_at_3": recall_3,
        "recall_at_5": recall_at(ranks, 5),
        "average_recall": (recall_1 + recall_3) / 2,  # as in the published tables
        "mean_rank": float(ranks.mean()),
        "recall_at_1_low": low,
        "recall_at_1_high": high,
        "random_recall_at_1": 100.0 / n_candidates,
    }


def gap_row(seen: list[dict], unseen: list[dict], n_resamples: int, seed: list[int]) -> dict:
    """Returns R@1 of both splits and their gap, unseen less seen, in points."""
    groups = [query_hits(seen), query_hits(unseen)]
    means = 100.0 * bootstrap_means(groups, n_resamples, seed)
    low, high = interval(means[1] - means[0])
    seen_recall, unseen_recall = (100.0 * float(hits.mean()) for _, hits in groups)
    return {
        "seen": seen_recall,
        "unseen": unseen_recall,
        "gap": unseen_recall - seen_recall,
        "gap_low": low,
        "gap_high": high,
    }


def gap_seeds_rows(gaps: list[dict], base_of: dict[str, str]) -> Iterator[dict]:
    """Yields mean and range of the gaps of a model's trainings, which differ in nothing but the seed.

    Args:
        gaps: rows of systematicity_gap.csv.
        base_of: name of each model in the config.
    """
    groups = defaultdict(list)
    for row in gaps:
        groups[row["protocol"], row["training_corpus"], base_of[row["model"]], row["foil_type"]].append(row)
    for key, rows in groups.items():
        found = np.array([row["gap"] for row in rows])
        yield {
            **dict(zip(KEY_COLUMNS, key, strict=True)),
            "n_seeds": len(rows),
            "seen_mean": float(np.mean([row["seen"] for row in rows])),
            "unseen_mean": float(np.mean([row["unseen"] for row in rows])),
            "gap_mean": float(found.mean()),
            "gap_lowest": float(found.min()),
            "gap_highest": float(found.max()),
            "corpus_id": rows[0]["corpus_id"],
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


def marks_of(row: dict, definition: dict, corpus: str, has_undecided: bool, is_matched: bool) -> str:
    """Returns the marks of a cell, separated by spaces; docs/tables.md explains them."""
    marks = [f"seen_images_{source}" for source in definition["seen_images"]]
    if corpus not in definition["training_data"]:
        marks.insert(0, "cross_corpus")
    if has_undecided:
        marks.append("undecided_left_out")
    if is_matched:
        marks.append("matched")
    if row["recall_at_1_low"] <= row["random_recall_at_1"]:
        marks.append("not_above_random")
    if row["recall_at_1_low"] <= row["blind_recall_at_1"]:
        marks.append("not_above_blind")
    return " ".join(marks)


def tabulate_systematicity(
    sets_paths: list[str],
    scores_paths: list[str],
    splits_paths: list[str],
    blind_path: str,
    table_path: str,
    gap_path: str,
    gap_seeds_path: str,
    by_kind_path: str,
    cfg: str,
) -> None:
    """Writes the four tables of the systematicity family.

    Args:
        sets_paths: tables RETRIEVAL_SETS.
        scores_paths: table SCORES of each model, in the order of `models`.
        splits_paths: table SPLITS of each corpus, in the order of `corpora`.
        blind_path: blind_baselines.csv.
        table_path: systematicity.csv.
        gap_path: systematicity_gap.csv.
        gap_seeds_path: systematicity_gap_seeds.csv.
        by_kind_path: systematicity_by_kind.csv.
        cfg: JSON of `evaluation` (n_resamples, seed, cross_corpus, matched), `corpora` (names) and `models` (pairs of
            name and definition, as `crepebench.settings.read_models` gives it).
    """
    config, corpora, models = (json.loads(cfg)[block] for block in ("evaluation", "corpora", "models"))
    tables: dict[str, list[dict]] = {"main": [], "gap": [], "kind": []}
    queries = [Queries(sets_paths, path) for path in scores_paths]
    blind = read_blind_recalls(blind_path)
    for corpus, path in zip(corpora, splits_paths, strict=True):
        splits = CorpusSplits(corpus, read_corpus_id_of_splits(path), read_splits(path))
        for (model, definition), found in zip(models, queries, strict=True):
            if corpus in definition["training_data"] or config["cross_corpus"]:
                _add_cells(tables, found, splits, blind, model, definition, config)
    write_csv(table_path, SYSTEMATICITY_COLUMNS, tables["main"])
    write_csv(gap_path, GAP_COLUMNS, tables["gap"])
    base_of = {name: definition["base"] for name, definition in models}
    write_csv(gap_seeds_path, GAP_SEEDS_COLUMNS, list(gap_seeds_rows(tables["gap"], base_of)))
    write_csv(by_kind_path, BY_KIND_COLUMNS, tables["kind"])


class CorpusSplits(NamedTuple):
    """The splits by one corpus: its name in the config, its id, and the split of each region."""

    corpus: str
    corpus_id: str
    split_of: dict[int, str]


def read_splits(path: str) -> dict[int, str]:
    """Reads the split of each region."""
    return {row["region_id"]: row["split"] for row in read_table(path, SPLITS).to_pylist()}


def read_corpus_id_of_splits(path: str) -> str:
    """Reads the id of the corpus that decided the splits; "" where there is no region."""
    return " ".join(sorted(set(read_table(path, SPLITS, ["corpus_id"])["corpus_id"].to_pylist())))


def read_blind_recalls(path: str) -> dict[tuple[str, str, str, str], float]:
    """Reads R@1 of the strongest blind scorer by protocol, corpus, foil_type and split."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["family"] == FAMILY and row["scorer"] == STRONGEST]
    names = ("protocol", "corpus", "foil_type", "split")
    return {tuple(row[name] for name in names): float(row["recall_at_1"]) for row in rows}


def _add_cells(
    tables, queries: Queries, splits_of: CorpusSplits, blind: dict, model: str, definition: dict, config: dict
) -> None:
    """Adds the rows of one corpus and model to the three tables."""
    n_resamples, splits = config["n_resamples"], defaultdict(dict)
    corpus, corpus_id, split_of = splits_of
    has_undecided, of_corpus = UNDECIDED in split_of.values(), {"corpus_id": corpus_id}
    for protocol, foil_type, split, rows in compared_cells(queries, split_of, config):
        key = dict(zip(KEY_COLUMNS, (protocol, corpus, model, foil_type), strict=True))
        cell = (*key.values(), split)
        measures = systematicity_row(rows, n_resamples, cell_seed(config["seed"], *cell))
        measures["blind_recall_at_1"] = blind[protocol, corpus, foil_type, split]
        marks = marks_of(measures, definition, corpus, has_undecided, config["matched"])
        tables["main"].append({**key, "split": split, **measures, "marks": marks, **of_corpus})
        by_kind = by_kind_rows(rows, n_resamples, config["seed"], cell)
        tables["kind"] += [{**key, "split": split, **row, **of_corpus} for row in by_kind]
        splits[protocol, foil_type][split] = rows
    for (protocol, foil_type), by_split in splits.items():
        if SC in by_split and UC in by_split:
            key = dict(zip(KEY_COLUMNS, (protocol, corpus, model, foil_type), strict=True))
            seed = cell_seed(config["seed"], *key.values())
            tables["gap"].append({**key, **gap_row(by_split[SC], by_split[UC], n_resamples, seed), **of_corpus})


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


def tabulate_accounting(accounting_paths: list[str], table_path: str) -> None:
    """Joins the counts of all stages, shards added up, and checks that nothing was lost.

    Args:
        accounting_paths: counts of the stages.
        table_path: accounting.csv.

    Raises:
        ValueError: the counts of a stage do not add up.
    """
    rows = read_accounting(accounting_paths)
    by_unit: dict[tuple[str, str], Counter] = defaultdict(Counter)
    for row in rows:
        by_unit[row["stage"], row["unit"]][row["reason"]] += row["count"]
    for (stage, unit), counts in by_unit.items():
        check_counts(stage, unit, counts)
    order = {READ: 0, KEPT: 2}
    rows.sort(
        key=lambda row: (list(by_unit).index((row["stage"], row["unit"])), order.get(row["reason"], 1), row["reason"])
    )
    write_csv(table_path, ACCOUNTING_COLUMNS, rows)
