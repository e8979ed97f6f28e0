"""Turn scores into the tables of the productivity family: recalls and pairwise accuracy by number of atoms."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping

from crepebench.families import FOIL_TYPES, PRODUCTIVITY
from crepebench.measures import (
    BY_KIND_MEASURES,
    MEASURES,
    by_kind_rows,
    cell_seed,
    marks_of,
    measures_row,
    read_blind_recalls,
    read_queries,
    write_csv,
)

KEY_COLUMNS = ("protocol", "model", "foil_type", "complexity", "caption_source")
PRODUCTIVITY_COLUMNS = (*KEY_COLUMNS, *MEASURES)
BY_KIND_COLUMNS = ("protocol", "model", "foil_type", *BY_KIND_MEASURES)
ALL = "all"
"""Complexity or caption source of the rows that pool."""


def by_foil_type(queries: list[dict]) -> list[tuple[tuple[str, str], list[dict]]]:
    """Groups queries by protocol and foil_type, in the order of the tables."""
    groups: dict[tuple[str, str], list[dict]] = defaultdict(list)
    for row in queries:
        groups[row["protocol"], row["foil_type"]].append(row)
    order = FOIL_TYPES[PRODUCTIVITY].index
    return sorted(groups.items(), key=lambda item: (item[0][0], order(item[0][1])))


def productivity_cells(queries: list[dict]) -> Iterator[tuple[tuple[str, ...], list[dict]]]:
    """Yields protocol, foil_type, complexity and caption source of each cell, with its queries.

    Each complexity has a cell for every source of its captions, and one of all where there are several. The last cell
    of a foil_type pools all complexities.
    """
    for (protocol, foil_type), rows in by_foil_type(queries):
        by_complexity: dict[int, list[dict]] = defaultdict(list)
        for row in rows:
            by_complexity[row["complexity"]].append(row)
        for complexity, found in [*((str(n), by_complexity[n]) for n in sorted(by_complexity)), (ALL, rows)]:
            sources = sorted({row["caption_source"] for row in found})
            for source in sources:
                of_source = [row for row in found if row["caption_source"] == source]
                yield (protocol, foil_type, complexity, source), of_source
            if len(sources) > 1:
                yield (protocol, foil_type, complexity, ALL), found


def table_rows(queries: list[dict], blind: Mapping, model: str, definition: Mapping, config: Mapping) -> Iterator[dict]:
    """Yields the rows of productivity.csv of one model.

    Args:
        queries: scored queries of the model.
        blind: R@1 of the strongest blind scorer by protocol, foil_type and complexity ("" for all).
        model: name of the model.
        definition: its definition in the config.
        config: n_resamples and seed.
    """
    for (protocol, foil_type, complexity, source), rows in productivity_cells(queries):
        key = dict(zip(KEY_COLUMNS, (protocol, model, foil_type, complexity, source), strict=True))
        measures = measures_row(rows, config["n_resamples"], cell_seed(config["seed"], *key.values()))
        measures["blind_recall_at_1"] = blind[protocol, foil_type, "" if complexity == ALL else complexity]
        yield {**key, **measures, "marks": marks_of(measures, definition)}


def by_kind_table_rows(queries: list[dict], model: str, config: Mapping) -> Iterator[dict]:
    """Yields the rows of productivity_by_kind.csv of one model; all complexities are pooled."""
    for (protocol, foil_type), rows in by_foil_type(queries):
        key = {"protocol": protocol, "model": model, "foil_type": foil_type}
        for row in by_kind_rows(rows, config["n_resamples"], config["seed"], tuple(key.values())):
            yield {**key, **row}


def tabulate_productivity(
    sets_paths: list[str], scores_paths: list[str], blind_path: str, table_path: str, by_kind_path: str, cfg: str
) -> None:
    """Writes the two tables of the productivity family.

    Args:
        sets_paths: tables RETRIEVAL_SETS.
        scores_paths: table SCORES of each model, in the order of `models`.
        blind_path: audit of the family.
        table_path: productivity.csv.
        by_kind_path: productivity_by_kind.csv.
        cfg: JSON of `evaluation` (n_resamples, seed) and `models` (pairs of name and definition).
    """
    config, models = (json.loads(cfg)[block] for block in ("evaluation", "models"))
    blind = read_blind_recalls(blind_path, ("protocol", "foil_type", "complexity"))
    rows, kinds = [], []
    for (model, definition), path in zip(models, scores_paths, strict=True):
        queries = read_queries(sets_paths, path)
        rows += table_rows(queries, blind, model, definition, config)
        kinds += by_kind_table_rows(queries, model, config)
    write_csv(table_path, PRODUCTIVITY_COLUMNS, rows)
    write_csv(by_kind_path, BY_KIND_COLUMNS, kinds)
