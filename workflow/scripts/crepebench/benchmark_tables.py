"""Turn the results of all benchmarks into benchmarks.csv. docs/tables.md explains every column."""

import csv
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from crepebench.benchmark_blind import image_numbers
from crepebench.benchmark_cells import Cell, cells_of
from crepebench.benchmark_choices import CHOSEN, choice_chance, choice_metrics, choice_rows
from crepebench.benchmark_manifests import check_counts, read_manifest
from crepebench.benchmark_pools import POOL_METRICS, pool_chances
from crepebench.benchmark_results import chance, comparisons, n_scores_of
from crepebench.measures import bootstrap_means, cell_seed, interval, write_csv
from crepebench.schema import BENCHMARK_BLIND, BENCHMARK_ITEMS, BENCHMARK_SCORES, read_table

COLUMNS = (
    *("model", "benchmark", "subset", "metric", "value", "low", "high", "chance", "blind", "n_items", "n_missing"),
    *("published", "marks"),
)
STRICT, TIES_SPLIT = "strict", "ties_split"
RULES = (STRICT, TIES_SPLIT)
"""Two results of an item; the first has no name of its own in a metric."""
PUBLISHED_COLUMNS = ("model", "benchmark", "subset", "metric", "value", "source")
SCORED_NOT, CUT, NOT_ABOVE_CHANCE, NOT_ABOVE_BLIND = (
    "images_missing",
    "captions_cut",
    "not_above_chance",
    "not_above_blind",
)
Published = Mapping[tuple[str, str, str, str], float]


class Results(NamedTuple):
    """What a model or blind scorer makes of items by one metric, all in the order of the items.

    Attributes:
        values: by rule, (n_items,) 0-1; NaN where an item was not scored.
        is_cut: (n_items,) bool.
    """

    values: dict[str, np.ndarray]
    is_cut: np.ndarray


def results_of(items: Sequence[Mapping], rows: Sequence[Mapping], metric: str) -> Results:
    """Collects results by one metric.

    Args:
        items: rows of table BENCHMARK_ITEMS.
        rows: rows of table BENCHMARK_SCORES or BENCHMARK_BLIND.
        metric: name of the metric.
    """
    found = {row["item_id"]: row for row in rows if row["metric"] == metric}
    chosen = [found.get(item["item_id"]) for item in items]
    values = {
        rule: np.array([np.nan if row is None or row[rule] is None else row[rule] for row in chosen], np.float64)
        for rule in RULES
    }
    return Results(values, np.array([bool(row and row["is_cut"]) for row in chosen]))


def metrics_of(items: Sequence[Mapping]) -> dict[str, list[dict]]:
    """Returns the items of each metric, metrics in the order in which items bring them."""
    found: dict[str, list[dict]] = {}
    for item in items:
        known = POOL_METRICS.get(item["task"])
        own = [*comparisons(item["task"], n_scores_of(item)), *choice_metrics(item)] if known is None else known
        for metric in own:
            found.setdefault(metric, []).append(item)
    return found


def chances_of(items: Sequence[Mapping], metric: str, of_pools: Mapping[tuple[str, str], float]) -> np.ndarray:
    """Returns the chance of each item by a metric, (n_items,) 0-1; NaN for one of a pool that cannot be used."""
    return np.array(
        [
            of_pools.get((item["item_id"], metric), np.nan)
            if item["task"] in POOL_METRICS
            else choice_chance(item, metric)
            if metric.startswith(CHOSEN)
            else chance(item["task"], n_scores_of(item))[metric]
            for item in items
        ]
    )


def benchmark_rows(
    model: str,
    benchmark: str,
    items: Sequence[Mapping],
    scores: Sequence[Mapping],
    blind: Sequence[Mapping],
    options: Mapping,
    published: Published = {},  # noqa: B006  never written to
) -> Iterator[dict]:
    """Yields the rows of a model on a benchmark.

    Args:
        model: name of the model.
        benchmark: name of the benchmark.
        items: rows of table BENCHMARK_ITEMS, those that cannot be used among them.
        scores: rows of table BENCHMARK_SCORES.
        blind: rows of table BENCHMARK_BLIND.
        options: `n_resamples`, `seed` (of the bootstrap), `seen_images` (of the model) and `manifest` (of the
            reader; empty where there is none).
        published: figures by model, benchmark, subset and metric.
    """
    of_pools = pool_chances([row for row in items if not row["reason"]])
    counts = Counter(row["subset"] for row in items)
    differing = {subset: check_counts(options["manifest"], {subset: n}) for subset, n in counts.items()}
    scores, blind = ([*rows, *choice_rows(items, rows)] for rows in (scores, blind))
    for metric, members in metrics_of(items).items():
        rules = (STRICT,) if metric.startswith(CHOSEN) else RULES  # of choices, ties are split in any case
        found, without_image = results_of(members, scores, metric), results_of(members, blind, metric)
        chances = chances_of(members, metric, of_pools)
        images, is_scored = image_numbers(members), ~np.isnan(found.values[STRICT])
        for cell in cells_of(members, options["manifest"].get("macro", {})):
            used = cell._replace(groups=[group[is_scored[group]] for group in cell.groups])
            used = used._replace(groups=[group for group in used.groups if len(group)])
            n_all, n_used = (sum(map(len, each.groups)) for each in (cell, used))
            if n_used == 0:
                continue
            seed = cell_seed(options["seed"], model, benchmark, metric, cell.subset, cell.average)
            drawn = [(images[group], found.values[rule][group]) for rule in rules for group in used.groups]
            means = 100.0 * bootstrap_means(drawn, options["n_resamples"], seed)
            for rule, resampled in zip(rules, np.split(means, len(rules)), strict=True):
                name = "_".join(filter(None, (metric, cell.average, rule if rule != STRICT else "")))
                low, high = interval(mean_of_groups(resampled))
                row = {
                    **{"model": model, "benchmark": benchmark, "subset": cell.subset, "metric": name},
                    **{"value": _percent(found.values[rule], used), "low": low, "high": high},
                    "chance": _percent(chances, used),
                    "blind": _percent(without_image.values[rule], used),
                    **{"n_items": n_used, "n_missing": n_all - n_used},
                    "published": published.get((model, benchmark, cell.subset, name), ""),
                }
                is_cut = any(found.is_cut[group].any() for group in used.groups)
                within = {members[place]["subset"] for group in used.groups for place in group.tolist()}
                counted = [mark for subset in sorted(within) for mark in differing[subset]]
                yield {**row, "marks": marks_of(row, options["seen_images"], is_cut, counted)}


