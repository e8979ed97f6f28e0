"""Turn the scores of released sets into released_scores.csv: R@1 of all sets, and of those without artefacts."""

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from crepebench.families import FOIL_TYPES, PRODUCTIVITY, SYSTEMATICITY
from crepebench.measures import bootstrap_means, cell_seed, interval, write_csv
from crepebench.released_flags import ARTEFACTS, FLAGS
from crepebench.schema import RELEASED_FLAGS, RETRIEVAL_SETS, SCORES, read_table
from crepebench.scores import EQUAL_AFTER_TRUNCATION, EQUAL_TOKENS
from crepebench.splits import ALL_SPLITS, read_splits

KEY_COLUMNS = ("family", "training_corpus", "split", "model", "foil_type", "complexity")
RECALL_COLUMNS = ("n_queries", "recall_at_1", "recall_at_1_low", "recall_at_1_high")
COUNT_COLUMNS = tuple(f"n_{flag}" for flag in FLAGS)
COLUMNS = (
    *(*KEY_COLUMNS, *RECALL_COLUMNS),
    *(f"{name}_without_artefacts" for name in RECALL_COLUMNS),
    *("random_recall_at_1", *COUNT_COLUMNS),
)
EQUAL_REASONS = (EQUAL_AFTER_TRUNCATION, EQUAL_TOKENS)
"""Why a set is not scored that counts as no hit: the model reads its truth and a foil as one."""
ALL = "all"
"""Complexity of the rows that pool."""
SET_COLUMNS = ["set_id", "foil_type", "image_id", "region_id", "complexity", "foils"]

Flags = Mapping[tuple[str, str], Collection[str]]
"""Flags by set_id and foil_type."""


def read_flags(path: str) -> dict[tuple[str, str], set[str]]:
    """Reads the flags of each set that has any, by set_id and foil_type."""
    flags: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in read_table(path, RELEASED_FLAGS).to_pylist():
        flags[row["set_id"], row["foil_type"]].add(row["flag"])
    return dict(flags)


def read_hits(sets_paths: Sequence[str], scores_path: str, flags: Flags) -> list[dict]:
    """Reads the sets that a model can be judged by, with `hit` and `flags`.

    A set whose truth and a foil are one text to the model has a tie for a truth, and so no hit at rank 1; it counts
    here, whether it was scored or set aside for that.

    Args:
        sets_paths: tables RETRIEVAL_SETS of a family.
        scores_path: table SCORES of the model and family.
        flags: flags of the sets.
    """
    scores = {(row["set_id"], row["foil_type"]): row for row in read_table(scores_path, SCORES).to_pylist()}
    rows = []
    for path in sets_paths:
        for row in read_table(path, RETRIEVAL_SETS, SET_COLUMNS).to_pylist():
            key = row["set_id"], row["foil_type"]
            reason = scores[key]["reason"]
            if not reason or reason in EQUAL_REASONS:
                hit = float(not reason and scores[key]["rank"] <= 1)
                kept = {name: row[name] for name in ("image_id", "region_id", "foil_type", "complexity")}
                rows.append({**kept, "hit": hit, "flags": flags.get(key, ()), "n_foils": len(row["foils"])})
    return rows


def recalls(rows: Sequence[dict], n_resamples: int, seed: list[int], suffix: str = "") -> dict:
    """Returns R@1 of some sets with its interval; None where there are none.

    Args:
        rows: what `read_hits` returns.
        n_resamples: resamples of the images.
        seed: seed of the resamples.
        suffix: of the names of columns.
    """
    values: tuple = (len(rows), None, None, None)
    if rows:
        hits = np.array([row["hit"] for row in rows])
        group = (np.array([row["image_id"] for row in rows]), hits)
        low, high = interval(100.0 * bootstrap_means([group], n_resamples, seed)[0])
        values = (len(rows), 100.0 * float(hits.mean()), low, high)
    return {f"{name}{suffix}": value for name, value in zip(RECALL_COLUMNS, values, strict=True)}


