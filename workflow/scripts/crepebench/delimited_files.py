"""Read columns of TSV and CSV files, block by block, in bounded memory.

A block of a TSV file is one of `crepebench.line_files`, a block of a CSV file a run of rows.
"""

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

import pyarrow as pa
import pyarrow.csv as pacsv

from crepebench.caption_files import UNDECODABLE, RawRows, blocks_of, text_array
from crepebench.line_files import DAMAGED, MOST_ROW_BYTES, DamagedFileError, Takes, guarded, open_binary, read_lines

MOST_LINES = 1_000
"""Lines of the longest row of a CSV file. A quote that nobody closes would swallow all rows after it."""
COLUMNS_WRONG = "columns_wrong"
"""Reason of a row with too few or too many columns."""


def read_tsv(
    path: str, fields: Sequence[str | int], n_columns: int | None, head: str, takes: Takes
) -> Iterator[RawRows]:
    """Reads rows of a file of lines whose columns are parted by tabs, without quotes.

    Args:
        path: the file.
        fields: names of columns, if the file has a head row; else their numbers, from 0.
        n_columns: number of columns; None where a head row says it, or where the first row does.
        head: first line that is no row, where there may be one.
        takes: which blocks to read.

    Yields:
        RawRows; rows with another number of columns are `columns_wrong`, those that are not UTF-8 `text_undecodable`.

    Raises:
        ValueError: the head row lacks a column, or the file is damaged.
    """
    line = _first_line(path)
    if line is None:
        return
    first = line.split("\t")
    has_head = isinstance(fields[0], str) or line == head
    numbers = [_column_number(path, first, field) if isinstance(field, str) else field for field in fields]
    n_columns = n_columns or len(first)
    if max(numbers) >= n_columns:
        raise ValueError(f"{path}: has {n_columns} columns, so there is no column number {max(numbers) + 1}")
    for chunk, is_start in read_lines(path, takes):
        if is_start and has_head:
            chunk = chunk.partition(b"\n")[2]
        if chunk:
            yield _tsv_rows(chunk, numbers, n_columns)


def _first_line(path: str) -> str | None:
    """Returns the first line; None if the file is empty."""
    with open_binary(path) as stream:
        line = guarded(path, "at its start", lambda: stream.readline(MOST_ROW_BYTES))
    return line.decode("utf-8-sig", errors="replace").rstrip("\r\n") if line else None


def _column_number(path: str, head: Sequence[str], field: str) -> int:
    """Returns the number of a column by its name, in any case if no name is exactly the same."""
    for names, wanted in ((list(head), field), ([name.lower() for name in head], field.lower())):
        if wanted in names:
            return names.index(wanted)
    raise ValueError(f"{path}: has no column {field!r}, but {list(head)}")


def _tsv_rows(chunk: bytes, numbers: Sequence[int], n_columns: int) -> RawRows:
    chunk, n_undecodable = _decodable_lines(chunk)
    if not chunk:
        return RawRows([_empty()] * len(numbers), Counter({UNDECODABLE: n_undecodable}))
    if b"\r" in chunk:
        chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b" ")
    n_wrong = 0

    def skip(_) -> str:
        nonlocal n_wrong
        n_wrong += 1
        return "skip"

    names = list(map(str, range(n_columns)))
    table = pacsv.read_csv(
        pa.BufferReader(chunk),
        pacsv.ReadOptions(column_names=names, use_threads=False, block_size=len(chunk) + 1),
        pacsv.ParseOptions(
            delimiter="\t", quote_char=False, double_quote=False, ignore_empty_lines=False, invalid_row_handler=skip
        ),
        pacsv.ConvertOptions(
            check_utf8=False,
            column_types=dict.fromkeys(names, pa.large_binary()),
            include_columns=[names[number] for number in dict.fromkeys(numbers)],
        ),
    )
    columns = [pa.concat_arrays(table[names[number]].chunks or [_empty()]) for number in numbers]
    return RawRows(columns, Counter({COLUMNS_WRONG: n_wrong, UNDECODABLE: n_undecodable}))


def _decodable_lines(chunk: bytes) -> tuple[bytes, int]:
    """Returns the lines that are UTF-8, and the number of the others."""
    if _is_utf8(chunk):
        return chunk, 0
    lines = chunk.removesuffix(b"\n").split(b"\n")
    kept = list(filter(_is_utf8, lines))
    return b"".join(line + b"\n" for line in kept), len(lines) - len(kept)


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _empty() -> pa.LargeBinaryArray:
    return pa.array([], pa.large_binary())


def read_csv(path: str, fields: Sequence[str | int], takes: Takes) -> Iterator[RawRows]:
    """Reads rows of a CSV file: values may be in double quotes, and then hold commas and line ends.

    Only a reader from the start knows where a row ends, so every block is decoded, whether it is taken or not.

    Args and Yields: as for `read_tsv`.

    Raises:
        ValueError: the head row lacks a column, or the file is damaged.
    """
    csv.field_size_limit(MOST_ROW_BYTES)
    with open_binary(path) as binary:
        text = io.TextIOWrapper(binary, encoding="utf-8-sig", errors="surrogateescape", newline="")
        reader = csv.reader(text)
        blocks = blocks_of(_csv_rows(path, reader))
        first_block = next(blocks, [])
        first = first_block[0] if first_block else []
        has_head = isinstance(fields[0], str)
        numbers = [_column_number(path, first, field) for field in fields] if has_head else list(fields)
        if first_block and max(numbers) >= len(first):
            raise ValueError(f"{path}: has {len(first)} columns, so there is no column number {max(numbers) + 1}")
        for block, lines in enumerate(chain([first_block[has_head:]], blocks)):
            if takes(block):
                rows = [line for line in lines if len(line) == len(first)]
                columns = [_escaped_array([row[number] for row in rows]) for number in numbers]
                yield RawRows(columns, Counter({COLUMNS_WRONG: len(lines) - len(rows)}))


def _escaped_array(values: Sequence[str]) -> pa.LargeBinaryArray:
    """Returns texts as bytes, those that are not UTF-8 as they stand in the file."""
    try:
        return text_array(values)
    except UnicodeEncodeError:
        return pa.array([value.encode("utf-8", errors="surrogateescape") for value in values], pa.large_binary())


def _csv_rows(path: str, reader) -> Iterator[list[str]]:
    line = 0
    try:
        for row in reader:
            if reader.line_num - line > MOST_LINES:
                raise csv.Error(f"a row of {reader.line_num - line:,} lines: is a quote open?")
            line = reader.line_num
            yield row
    except DAMAGED as error:
        raise DamagedFileError(f"{path}: the file is damaged at line {line + 1} ({error})") from error
