"""Turn scores into the tables of the systematicity family: recalls per split, gaps, pairwise accuracy by foil kind.

For a gap both splits are resampled with the same images.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from crepebench.families import FOIL_TYPES, SYSTEMATICITY
from crepebench.measures import (
    BY_KIND_MEASURES,
    MEASURES,
    bootstrap_means,
    by_kind_rows,
    cell_seed,
    interval,
    marks_of,
    measures_row,
    query_hits,
    read_blind_recalls,
    read_queries,
    write_csv,
)
from crepebench.set_matching import match_cells
from crepebench.splits import ALL_SPLITS, SC, UC, UNDECIDED, read_corpus_id_of_splits, read_splits

KEY_COLUMNS = ("protocol", "training_corpus", "model", "foil_type")
SYSTEMATICITY_COLUMNS = (*KEY_COLUMNS, "split", *MEASURES, "corpus_id")
GAP_COLUMNS = (*KEY_COLUMNS, "seen", "unseen", "gap", "gap_low", "gap_high", "corpus_id")
GAP_SEEDS_COLUMNS = (
    *(*KEY_COLUMNS, "n_seeds", "seen_mean", "unseen_mean", "gap_mean", "gap_lowest", "gap_highest", "corpus_id"),
)
BY_KIND_COLUMNS = (*KEY_COLUMNS, "split", *BY_KIND_MEASURES, "corpus_id")


class Queries:
    """The scored queries of one model, joined with what the tables group by."""

    def __init__(self, sets_paths: list[str], scores_path: str):
        self.rows = read_queries(sets_paths, scores_path)

    def cells(self, split_of: dict[int, str]) -> Iterator[tuple[str, str, str, list[dict]]]:
        """Yields protocol, foil_type, split and rows of each cell that has any."""
        cells = defaultdict(list)
        for row in self.rows:
            cells[row["protocol"], row["foil_type"], split_of[row["region_id"]]].append(row)
        for protocol in sorted({key[0] for key in cells}):
            for foil_type in FOIL_TYPES[SYSTEMATICITY]:
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
        blind_path: audit of the family.
        table_path: systematicity.csv.
        gap_path: systematicity_gap.csv.
        gap_seeds_path: systematicity_gap_seeds.csv.
        by_kind_path: systematicity_by_kind.csv.
        cfg: JSON of `evaluation` (n_resamples, seed, cross_corpus, matched), `corpora` (names) and `models` (pairs of
            name and definition, as `crepebench.model_definitions.read_models` gives it).
    """
    config, corpora, models = (json.loads(cfg)[block] for block in ("evaluation", "corpora", "models"))
    tables: dict[str, list[dict]] = {"main": [], "gap": [], "kind": []}
    queries = [Queries(sets_paths, path) for path in scores_paths]
    blind = read_blind_recalls(blind_path, ("protocol", "corpus", "foil_type", "split"))
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
        measures = measures_row(rows, n_resamples, cell_seed(config["seed"], *cell))
        measures["blind_recall_at_1"] = blind[protocol, corpus, foil_type, split]
        before = [] if corpus in definition["training_data"] else ["cross_corpus"]
        after = [*(["undecided_left_out"] if has_undecided else []), *(["matched"] if config["matched"] else [])]
        marks = marks_of(measures, definition, before, after)
        tables["main"].append({**key, "split": split, **measures, "marks": marks, **of_corpus})
        by_kind = by_kind_rows(rows, n_resamples, config["seed"], cell)
        tables["kind"] += [{**key, "split": split, **row, **of_corpus} for row in by_kind]
        splits[protocol, foil_type][split] = rows
    for (protocol, foil_type), by_split in splits.items():
        if SC in by_split and UC in by_split:
            key = dict(zip(KEY_COLUMNS, (protocol, corpus, model, foil_type), strict=True))
            seed = cell_seed(config["seed"], *key.values())
            tables["gap"].append({**key, **gap_row(by_split[SC], by_split[UC], n_resamples, seed), **of_corpus})
