"""Write retrieval sets in the format of the files that CREPE's authors released, so that their scripts run on them.

    prod_hard_negatives/<type>/prod_vg_hard_negs_<type>_complexity_<n>.csv
    syst_hard_negatives/syst_vg_hard_negs_<seen|unseen>_compounds_in_<corpus>.csv

Foils are JSON lists, which `ast.literal_eval` reads, too. What the authors have no file for is written beside theirs,
in the same form, where their scripts do not look: sets of the type `overall`, and regions with unseen atoms.

A systematicity row has one caption for its three lists. In protocol `refined` the truth of `comp` and `combined` is
another than that of `atom`, and a region may have sets of some types only; an empty list would count as a query that
any model solves. So if any region lacks one of the three with the same caption, each type has a folder of its own,
`syst_hard_negatives_<type>`, with files of the same names, whose other lists are empty: the scripts are then run once
with each folder, for that type.
"""

import csv
import json
import logging
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from crepebench.accounting import KEPT, READ, write_accounting
from crepebench.exports import check_sizes, read_all_splits, read_sets
from crepebench.families import FOIL_TYPES, PRODUCTIVITY, SYSTEMATICITY
from crepebench.files import atomic_path
from crepebench.released_files import (
    COUNT_COLUMNS,
    FOILS_COLUMN,
    FOILS_COLUMNS,
    PRODUCTIVITY_COLUMNS,
    SYSTEMATICITY_COLUMNS,
)
from crepebench.schema import SUBGRAPHS, read_table
from crepebench.splits import SC, UA, UC

logger = logging.getLogger(__name__)

BOX = ("x", "y", "width", "height")
NAME_OF_SPLIT = {SC: "seen_compounds", UC: "unseen_compounds", UA: "unseen_atoms"}
"""How the names of files call a split; the authors have no files of unseen atoms."""
PRODUCTIVITY_PATH = "prod_hard_negatives/{foil_type}/prod_vg_hard_negs_{foil_type}_complexity_{n}.csv"
SYSTEMATICITY_PATH = "{folder}/syst_vg_hard_negs_{split}_in_{corpus}.csv"
SYSTEMATICITY_FOLDER = "syst_hard_negatives"
NO_COLUMN = "no_column"
"""Reason why a set is left out: it is of a type that the authors' files do not have."""
SUBGRAPH_COLUMNS = ("subgraph_id", "n_objects", "n_relations", "n_attributes", "n_components")


def foils_cell(row: Mapping) -> str:
    """Returns the foils of a set as a JSON list that is a Python literal, too: no character stands as a surrogate."""
    return json.dumps([foil["text"] for foil in row["foils"]], ensure_ascii=False)


def productivity_row(row: Mapping, counts: Mapping[int, Sequence[int]]) -> dict:
    """Returns the released row of a productivity set; boxes have a point, as in the released files.

    Args:
        row: row of table RETRIEVAL_SETS.
        counts: by subgraph_id, the values of COUNT_COLUMNS; they stay empty where the set is of no subgraph.
    """
    of_subgraph = counts.get(row["subgraph_id"], ("",) * len(COUNT_COLUMNS))
    return {
        **{name: row[name] for name in ("image_id", "caption")},
        "n": row["complexity"],
        **dict(zip(COUNT_COLUMNS, of_subgraph, strict=True)),
        FOILS_COLUMN: foils_cell(row),
        **{name: float(row[name]) for name in BOX},
    }


def systematicity_row(sets: Mapping[str, Mapping]) -> dict:
    """Returns the released row of a region; a list is empty where the region has no set of that type.

    Args:
        sets: rows of table RETRIEVAL_SETS by foil_type, all with one caption.
    """
    first = next(iter(sets.values()))
    lists = {column: foils_cell(sets[name]) if name in sets else "[]" for name, column in FOILS_COLUMNS.items()}
    return {name: first[name] for name in ("region_id", "caption", *BOX, "image_id")} | lists


def group_regions(sets: Sequence[Mapping]) -> dict[str, list[dict[str, Mapping]]]:
    """Returns by folder what is to be a row of the systematicity files: the sets of a region by foil_type.

    Args:
        sets: rows of table RETRIEVAL_SETS of the family.
    """
    regions: dict[int, dict[str, Mapping]] = defaultdict(dict)
    for row in sets:
        regions[row["region_id"]][row["foil_type"]] = row
    n_types = len(FOILS_COLUMNS)
    one_truth = (
        len(found) == n_types and len({row["caption"] for row in found.values()}) == 1 for found in regions.values()
    )
    if all(one_truth):
        return {SYSTEMATICITY_FOLDER: [regions[region_id] for region_id in sorted(regions)]}
    return {
        f"{SYSTEMATICITY_FOLDER}_{name}": [{name: found[name]} for _, found in sorted(regions.items()) if name in found]
        for name in FOILS_COLUMNS
    }


