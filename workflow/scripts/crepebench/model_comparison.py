"""Compare two models set by set: what the other gains and loses against the one, by cell and by kind of foil.

Only sets that both models scored are compared, each with itself. A set is right if its truth beats all of its foils, or
all of one kind; a tie is not right. Differences are `other` less `one`: of a model before and after a change, `one` is
before.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from crepebench.families import FOIL_TYPES, PRODUCTIVITY, SYSTEMATICITY
from crepebench.measures import bootstrap_means, cell_seed, interval, write_csv
from crepebench.schema import MODEL_COMPARISON, RETRIEVAL_SETS, SCORES, iterate_rows, write_table
from crepebench.splits import ALL_SPLITS, read_corpus_id_of_splits, read_splits

ALL = "all"
"""Corpus, split, complexity or foil kind of the rows that pool."""
KEY_COLUMNS = ("protocol", "family", "one", "other", "training_corpus", "split", "complexity", "foil_type", "foil_kind")
COLUMNS = (
    *KEY_COLUMNS,
    "n_sets",
    "n_images",
    "only_one",
    "only_other",
    "one_recall_at_1",
    "other_recall_at_1",
    "gained",
    "lost",
    "net",
    "difference",
    "difference_low",
    "difference_high",
    "mcnemar_p",
    "one_pairwise",
    "other_pairwise",
    "pairwise_difference",
    "pairwise_difference_low",
    "pairwise_difference_high",
    "corpus_id",
)
GAINED, LOST = "gained", "lost"
SET_COLUMNS = ["set_id", "protocol", "foil_type", "image_id", "region_id", "complexity", "foils"]
Cells = Iterator[tuple[dict[str, str], list[dict]]]
"""Names of each cell, and its sets."""


def read_scores(path: str) -> dict[tuple[str, str], dict | None]:
    """Reads what a model made of each set, by set_id and foil_type; None where it was not scored."""
    rows = iterate_rows(path, SCORES)
    return {(row["set_id"], row["foil_type"]): None if row["reason"] else row for row in rows}


def read_sets(sets_paths: Sequence[str], one_path: str, other_path: str) -> list[dict]:
    """Reads the sets that one of two models scored at least.

    Args:
        sets_paths: tables RETRIEVAL_SETS of a family.
        one_path: table SCORES of a model and the family.
        other_path: likewise.

    Returns:
        SET_COLUMNS of each set, its `kinds` (of its foils) in place of the foils, and its rows of table SCORES as `one`
        and `other`, None where there is no score.

    Raises:
        ValueError: a table of scores lacks a set; names file and set.
    """
    scores = {"one": read_scores(one_path), "other": read_scores(other_path)}
    paths, sets = {"one": one_path, "other": other_path}, []
    for path in sets_paths:
        for row in iterate_rows(path, RETRIEVAL_SETS, SET_COLUMNS):
            key = row["set_id"], row["foil_type"]
            for side, found in scores.items():
                if key not in found:
                    raise ValueError(f"{paths[side]} does not speak of set {key[0]} ({key[1]}) of {path}")
            row["kinds"] = [foil["kind"] for foil in row.pop("foils")]
            row |= {side: found[key] for side, found in scores.items()}
            if row["one"] or row["other"]:
                sets.append(row)
    return sets


def compare(sets: list[dict], kind: str, n_resamples: int, seed: list[int]) -> dict:
    """Returns the measures of a cell: of all foils, or of one kind.

    Args:
        sets: as `read_sets` gives them; with a foil of the kind, each.
        kind: kind of the foils that count, or ALL.
        n_resamples: bootstrap resamples; each takes both models' results on the same images.
        seed: seed of the bootstrap.
    """
    both = [row for row in sets if row["one"] and row["other"]]
    counts = {
        "n_sets": len(both),
        "n_images": len({row["image_id"] for row in both}),
        "only_one": sum(row["other"] is None for row in sets),
        "only_other": sum(row["one"] is None for row in sets),
    }
    if not both:
        return {**dict.fromkeys(COLUMNS[len(KEY_COLUMNS) :], ""), **counts}
    image_ids = np.array([row["image_id"] for row in both])
    wins = {side: [_wins(row, side, kind) for row in both] for side in ("one", "other")}
    right = {side: np.array([all(win == 1 for win in found) for found in wins[side]]) for side in wins}
    pairs = np.array([len(found) for found in wins["one"]])
    won = {side: np.array([sum(found) for found in wins[side]]) for side in wins}
    gained, lost = int((right["other"] & ~right["one"]).sum()), int((right["one"] & ~right["other"]).sum())
    change = right["other"].astype(np.float64) - right["one"]
    # each set stands for as many pairs as it has foils of the kind
    of_pairs = np.repeat((won["other"] - won["one"]) / pairs, pairs)
    groups = [(image_ids, change), (np.repeat(image_ids, pairs), of_pairs)]
    (low, high), (pairs_low, pairs_high) = map(interval, 100.0 * bootstrap_means(groups, n_resamples, seed))
    return {
        **counts,
        **{f"{side}_recall_at_1": 100.0 * float(right[side].mean()) for side in right},
        GAINED: gained,
        LOST: lost,
        "net": gained - lost,
        "difference": 100.0 * float(change.mean()),
        "difference_low": low,
        "difference_high": high,
        "mcnemar_p": f"{mcnemar(gained, lost):.4f}",
        **{f"{side}_pairwise": 100.0 * float(won[side].sum() / pairs.sum()) for side in won},
        "pairwise_difference": 100.0 * float((won["other"] - won["one"]).sum() / pairs.sum()),
        "pairwise_difference_low": pairs_low,
        "pairwise_difference_high": pairs_high,
    }


def _wins(row: Mapping, side: str, kind: str) -> list[float]:
    """Returns what a model made of the truth against each foil of a kind."""
    wins = row[side]["wins"]
    return [win for win, found in zip(wins, row["kinds"], strict=True) if kind in (ALL, found)]


def mcnemar(gained: int, lost: int) -> float:
    """Returns McNemar's exact p, two-sided: of as uneven a split of the changed sets, were both ways equally likely.

    It takes sets as independent, which those of one image are not: it is too small where images have many sets.
    """
    from scipy.stats import binomtest

    return float(binomtest(gained, gained + lost).pvalue) if gained + lost else 1.0


def systematicity_cells(sets: list[dict], splits: Sequence[tuple[str, str, Mapping[int, str]]]) -> Cells:
    """Yields all sets, and those of each split of each corpus (its name, id, and the split of each region)."""
    yield {"training_corpus": ALL, "split": ALL, "complexity": "", "corpus_id": ""}, sets
    for corpus, corpus_id, split_of in splits:
        for split in ALL_SPLITS:
            names = {"training_corpus": corpus, "split": split, "complexity": "", "corpus_id": corpus_id}
            yield names, [row for row in sets if split_of[row["region_id"]] == split]


def productivity_cells(sets: list[dict]) -> Cells:
    """Yields all sets, and those of each number of atoms."""
    names = {"training_corpus": "", "split": "", "corpus_id": ""}
    yield {**names, "complexity": ALL}, sets
    for complexity in sorted({row["complexity"] for row in sets}):
        yield {**names, "complexity": str(complexity)}, [row for row in sets if row["complexity"] == complexity]


def comparison_rows(cells: Cells, family: str, n_resamples: int, seed: int) -> Iterator[dict]:
    """Yields the rows of a family, without the names of the models.

    Seeds of the bootstrap do not depend on the models, so that to change their places only turns the signs round.
    """
    for names, of_cell in cells:
        groups = defaultdict(list)
        for row in of_cell:
            groups[row["protocol"], row["foil_type"]].append(row)
        for protocol, foil_type in sorted(groups, key=lambda key: (key[0], FOIL_TYPES[family].index(key[1]))):
            sets = groups[protocol, foil_type]
            kinds = sorted({kind for row in sets for kind in row["kinds"]})
            for kind in [ALL, *kinds]:
                found = [row for row in sets if kind == ALL or kind in row["kinds"]]
                key = {"family": family, **names, "protocol": protocol, "foil_type": foil_type, "foil_kind": kind}
                cell = cell_seed(seed, *(key[column] for column in KEY_COLUMNS if column in key))
                yield {**compare(found, kind, n_resamples, cell), **key}


def changed_sets(sets: list[dict], family: str) -> Iterator[dict]:
    """Yields the rows of table MODEL_COMPARISON of a family: the sets gained and lost, in the order of the sets."""
    for row in sets:
        if not (row["one"] and row["other"]):
            continue
        one, other = (row[side]["rank"] <= 1 for side in ("one", "other"))
        if one != other:
            ranks = {f"{side}_{name}": row[side][name] for side in ("one", "other") for name in ("rank", "margin")}
            names = {name: row[name] for name in ("protocol", "set_id", "foil_type", "image_id", "complexity")}
            yield {"family": family, **names, "change": GAINED if other else LOST, **ranks}


def tabulate_model_comparison(
    sets_paths: Mapping[str, list[str]],
    one_paths: Mapping[str, str],
    other_paths: Mapping[str, str],
    splits_paths: list[str],
    table_path: str,
    changes_path: str,
    one: str,
    other: str,
    cfg: str,
) -> None:
    """Writes the comparison of two models, and the list of the sets that changed.

    Args:
        sets_paths: tables RETRIEVAL_SETS of each family.
        one_paths: table SCORES of the one model for each family.
        other_paths: likewise.
        splits_paths: table SPLITS of each corpus, in the order of `corpora`.
        table_path: table to write.
        changes_path: table MODEL_COMPARISON to write.
        one: name of the one model.
        other: name of the other.
        cfg: JSON of `evaluation` (n_resamples, seed) and `corpora` (names).
    """
    config, corpora = (json.loads(cfg)[block] for block in ("evaluation", "corpora"))
    splits = [
        (corpus, read_corpus_id_of_splits(path), read_splits(path))
        for corpus, path in zip(corpora, splits_paths, strict=True)
    ]
    cells_of: dict[str, Callable[[list[dict]], Cells]] = {
        SYSTEMATICITY: lambda sets: systematicity_cells(sets, splits),
        PRODUCTIVITY: productivity_cells,
    }
    rows, changes = [], []
    for family, cells in cells_of.items():
        sets = read_sets(sets_paths[family], one_paths[family], other_paths[family])
        rows += comparison_rows(cells(sets), family, config["n_resamples"], config["seed"])
        changes += changed_sets(sets, family)
    write_csv(table_path, COLUMNS, [{**row, "one": one, "other": other} for row in rows])
    write_table(changes_path, MODEL_COMPARISON, changes)
