"""Write raw_retrieval.csv: retrieval without constructed foils, by split of each corpus and by number of atoms."""

import json
import logging
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from crepebench.families import ATOM, PRODUCTIVITY, SYSTEMATICITY
from crepebench.feature_index import CROP, crop_id
from crepebench.feature_reader import ABSENT, Features, read_features
from crepebench.measures import cell_seed, marks_of, write_csv
from crepebench.raw_retrieval import (
    DIRECTIONS,
    KnownCaptions,
    Pair,
    build_fold,
    deal_folds,
    is_simple,
    known_captions,
    measures_of,
    search_fold,
)
from crepebench.schema import RETRIEVAL_SETS, iterate_rows
from crepebench.set_matching import match_cells
from crepebench.splits import ALL_SPLITS, UNDECIDED, read_corpus_id_of_splits, read_splits

logger = logging.getLogger(__name__)

KEY_COLUMNS = ("protocol", "family", "training_corpus", "model", "split", "complexity", "direction")
MEASURES = (
    "n_queries",
    "pool_size",
    "n_folds",
    "recall_at_1",
    "recall_at_5",
    "recall_at_10",
    "mean_rank",
    "median_rank",
    "recall_at_1_low",
    "recall_at_1_high",
    "random_recall_at_1",
    "marks",
)
COLUMNS = (*KEY_COLUMNS, *MEASURES, "corpus_id")
SET_COLUMNS = ["set_id", "region_id", "protocol", "foil_type", "image_id", "x", "y", "width", "height", "complexity"]
SMALL_POOL, OWN_SCORE, SIMPLE_CAPTIONS = "small_pool", "own_score", "simple_captions"
"""Marks: fewer pairs than a pool is to hold; the model does not score by the cosine; captions true of many images."""


class Cell(NamedTuple):
    """What is searched together: names of the cell as in the table, its rows of table RETRIEVAL_SETS, and its marks."""

    names: dict[str, str]
    rows: list[dict]
    before: Sequence[str] = ()
    after: Sequence[str] = ()


def read_pairs(sets_paths: Sequence[str], columns: Sequence[str] = ()) -> list[dict]:
    """Reads the sets of foil_type atom, one for each crop and true caption.

    Args:
        sets_paths: tables RETRIEVAL_SETS of a family.
        columns: columns to read beside SET_COLUMNS and the caption.
    """
    columns = [*SET_COLUMNS, "caption", *columns]
    rows = (row for path in sets_paths for row in iterate_rows(path, RETRIEVAL_SETS, columns))
    return [row for row in rows if row["foil_type"] == ATOM]


def pair_of(row: Mapping) -> Pair:
    """Returns the pair of a row of table RETRIEVAL_SETS."""
    box = (row["x"], row["y"], row["width"], row["height"])
    return Pair(row["set_id"], row["image_id"], box, row["caption"], row["complexity"])


def systematicity_cells(
    rows: list[dict], split_of: Mapping[int, str], names: Mapping, definition: Mapping, config: Mapping
) -> Iterator[Cell]:
    """Yields the cells of one corpus and model: its splits.

    Args:
        rows: sets of foil_type atom, with foils where `matched`.
        split_of: split of each region.
        names: training_corpus and corpus_id, for the names of the cells.
        definition: the model's definition in the config.
        config: `matched` and `seed`.
    """
    groups = defaultdict(list)
    for row in rows:
        if split_of[row["region_id"]] in ALL_SPLITS:
            groups[row["protocol"], ATOM, split_of[row["region_id"]]].append(row)
    order = sorted(groups, key=lambda key: (key[0], ALL_SPLITS.index(key[2])))
    cells = ((*key, groups[key]) for key in order)
    before = [] if names["training_corpus"] in definition["training_data"] else ["cross_corpus"]
    after = ["undecided_left_out"] if UNDECIDED in split_of.values() else []
    if config["matched"]:
        cells = match_cells(cells, config["seed"])
        after.append("matched")
    for protocol, _, split, found in cells:
        of_cell = {"family": SYSTEMATICITY, "protocol": protocol, "split": split, "complexity": ""}
        yield Cell({**names, **of_cell}, found, before, after)


def productivity_cells(rows: list[dict]) -> Iterator[Cell]:
    """Yields the cells of one model: its numbers of atoms."""
    groups = defaultdict(list)
    for row in rows:
        groups[row["protocol"], row["complexity"]].append(row)
    names = {"family": PRODUCTIVITY, "training_corpus": "", "corpus_id": "", "split": ""}
    for protocol, complexity in sorted(groups):
        yield Cell({**names, "protocol": protocol, "complexity": str(complexity)}, groups[protocol, complexity])


