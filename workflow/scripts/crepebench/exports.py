"""What all exports share: the sets in an order that does not depend on parts, and the splits of their regions."""

from collections.abc import Mapping, Sequence

import polars as pl

from crepebench.schema import RETRIEVAL_SETS, read_table
from crepebench.splits import read_splits

RELEASED = "crepe_release"
"""Value of `data.source`: sets of CREPE's authors."""


def read_sets(paths: Sequence[str], foil_types: Sequence[str]) -> pl.DataFrame:
    """Reads the retrieval sets of a family, by foil_type, number of atoms, image and id.

    Args:
        paths: tables RETRIEVAL_SETS.
        foil_types: foil types of the family, in the order that the sets are to have.
    """
    found = pl.concat([pl.from_arrow(read_table(path, RETRIEVAL_SETS)) for path in paths])
    place = pl.col("foil_type").replace_strict(list(foil_types), list(range(len(foil_types))), return_dtype=pl.Int64)
    return found.sort(place, "complexity", "image_id", "region_id", "set_id")


def read_all_splits(paths: Sequence[str], corpora: Sequence[str]) -> dict[str, dict[int, str]]:
    """Reads the split of each region by each corpus.

    Args:
        paths: tables SPLITS, in the order of `corpora`.
        corpora: names of the corpora.
    """
    return {corpus: read_splits(path) for corpus, path in zip(corpora, paths, strict=True)}


def check_sizes(rows: Sequence[Mapping], where: str) -> None:
    """Checks that sets have the same number of foils, which the authors' scripts rely on.

    Raises:
        ValueError: they have not; names file, set and numbers.
    """
    sizes = {len(row["foils"]): row["set_id"] for row in rows}
    if len(sizes) > 1:
        examples = ", ".join(f"{size} (set {set_id})" for size, set_id in sorted(sizes.items()))
        raise ValueError(f"{where}: sets of one file must have as many foils each, and these have {examples}")
