"""Read the fields of rows from JSON Lines, Parquet files and tars of samples, block by block, in bounded memory.

A block is a range of bytes of a file of lines (`crepebench.line_files`), a row group of a Parquet file, a run of
samples of a tar. A reader is told which blocks to take, and decodes the others only where it cannot do without.
`crepebench.delimited_files` reads TSV and CSV files.
"""

import json
import tarfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from crepebench.line_files import MOST_ROW_BYTES, DamagedFileError, Takes, guarded, read_lines

BLOCK_ROWS = 2_000
"""Rows of a block of a CSV file, samples of a block of a tar."""
MOST_ROWS = 20_000
"""Rows that are read at once from a Parquet file; fewer where they are long. The file says how long they are, but not
where it holds repeated texts once."""
JSON_INVALID, MISSING = "json_invalid", "text_missing"
"""Reasons for which a row has no fields."""
NOT_TEXT, UNDECODABLE = "text_not_text", "text_undecodable"
"""Reasons for which a field is no text."""


class RawRows(NamedTuple):
    """Rows as they stand in a file.

    Attributes:
        columns: for each wanted field the bytes of every row, null where a row has none.
        dropped: rows that have no fields, by reason.
    """

    columns: list[pa.LargeBinaryArray]
    dropped: Counter


def read_jsonl(path: str, fields: Sequence[str], takes: Takes) -> Iterator[RawRows]:
    """Reads rows of a file with a JSON object in each line.

    A list of texts stands for as many rows.

    Yields:
        RawRows; a line that is no JSON object is `json_invalid`, one without any of the fields `text_missing`.

    Raises:
        ValueError: the file is damaged.
    """
    for chunk, _ in read_lines(path, takes):
        lines = chunk.removesuffix(b"\n").split(b"\n")
        for start in range(0, len(lines), BLOCK_ROWS):
            some = lines[start : start + BLOCK_ROWS]
            yield _good_objects(some, fields) or _objects(some, fields)


def _good_objects(lines: Sequence[bytes], fields: Sequence[str]) -> RawRows | None:
    """Reads lines at once; None if anything is wrong with one of them."""
    try:
        rows = list(map(json.loads, b"\n".join(lines).decode("utf-8").split("\n")))
        return RawRows([text_array([row[field] for row in rows]) for field in fields], Counter())
    except (ValueError, LookupError, TypeError, RecursionError):
        return None


def text_array(values: Sequence[str | None]) -> pa.LargeBinaryArray:
    """Returns texts as bytes.

    Raises:
        ValueError: a text holds half of a surrogate pair.
        TypeError: a value is no text.
    """
    return pa.array(values, pa.large_string()).cast(pa.large_binary())


def _objects(lines: Iterable[bytes], fields: Sequence[str]) -> RawRows:
    """Reads lines one by one."""
    rows = _RowBuilder(len(fields))
    for line in lines:
        rows.add_json(line, fields)
    return rows.build()


class _RowBuilder:
    """Gathers rows; rows that are no rows are counted by reason."""

    def __init__(self, n_fields: int):
        self._columns = [[] for _ in range(n_fields)]
        self._dropped: Counter = Counter()

    def __len__(self) -> int:
        return len(self._columns[0]) + self._dropped.total()

    def add(self, values: Iterable[bytes | None]) -> None:
        for column, value in zip(self._columns, values, strict=True):
            column.append(value)

    def drop(self, reason: str) -> None:
        self._dropped[reason] += 1

    def add_json(self, text: bytes, fields: Sequence[str]) -> None:
        try:
            row = json.loads(text.decode("utf-8-sig"))
        except UnicodeDecodeError:
            return self.drop(UNDECODABLE)
        except (ValueError, RecursionError):
            return self.drop(JSON_INVALID)
        if not isinstance(row, dict):
            return self.drop(JSON_INVALID)
        if not row.keys() & set(fields):
            return self.drop(MISSING)
        values = [row.get(field) for field in fields]
        several = values[0] if len(values) == 1 and isinstance(values[0], list) else None
        for one in [values] if several is None else [[value] for value in several]:
            self._add_texts(one)
        return None

    def _add_texts(self, values: Sequence) -> None:
        if not all(isinstance(value, str | None) for value in values):
            return self.drop(NOT_TEXT)
        try:
            return self.add([None if value is None else value.encode("utf-8") for value in values])
        except UnicodeEncodeError:  # half of a surrogate pair, as \ud800
            return self.drop(UNDECODABLE)

    def build(self) -> RawRows:
        return RawRows([pa.array(column, pa.large_binary()) for column in self._columns], self._dropped)


def blocks_of(items: Iterator) -> Iterator[list]:
    """Yields lists of BLOCK_ROWS items; the last one may be shorter."""
    block = []
    for item in items:
        block.append(item)
        if len(block) == BLOCK_ROWS:
            yield block
            block = []
    if block:
        yield block