def cell_rows(
    cell: Cell, features: Features, known: KnownCaptions, model: str, definition: Mapping, pool: int, config: Mapping
) -> Iterator[dict]:
    """Yields the two rows of a cell, one for each direction; none where no crop of it has a feature.

    Args:
        cell: names, rows and marks.
        features: of the family's texts and crops.
        known: all true captions of the family.
        model: name of the model.
        definition: its definition in the config.
        pool: pairs that a fold is to hold.
        config: n_resamples and seed.
    """
    pairs = [pair_of(row) for row in cell.rows]
    rows_of_crops = features.rows_of(CROP, [crop_id(pair.image_id, pair.box) for pair in pairs])
    pairs = [pair for pair, row in zip(pairs, rows_of_crops, strict=True) if row != ABSENT]
    if not pairs:
        return
    folds = deal_folds(pairs, pool, config["seed"])
    sizes = {"pool_size": len(folds[0]), "n_folds": len(folds)}
    names = {**cell.names, "model": model}
    marks = [*([SMALL_POOL] if len(pairs) < pool else []), *([SIMPLE_CAPTIONS] if is_simple(pairs) else [])]
    if features.own_score:
        empty = {**dict.fromkeys(MEASURES, ""), **sizes, "marks": " ".join([*cell.before, OWN_SCORE])}
        yield from ({**names, "direction": direction, **empty} for direction in DIRECTIONS)
        return
    found = defaultdict(list)
    for fold in folds:
        for direction, of_fold in search_fold(build_fold(fold, known), features):
            found[direction].append(of_fold)
    for direction in DIRECTIONS:
        key = {**names, "direction": direction}
        seed = cell_seed(config["seed"], *(key[column] for column in KEY_COLUMNS))
        measures = measures_of(found[direction], config["n_resamples"], seed)
        shown = marks_of(measures, definition, cell.before, [*cell.after, *marks])
        yield {**key, **measures, **sizes, "marks": shown}


def tabulate_raw_retrieval(
    systematicity_paths: list[str],
    productivity_paths: list[str],
    systematicity_index_paths: list[str],
    productivity_index_paths: list[str],
    splits_paths: list[str],
    table_path: str,
    cfg: str,
) -> None:
    """Writes raw_retrieval.csv. The features of one model and family are in memory at a time.

    Args:
        systematicity_paths: tables RETRIEVAL_SETS.
        productivity_paths: likewise.
        systematicity_index_paths: table FEATURE_INDEX of each model of the family, in the order of `models`.
        productivity_index_paths: likewise.
        splits_paths: table SPLITS of each corpus, in the order of `corpora`.
        table_path: table to write.
        cfg: JSON of `evaluation` (n_resamples, seed, cross_corpus, matched, and raw_pool: N of each family), `corpora`
            (names) and `models` (of each family, pairs of name and definition).
    """
    config, corpora, models = (json.loads(cfg)[block] for block in ("evaluation", "corpora", "models"))
    regions = read_pairs(systematicity_paths, ["foils"] if config["matched"] else [])
    subgraphs = read_pairs(productivity_paths)
    splits = [(read_corpus_id_of_splits(path), read_splits(path)) for path in splits_paths]

    def cells_of_regions(definition: Mapping) -> Iterator[Cell]:
        for corpus, (corpus_id, split_of) in zip(corpora, splits, strict=True):
            if corpus in definition["training_data"] or config["cross_corpus"]:
                names = {"training_corpus": corpus, "corpus_id": corpus_id}
                yield from systematicity_cells(regions, split_of, names, definition, config)

    def cells_of_subgraphs(_: Mapping) -> Iterator[Cell]:
        return productivity_cells(subgraphs)

    table = _family_rows(
        SYSTEMATICITY, regions, cells_of_regions, systematicity_index_paths, models[SYSTEMATICITY], config
    )
    table.sort(key=lambda row: corpora.index(row["training_corpus"]))
    table += _family_rows(
        PRODUCTIVITY, subgraphs, cells_of_subgraphs, productivity_index_paths, models[PRODUCTIVITY], config
    )
    write_csv(table_path, COLUMNS, table)


def _family_rows(
    family: str,
    sets: list[dict],
    cells_of: Callable[[Mapping], Iterator[Cell]],
    index_paths: list[str],
    models: list[tuple[str, dict]],
    config: Mapping,
) -> list[dict]:
    """Returns the rows of a family, model by model.

    Args:
        family: name of the family.
        sets: its sets of foil_type atom.
        cells_of: gives the cells of a model, by its definition in the config.
        index_paths: table FEATURE_INDEX of each model.
        models: names and definitions.
        config: n_resamples, seed and raw_pool.
    """
    known, table = known_captions(map(pair_of, sets)), []
    for (model, definition), path in zip(models, index_paths, strict=True):
        features = read_features(path)
        if features.own_score:
            logger.warning("%s does not score by the cosine: its rows of %s are empty", model, family)
        for cell in cells_of(definition):
            table += cell_rows(cell, features, known, model, definition, config["raw_pool"][family], config)
        logger.info("%s: %s is searched", family, model)
    return table
