"""Turn what models and their tuning by CLIC make of CREPE's sets and of benchmarks into clic.csv.

docs/tables.md explains every column. A variant of the method is trained with several seeds: each has rows of its own,
and their mean and sample standard deviation have rows whose `seed` is "mean" and "std".
"""

import json
import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from crepebench.benchmark_tables import manifest_of, read_published
from crepebench.clic_cells import benchmark_gains, benchmark_values, productivity_rows, systematicity_rows
from crepebench.families import PRODUCTIVITY, SYSTEMATICITY
from crepebench.measures import read_queries, write_csv
from crepebench.negation_cells import Bootstrap
from crepebench.schema import BENCHMARK_ITEMS, BENCHMARK_SCORES, read_table
from crepebench.splits import read_splits
from crepebench.systematicity_tables import Queries

logger = logging.getLogger(__name__)

COLUMNS = (*("model", "base", "variant", "seed", "benchmark", "subset", "metric", "value", "low", "high", "published"),)
BASE = "base"
"""Variant of the models that are tuned."""
MEAN, STD = "mean", "std"
CREPE = "crepe_"
"""Beginning of the names of CREPE's families among the benchmarks."""
Rows = Sequence[Mapping]


class Sets(NamedTuple):
    """Retrieval sets of a family and what each model made of them.

    Attributes:
        paths: tables RETRIEVAL_SETS.
        scores: table SCORES of each model, by its name.
    """

    paths: Sequence[str]
    scores: Mapping[str, str]


def crepe_rows(
    models: Rows, systematicity: Sets, productivity: Sets, split_of: Mapping[str, Mapping], config: Mapping
) -> Iterator[tuple[Mapping, str, dict]]:
    """Yields model, benchmark and row of what models make of CREPE's sets; each base's queries are read once.

    Args:
        models: as in the config of `tabulate_clic`.
        systematicity: sets of the family, and scores.
        productivity: likewise.
        split_of: split of each region, by corpus.
        config: n_resamples, seed, matched and cross_corpus.
    """
    for of_base in by_base(models):
        base = None
        for model in of_base:
            name, is_base = model["model"], model["variant"] == BASE
            queries = Queries(systematicity.paths, systematicity.scores[name]) if systematicity.scores else None
            atoms = read_queries(productivity.paths, productivity.scores[name]) if productivity.scores else []
            before = (None, None) if is_base else base
            base = (queries, atoms) if is_base else base
            for corpus, splits in split_of.items() if queries else ():
                if corpus in model["training_data"] or config["cross_corpus"]:
                    for row in systematicity_rows(name, queries, before[0], corpus, splits, config):
                        yield model, CREPE + SYSTEMATICITY, row
            for row in productivity_rows(name, atoms, before[1], config):
                yield model, CREPE + PRODUCTIVITY, row
            logger.info("%s: CREPE's sets are tabulated", name)


def by_base(models: Rows) -> list[list[Mapping]]:
    """Returns each base with its tuned models behind it.

    Raises:
        ValueError: a tuned model's base is not among the models.
    """
    found = {model["model"]: [model] for model in models if model["variant"] == BASE}
    for model in models:
        if model["base"] not in found:
            raise ValueError(f"model {model['model']!r} has the base {model['base']!r}, which is not tabulated")
        if model["variant"] != BASE:
            found[model["base"]].append(model)
    return list(found.values())