def write_rows(path: Path, columns: Sequence[str], rows: Iterator[dict]) -> None:
    """Writes a CSV file."""
    with atomic_path(str(path)) as partial, open(partial, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def write_productivity(sets: Sequence[Mapping], counts: Mapping[int, Sequence[int]], folder: Path) -> Counter:
    """Writes the productivity files, and returns the number of rows by foil_type."""
    groups: dict[tuple[str, int], list[Mapping]] = defaultdict(list)
    for row in sets:
        groups[row["foil_type"], row["complexity"]].append(row)
    for (foil_type, n), rows in groups.items():
        path = folder / PRODUCTIVITY_PATH.format(foil_type=foil_type, n=n)
        check_sizes(rows, str(path))
        write_rows(path, PRODUCTIVITY_COLUMNS, (productivity_row(row, counts) for row in rows))
    return Counter(row["foil_type"] for row in sets)


def write_systematicity(
    sets: Sequence[Mapping], split_of: Mapping[int, str], corpus: str, folder: Path
) -> dict[str, Counter]:
    """Writes the systematicity files of one corpus.

    Args:
        sets: rows of table RETRIEVAL_SETS.
        split_of: split of each region by the corpus.
        corpus: how the names of the files are to call it.
        folder: folder of the export.

    Returns:
        Counts of the sets by foil_type; those of regions that are in no split are left out, and those of types for
        which the released files have no column.
    """
    counts = {name: Counter({READ: 0, KEPT: 0}) for name in FOIL_TYPES[SYSTEMATICITY]}
    for row in sets:
        if row["foil_type"] not in FOILS_COLUMNS:
            counts[row["foil_type"]].update((READ, NO_COLUMN))
    for name, regions in group_regions([row for row in sets if row["foil_type"] in FOILS_COLUMNS]).items():
        by_split: dict[str, list] = {SC: [], UC: []}
        for found in regions:
            region_id = next(iter(found.values()))["region_id"]
            split = split_of[region_id]
            for foil_type in found:
                counts[foil_type].update((READ, KEPT if split in NAME_OF_SPLIT else split))
            if split in NAME_OF_SPLIT:
                by_split.setdefault(split, []).append(found)
        for split, rows in by_split.items():
            path = folder / SYSTEMATICITY_PATH.format(folder=name, split=NAME_OF_SPLIT[split], corpus=corpus)
            for foil_type in FOILS_COLUMNS:
                check_sizes([found[foil_type] for found in rows if foil_type in found], str(path))
            write_rows(path, SYSTEMATICITY_COLUMNS, map(systematicity_row, rows))
    return counts


def read_counts(paths: Sequence[str]) -> dict[int, tuple[int, ...]]:
    """Reads the numbers of objects, relations, attributes and components of each subgraph."""
    rows = (row for path in paths for row in read_table(path, SUBGRAPHS, list(SUBGRAPH_COLUMNS)).to_pylist())
    return {row["subgraph_id"]: tuple(row[name] for name in SUBGRAPH_COLUMNS[1:]) for row in rows}


def write_crepe_csv(
    sets_paths: Mapping[str, Sequence[str]],
    subgraphs_paths: Sequence[str],
    splits_paths: Sequence[str],
    folder: str,
    accounting_path: str,
    cfg: str,
) -> None:
    """Writes all sets in the released format.

    Args:
        sets_paths: tables RETRIEVAL_SETS by family.
        subgraphs_paths: table SUBGRAPHS; none where the sets are of none.
        splits_paths: table SPLITS of each corpus, in the order of `corpora`.
        folder: folder to write.
        accounting_path: counts to write.
        cfg: JSON of `corpora`: pairs of the name in the config and the name in the names of files.
    """
    names = dict(json.loads(cfg)["corpora"])
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    units: dict[str, Mapping[str, int]] = {}
    found = read_sets(sets_paths[PRODUCTIVITY], FOIL_TYPES[PRODUCTIVITY]).to_dicts()
    for foil_type, count in write_productivity(found, read_counts(subgraphs_paths), target).items():
        units[f"{PRODUCTIVITY}_{foil_type}_set"] = {READ: count, KEPT: count}
    found = read_sets(sets_paths[SYSTEMATICITY], FOIL_TYPES[SYSTEMATICITY]).to_dicts()
    for corpus, split_of in read_all_splits(splits_paths, list(names)).items():
        for foil_type, counts in write_systematicity(found, split_of, names[corpus], target).items():
            units[f"{corpus}_{foil_type}_set"] = counts
    write_accounting(accounting_path, "export/crepe_csv", units)
    logger.info("%d files", len(list(target.rglob("*.csv"))))
