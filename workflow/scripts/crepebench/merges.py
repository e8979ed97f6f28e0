"""Merge sorted Parquet tables of any size in bounded memory.

The keys are cut into ranges that hold about RANGE_ROWS rows together. Range by range, the rows of all files are read,
combined, sorted and appended to the output. Row groups outside a range are not read. More files than may be open at
once are merged in groups first.
"""

import logging
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from crepebench.schema import read_table, write_tables

logger = logging.getLogger(__name__)

RANGE_ROWS = 2_000_000
"""Rows of all files that are merged at once, but for one row group of each file."""
MAX_FILES = 200
"""Files that are open at once; systems allow a process 256 (macOS) or more, some of which are open anyway."""
SEPARATOR = "\0"
"""Joins the fields of a key to one string with the same order; no field holds it."""
KEY = "key"


def merge_sorted(
    paths: Sequence[str],
    schema: pa.Schema,
    key_fields: Sequence[str],
    merged_path: str,
    combine: Callable[[pl.DataFrame], pl.DataFrame],
) -> int:
    """Merges tables that are each sorted by the same key.

    Args:
        paths: tables, each sorted by `key_fields`, which are strings.
        schema: their schema, and that of the output.
        key_fields: columns of the key.
        merged_path: table to write, sorted by key.
        combine: gets the rows of some keys, and returns what the output holds for them; it may get its own output
            again, beside other rows of the same keys.

    Returns:
        Number of rows of the output.

    Raises:
        ValueError: a table was written by another version of this workflow.
    """
    for path in paths:
        read_table(path, schema, [])
    with TemporaryDirectory() as folder:
        waiting, n_made = list(paths), 0
        while len(waiting) > MAX_FILES:
            group, waiting = waiting[:MAX_FILES], waiting[MAX_FILES:]
            waiting.append(str(Path(folder) / f"{n_made}.parquet"))
            _merge_at_once(group, schema, key_fields, waiting[-1], combine)
            n_made += 1
        return _merge_at_once(waiting, schema, key_fields, merged_path, combine)


def _merge_at_once(
    paths: Sequence[str],
    schema: pa.Schema,
    key_fields: Sequence[str],
    merged_path: str,
    combine: Callable[[pl.DataFrame], pl.DataFrame],
) -> int:
    """Merges tables that may all be open at once; returns the number of rows."""
    files = [file for file in map(pq.ParquetFile, paths) if file.metadata.num_rows]
    firsts = [first_keys(file, key_fields) for file in files]
    bounds = key_ranges(files, firsts)
    logger.info("%d tables, merged in %d ranges of keys", len(paths), len(bounds) + 1)

    def merged() -> Iterator[pa.Table]:
        for low, high in zip([None, *bounds], [*bounds, None], strict=True):
            rows = [_read_range(*found, schema, key_fields, low, high) for found in zip(files, firsts, strict=True)]
            if rows:
                yield combine(pl.concat(rows)).sort(key_fields).select(schema.names).to_arrow()

    try:
        return write_tables(merged_path, schema, merged())
    finally:
        for file in files:
            file.close()


def first_keys(file: pq.ParquetFile, key_fields: Sequence[str]) -> list[str]:
    """Returns the first key of each row group of a sorted table."""
    groups = (file.read_row_group(i, columns=list(key_fields)).slice(0, 1) for i in range(file.num_row_groups))
    return [SEPARATOR.join(group[field][0].as_py() for field in key_fields) for group in groups]


def key_ranges(files: Sequence[pq.ParquetFile], firsts: Sequence[Sequence[str]]) -> list[str]:
    """Returns the keys at which ranges of about RANGE_ROWS rows begin, but for the first range."""
    groups = sorted(
        (first, file.metadata.row_group(i).num_rows)
        for file, of_file in zip(files, firsts, strict=True)
        for i, first in enumerate(of_file)
    )
    bounds: list[str] = []
    n_rows = 0
    for first, n_rows_of_group in groups:
        if n_rows >= RANGE_ROWS and first != (bounds or [None])[-1]:
            bounds.append(first)
            n_rows = 0
        n_rows += n_rows_of_group
    return bounds


def _read_range(
    file: pq.ParquetFile,
    firsts: Sequence[str],
    schema: pa.Schema,
    key_fields: Sequence[str],
    low: str | None,
    high: str | None,
) -> pl.DataFrame:
    """Reads a file's rows with low <= key < high; None is no bound."""
    start = 0 if low is None else max(0, bisect_right(firsts, low) - 1)
    stop = len(firsts) if high is None else bisect_left(firsts, high)
    table = file.read_row_groups(list(range(start, stop))) if start < stop else schema.empty_table()
    rows = pl.from_arrow(table).with_columns(pl.concat_str(key_fields, separator=SEPARATOR).alias(KEY))
    if low is not None:
        rows = rows.filter(pl.col(KEY) >= low)
    if high is not None:
        rows = rows.filter(pl.col(KEY) < high)
    return rows.drop(KEY)
