"""Write retrieval sets as a folder of Parquet files with a card, as the Hugging Face library `datasets` loads it.

    README.md
    data/<family>_<foil_type>/test-00000-of-00001.parquet

Each foil_type of a family is a configuration of its own, since sets of one size belong together.
"""

import json
import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl
import pyarrow as pa

from crepebench.dataset_card import Part, card
from crepebench.exports import check_sizes, read_all_splits, read_sets
from crepebench.families import FOIL_TYPES, SYSTEMATICITY
from crepebench.files import atomic_path
from crepebench.schema import RETRIEVAL_SETS, made_by, write_table

logger = logging.getLogger(__name__)

ROWS_PER_FILE = 50_000


def export_schema(corpora: Sequence[str]) -> pa.Schema:
    """Returns the columns of the exported tables: those of RETRIEVAL_SETS, and the split by each corpus."""
    columns = [*RETRIEVAL_SETS, *(pa.field(f"split_{corpus}", pa.string()) for corpus in corpora)]
    return pa.schema(columns, metadata=made_by("write_datasets_folder"))


def with_splits(sets: pl.DataFrame, splits: Mapping[str, Mapping[int, str]]) -> Iterator[dict]:
    """Yields sets with the split of their region by each corpus."""
    for row in sets.iter_rows(named=True):
        yield row | {f"split_{corpus}": split_of[row["region_id"]] for corpus, split_of in splits.items()}


def count_cells(sets: pl.DataFrame, splits: Mapping[str, Mapping[int, str]]) -> dict[str, int]:
    """Returns the number of sets by corpus and split, or where there is no corpus by number of atoms."""
    if not splits:
        counts = Counter(sets["complexity"].to_list())
        return {f"{complexity} atoms": counts[complexity] for complexity in sorted(counts)}
    region_ids = sets["region_id"].to_list()
    cells = {}
    for corpus, split_of in splits.items():
        counts = Counter(split_of[region_id] for region_id in region_ids)
        cells |= {f"{corpus}, {split}": counts[split] for split in sorted(counts)}
    return cells


def write_part(folder: Path, name: str, sets: pl.DataFrame, splits: Mapping[str, Mapping[int, str]]) -> Part:
    """Writes the files of one configuration, and returns what the card says of it.

    Args:
        folder: folder of the data set.
        name: name of the configuration.
        sets: its rows of table RETRIEVAL_SETS.
        splits: split of each region by corpus; none for productivity.
    """
    check_sizes(sets.to_dicts(), name)
    n_files = -(-len(sets) // ROWS_PER_FILE)
    for i in range(n_files):
        rows = with_splits(sets[i * ROWS_PER_FILE : (i + 1) * ROWS_PER_FILE], splits)
        path = folder / "data" / name / f"test-{i:05d}-of-{n_files:05d}.parquet"
        write_table(str(path), export_schema(list(splits)), rows)
    n_foils = len(sets["foils"][0])
    return Part(
        *(name, f"data/{name}/*.parquet", len(sets), sets["image_id"].n_unique(), n_foils), count_cells(sets, splits)
    )


def write_datasets_folder(
    sets_paths: Mapping[str, Sequence[str]], splits_paths: Sequence[str], folder: str, cfg: str
) -> None:
    """Writes the sets of both families.

    Args:
        sets_paths: tables RETRIEVAL_SETS by family.
        splits_paths: table SPLITS of each corpus, in the order of `corpora`.
        folder: folder to write.
        cfg: JSON of `corpora` (pairs, of which the first is the name in the config), `protocol`, `data`, `source` (of
            Visual Genome), `captioner`, and what else the card is to say of how the sets were made.
    """
    config = json.loads(cfg)
    splits = read_all_splits(splits_paths, [name for name, _ in config["corpora"]])
    target, parts = Path(folder), []
    for family, paths in sets_paths.items():
        sets = read_sets(paths, FOIL_TYPES[family])
        for foil_type in FOIL_TYPES[family]:
            found = sets.filter(foil_type=foil_type)
            if len(found):
                of_family = splits if family == SYSTEMATICITY else {}
                parts.append(write_part(target, f"{family}_{foil_type}", found, of_family))
                logger.info("%s: %d sets", parts[-1].name, parts[-1].n_sets)
    with atomic_path(str(target / "README.md")) as partial:
        Path(partial).write_text(card(parts, config), encoding="utf-8")