def read_parquet(path: str, fields: Sequence[Sequence[str]], takes: Takes, most_bytes: int) -> Iterator[RawRows]:
    """Reads rows of a Parquet file; a block is a row group.

    Args:
        path: the file.
        fields: for each field the names that its column may have, in any case.
        takes: which blocks to read.
        most_bytes: about how many bytes of text are read at once.

    Raises:
        ValueError: the file or a row group is damaged, or a column is missing or no text.
    """
    with open(path, "rb") as stream:
        file = guarded(path, "where its last bytes describe its content", lambda: pq.ParquetFile(stream))
        schema = file.schema_arrow
        names = [_parquet_column(path, schema.names, choice) for choice in fields]
        for name in names:
            if not _is_text(schema.field(name).type):
                raise ValueError(f"{path}: column {name!r} is no text, but {schema.field(name).type}")
        for group in filter(takes, range(file.num_row_groups)):
            metadata = file.metadata.row_group(group)
            n_bytes = metadata.total_byte_size  # of all columns: asking for one ends the process if the file is damaged
            n_rows = max(1, min(MOST_ROWS, most_bytes * metadata.num_rows // max(n_bytes, 1)))
            batches = file.iter_batches(n_rows, row_groups=[group], columns=names, use_threads=False)
            while (batch := guarded(path, f"in row group {group}", lambda i=batches: next(i, None))) is not None:
                yield RawRows([_as_binary(batch[name]) for name in names], Counter())


def _parquet_column(path: str, names: Sequence[str], choice: Sequence[str]) -> str:
    for wanted in choice:
        for name in names:
            if wanted in (name, name.lower()) or wanted.lower() == name.lower():
                if names.count(name) > 1:
                    raise ValueError(f"{path}: has several columns {name!r}: {list(names)}")
                return name
    raise ValueError(f"{path}: has no column {' or '.join(map(repr, choice))}, but {list(names)}")


def _is_text(type_: pa.DataType) -> bool:
    type_ = type_.value_type if pa.types.is_dictionary(type_) else type_
    checks = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")
    return any(getattr(pa.types, f"is_{check}")(type_) for check in checks) or pa.types.is_null(type_)


def _as_binary(column: pa.Array) -> pa.LargeBinaryArray:
    column = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    return column.cast(pa.large_binary())


def read_webdataset(path: str, field: str, takes: Takes) -> Iterator[RawRows]:
    """Reads captions of a tar of samples: neighbouring members with one name up to its first dot.

    Args:
        path: the tar, compressed or not.
        field: the caption's member by what follows that dot ("txt"), or a field of a JSON member ("json.caption").
        takes: which blocks of samples to read.

    Yields:
        RawRows; a sample without that member is `text_missing`.

    Raises:
        ValueError: the tar is damaged.
    """
    suffix, _, key = field.partition(".") if field.startswith("json.") else (field, "", "")
    for block, samples in enumerate(blocks_of(_tar_samples(path, suffix))):
        if takes(block):
            rows = _RowBuilder(1)
            for content in samples:
                if content is None:
                    rows.drop(MISSING)
                elif key:
                    rows.add_json(content, [key])
                else:
                    rows.add([content])
            yield rows.build()


def _tar_samples(path: str, suffix: str) -> Iterator[bytes | None]:
    """Yields the content of the member with that suffix of every sample; None where it has none."""
    place, sample, content = "at its start", None, None
    archive = guarded(path, place, lambda: tarfile.open(path, "r:*"))  # noqa: SIM115
    with archive:
        while (member := guarded(path, place, archive.next)) is not None:
            archive.members = []  # else it remembers every member
            folder, _, name = member.name.rpartition("/")
            stem, _, found = name.partition(".")
            if not member.isfile() or not stem:
                continue
            place = f"after member {member.name}"
            if (folder, stem) != sample:
                if sample is not None:
                    yield content
                sample, content = (folder, stem), None
            if found.lower() == suffix.lower():
                if member.size > MOST_ROW_BYTES:
                    text = f"{path}: member {member.name} has more than {MOST_ROW_BYTES:,} bytes; is it a caption?"
                    raise DamagedFileError(text)
                content = guarded(path, f"in member {member.name}", archive.extractfile(member).read)
                if len(content) != member.size:
                    raise DamagedFileError(f"{path}: the file is damaged in member {member.name}")
        if sample is not None:
            yield content
        archive.fileobj.seek(archive.offset)
        if guarded(path, place, lambda: archive.fileobj.read(tarfile.BLOCKSIZE)) != bytes(tarfile.BLOCKSIZE):
            raise DamagedFileError(f"{path}: the file is damaged {place}: no mark of the end follows")