def seed_rows(models: Rows, rows: Mapping[str, Rows]) -> Iterator[dict]:
    """Yields the rows of bases and of each variant: those of each seed, then mean and sample standard deviation.

    A standard deviation needs two seeds. A row of mean or deviation has no interval, and the name of the variant's
    first model.

    Args:
        models: as in the config of `tabulate_clic`.
        rows: of each model: benchmark, subset, metric, value, low, high, published.
    """
    for of_base in by_base(models):
        variants = defaultdict(list)
        for model in of_base:
            variants[model["variant"]].append(model)
        for variant, trained in variants.items():
            for model in trained:
                names = {key: model[key] for key in ("model", "base", "variant", "seed")}
                yield from ({**names, **row} for row in rows[model["model"]])
            if variant == BASE:
                continue
            cells = defaultdict(list)
            for model in trained:
                for row in rows[model["model"]]:
                    cells[row["benchmark"], row["subset"], row["metric"]].append(row)
            names = {"model": trained[0]["model"], "base": trained[0]["base"], "variant": variant}
            for seed, least, measure in ((MEAN, 1, np.mean), (STD, 2, lambda values: np.std(values, ddof=1))):
                for (benchmark, subset, metric), found in cells.items():
                    if len(found) >= least:
                        cell = {"benchmark": benchmark, "subset": subset, "metric": metric, "low": "", "high": ""}
                        value = float(measure([row["value"] for row in found]))
                        figure = found[0]["published"] if seed == MEAN else ""
                        yield {**names, "seed": seed, **cell, "value": value, "published": figure}


def tabulate_clic(
    items_paths: Sequence[str],
    scores_paths: Sequence[str],
    sets_paths: Mapping[str, Sequence[str]],
    sets_scores_paths: Mapping[str, Sequence[str]],
    splits_paths: Sequence[str],
    manifests_paths: Sequence[str],
    published_paths: Sequence[str],
    table_path: str,
    cfg: str,
) -> None:
    """Writes clic.csv.

    Args:
        items_paths: table BENCHMARK_ITEMS of each benchmark, in the order of `benchmarks`.
        scores_paths: table BENCHMARK_SCORES of each model on each benchmark, benchmark by benchmark.
        sets_paths: tables RETRIEVAL_SETS by family.
        sets_scores_paths: table SCORES of each model, by family; none where a family is left out.
        splits_paths: table SPLITS of each corpus, in the order of `corpora`.
        manifests_paths: manifests of the readers.
        published_paths: CSV files of published figures.
        table_path: CSV to write.
        cfg: JSON of `evaluation` (n_resamples, seed, matched, cross_corpus), `corpora` (names), `benchmarks` (pairs of
            name and reader) and `models`: name, `base` (its own name for a base), `variant` (BASE for a base), `seed`
            ("" for a base), `training_data` (names of corpora) and `published_name` (its name among published
            figures, "" for none).

    Raises:
        ValueError: a tuned model's base is not among the models.
    """
    config = json.loads(cfg)
    models, evaluation = config["models"], config["evaluation"]
    published = read_published(published_paths)
    rows: dict[str, list[dict]] = {model["model"]: [] for model in models}

    def add(model: Mapping, benchmark: str, row: Mapping) -> None:
        figure = published.get((model["published_name"], benchmark, row["subset"], row["metric"]), "")
        rows[model["model"]].append({"benchmark": benchmark, "published": figure, **row})

    names = [model["model"] for model in models]
    families = []
    for family in (SYSTEMATICITY, PRODUCTIVITY):
        paths = sets_scores_paths.get(family, [])
        families.append(Sets(sets_paths.get(family, []), dict(zip(names, paths, strict=True)) if paths else {}))
    split_of = dict(zip(config["corpora"], map(read_splits, splits_paths), strict=True))
    for model, benchmark, row in crepe_rows(models, *families, split_of, evaluation):
        add(model, benchmark, row)
    scores_left = iter(scores_paths)
    for (benchmark, reader), items_path in zip(config["benchmarks"], items_paths, strict=True):
        items, manifest = read_table(items_path, BENCHMARK_ITEMS).to_pylist(), manifest_of(manifests_paths, reader)
        scores = {name: read_table(next(scores_left), BENCHMARK_SCORES).to_pylist() for name in names}
        for model in models:
            own, draw = scores[model["model"]], Bootstrap(evaluation["n_resamples"], evaluation["seed"], ())
            for row in benchmark_values(model["model"], benchmark, items, own, manifest, draw):
                add(model, benchmark, row)
            if model["variant"] != BASE:
                draw = draw._replace(names=(model["model"], benchmark))
                for row in benchmark_gains(items, own, scores[model["base"]], manifest.get("macro", {}), draw):
                    add(model, benchmark, row)
        logger.info("%s is tabulated", benchmark)
    write_csv(table_path, COLUMNS, list(seed_rows(models, rows)))