def _percent(values: np.ndarray, cell: Cell) -> float | str:
    """Returns the mean of the groups' means in percent; "" where a value is not known."""
    mean = 100.0 * float(np.mean([values[group].mean() for group in cell.groups]))
    return "" if np.isnan(mean) else mean


def mean_of_groups(means: np.ndarray) -> np.ndarray:
    """Returns the mean over groups of each resample, those left out that it leaves empty."""
    filled = ~np.isnan(means)
    with np.errstate(invalid="ignore"):
        return np.where(filled, means, 0.0).sum(axis=0) / filled.sum(axis=0)


def marks_of(row: Mapping, seen_images: Sequence[str], is_cut: bool, counted: Sequence[str] = ()) -> str:
    """Returns the marks of a row, separated by spaces; docs/tables.md explains them."""
    marks = [f"seen_images_{source}" for source in seen_images]
    marks += counted
    marks += [SCORED_NOT] if row["n_missing"] else []
    marks += [CUT] if is_cut else []
    if not row["metric"].startswith(CHOSEN):  # there more is not better
        marks += [NOT_ABOVE_CHANCE] if row["low"] <= row["chance"] else []
        marks += [NOT_ABOVE_BLIND] if row["blind"] != "" and row["low"] <= row["blind"] else []
    return " ".join(marks)


def read_published(paths: Sequence[str]) -> Published:
    """Reads published figures; PUBLISHED_COLUMNS.

    Raises:
        ValueError: a column is missing, a value is no number, or a figure stands twice; names file and line.
    """
    found = {}
    for path in paths:
        with open(path, newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            if missing := set(PUBLISHED_COLUMNS) - set(reader.fieldnames or ()):
                raise ValueError(f"{path}: has no column {', '.join(sorted(missing))}")
            for row in reader:
                key = tuple(row[name] for name in PUBLISHED_COLUMNS[:4])
                try:
                    value = float(row["value"])
                except (TypeError, ValueError) as error:
                    raise ValueError(f"{path}, line {reader.line_num}: {row['value']!r} is no number") from error
                if key in found:
                    raise ValueError(f"{path}, line {reader.line_num}: a second figure of {', '.join(key)}")
                found[key] = value
    return found


def manifest_of(paths: Sequence[str], reader: str) -> dict:
    """Returns the manifest of a reader; nothing where it has none.

    Args:
        paths: manifests, `<reader>.yaml`.
        reader: name of the reader.
    """
    for path in paths:
        if Path(path).stem == reader:
            return read_manifest(path)
    return {}


def tabulate_benchmarks(
    items_paths: Sequence[str],
    scores_paths: Sequence[str],
    blind_paths: Sequence[str],
    manifests_paths: Sequence[str],
    published_paths: Sequence[str],
    table_path: str,
    cfg: str,
) -> None:
    """Writes benchmarks.csv.

    Args:
        items_paths: table BENCHMARK_ITEMS of each benchmark, in the order of `benchmarks`.
        scores_paths: table BENCHMARK_SCORES of each model on each benchmark, benchmark by benchmark.
        blind_paths: table BENCHMARK_BLIND of each benchmark.
        manifests_paths: manifests of the readers.
        published_paths: CSV files of published figures.
        table_path: CSV to write.
        cfg: JSON of `evaluation` (n_resamples, seed), `models` (pairs of name and definition) and `benchmarks` (pairs
            of name and reader).
    """
    config = json.loads(cfg)
    published, rows = read_published(published_paths), []
    scores = iter(scores_paths)
    for (benchmark, reader), items_path, blind_path in zip(config["benchmarks"], items_paths, blind_paths, strict=True):
        items, blind = _rows(items_path, BENCHMARK_ITEMS), _rows(blind_path, BENCHMARK_BLIND)
        manifest = manifest_of(manifests_paths, reader)
        for model, definition in config["models"]:
            options = {**config["evaluation"], "seen_images": definition["seen_images"], "manifest": manifest}
            found = _rows(next(scores), BENCHMARK_SCORES)
            rows += benchmark_rows(model, benchmark, items, found, blind, options, published)
    write_csv(table_path, COLUMNS, rows)


def _rows(path: str, schema: pa.Schema) -> list[dict]:
    return read_table(path, schema).to_pylist()