def cell_row(key: Sequence[str], rows: Sequence[dict], n_resamples: int, seed: int) -> dict:
    """Returns the row of one cell.

    Args:
        key: values of `KEY_COLUMNS`.
        rows: its sets.
        n_resamples: resamples of the images.
        seed: seed of the bootstrap.
    """
    clean = [row for row in rows if not set(row["flags"]) & set(ARTEFACTS)]
    counts = Counter(flag for row in rows for flag in row["flags"])
    of_cell = cell_seed(seed, *map(str, key))
    return {
        **dict(zip(KEY_COLUMNS, key, strict=True)),
        **recalls(rows, n_resamples, of_cell),
        **recalls(clean, n_resamples, of_cell, "_without_artefacts"),
        "random_recall_at_1": 100.0 / (1 + rows[0]["n_foils"]),
        **{f"n_{flag}": counts[flag] for flag in FLAGS},
    }


def productivity_cells(rows: Sequence[dict]) -> Iterator[tuple[str, str, list[dict]]]:
    """Yields foil_type, complexity and sets of each cell; the last one of a foil_type pools all."""
    for foil_type in FOIL_TYPES[PRODUCTIVITY]:
        found = [row for row in rows if row["foil_type"] == foil_type]
        for complexity in sorted({row["complexity"] for row in found}):
            yield foil_type, str(complexity), [row for row in found if row["complexity"] == complexity]
        if found:
            yield foil_type, ALL, found


def systematicity_cells(rows: Sequence[dict], split_of: Mapping[int, str]) -> Iterator[tuple[str, str, list[dict]]]:
    """Yields foil_type, split and sets of each cell of one corpus."""
    cells = defaultdict(list)
    for row in rows:
        cells[row["foil_type"], split_of[row["region_id"]]].append(row)
    for foil_type in FOIL_TYPES[SYSTEMATICITY]:
        for split in ALL_SPLITS:
            if (foil_type, split) in cells:
                yield foil_type, split, cells[foil_type, split]


def tabulate_released(
    sets_paths: Mapping[str, Sequence[str]],
    scores_paths: Mapping[str, Sequence[str]],
    splits_paths: Sequence[str],
    flags_path: str,
    table_path: str,
    cfg: str,
) -> None:
    """Writes released_scores.csv.

    Args:
        sets_paths: tables RETRIEVAL_SETS by family.
        scores_paths: table SCORES of each model, in the order of its family's `models`, by family.
        splits_paths: table SPLITS of each corpus, in the order of `corpora`.
        flags_path: table RELEASED_FLAGS.
        table_path: CSV to write.
        cfg: JSON of `evaluation` (n_resamples, seed, cross_corpus), `corpora` (names) and by family `models` (pairs of
            name and definition).
    """
    config, corpora, models = (json.loads(cfg)[block] for block in ("evaluation", "corpora", "models"))
    flags, rows = read_flags(flags_path), []
    measured = config["n_resamples"], config["seed"]
    splits = {corpus: read_splits(path) for corpus, path in zip(corpora, splits_paths, strict=True)}
    for (model, definition), path in zip(models[SYSTEMATICITY], scores_paths[SYSTEMATICITY], strict=True):
        hits = read_hits(sets_paths[SYSTEMATICITY], path, flags)
        for corpus, split_of in splits.items():
            if corpus in definition["training_data"] or config["cross_corpus"]:
                for foil_type, split, found in systematicity_cells(hits, split_of):
                    rows.append(cell_row((SYSTEMATICITY, corpus, split, model, foil_type, ""), found, *measured))
    for (model, _), path in zip(models[PRODUCTIVITY], scores_paths[PRODUCTIVITY], strict=True):
        for foil_type, complexity, found in productivity_cells(read_hits(sets_paths[PRODUCTIVITY], path, flags)):
            rows.append(cell_row((PRODUCTIVITY, "", "", model, foil_type, complexity), found, *measured))
    write_csv(table_path, COLUMNS, rows)
