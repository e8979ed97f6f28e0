"""Read training captions in the layouts in which corpora are published, or from files with a caption column.

A corpus is a list of files, and its rows are dealt to shards in blocks: block b of file f belongs to shard (f + b)
modulo the number of shards. So any number of shards covers every row exactly once, and no image is ever needed.
docs/corpora.md has the layouts, what is known of them, and the policy by which captions are normalised.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from crepebench.caption_files import UNDECODABLE, RawRows, read_jsonl, read_parquet, read_webdataset
from crepebench.delimited_files import read_csv, read_tsv
from crepebench.line_files import Takes, is_compressed
from crepebench.texts import decode_yfcc_texts, lower_texts, normalise_texts

BATCH_BYTES = 64 * 1024 * 1024
"""About the most bytes of text in a batch."""
# ASSUME: a text of more than 100,000 bytes is a document, no caption; it is counted, never cut
MOST_CAPTION_BYTES = 100_000
"""Bytes of the longest caption, normalised."""
NULL, EMPTY, TOO_LONG, NOT_IN_SUBSET = "text_null", "text_empty", "text_too_long", "not_in_subset"
"""Reasons for which a row cannot be used, beside those of the readers."""

TSV, CSV, JSONL, PARQUET, WEBDATASET = "tsv", "csv", "jsonl", "parquet", "webdataset"
"""Kinds of files; each is a format, too, whose definition names the caption's column or field."""


@dataclass(frozen=True)
class Layout:
    """What the files of a corpus hold.

    Attributes:
        kind: kind of the files.
        captions: columns or fields of the caption; several make one caption of as many sentences. Numbers are from 0.
        url: column or field of the image's address; None if it is not known.
        n_columns: number of columns; None if the file says it.
        head: first line that may stand there and is no row.
        is_encoded: whether captions are percent-encoded and hold HTML, as YFCC100M's are.
        line_number: column with the number by which a subset names a row.
    """

    kind: str
    captions: tuple
    url: str | int | None = None
    n_columns: int | None = None
    head: str = ""
    is_encoded: bool = False
    line_number: int | None = None


PUBLISHED = {
    "cc12m": Layout(TSV, (1,), url=0, n_columns=2, head="url\tcaption"),
    "yfcc15m_clip": Layout(TSV, (8, 9), url=16, n_columns=25, is_encoded=True, line_number=0),
    "yfcc15m_declip": Layout(JSONL, ("caption",), url="url"),
    "yfcc_extract": Layout(TSV, (1, 2), url=0, n_columns=3, is_encoded=True),
    "laion400m": Layout(PARQUET, (("TEXT", "caption"),), url=("URL",)),
    "relaion": Layout(PARQUET, (("caption", "TEXT"),), url=("url",)),
}
"""Layouts of published corpora; docs/corpora.md says what each rests on."""
FORMATS = (*PUBLISHED, TSV, CSV, JSONL, PARQUET, WEBDATASET)


class CaptionBatch(NamedTuple):
    """Captions of some rows.

    Attributes:
        texts: normalised captions that can be used, in the order of their rows.
        n_read: number of rows, unusable ones included.
        dropped: unusable rows by reason.
        urls: addresses of the images, one a text; None unless they were asked for.
    """

    texts: pa.LargeStringArray
    n_read: int
    dropped: Counter
    urls: pa.LargeStringArray | None = None


def fold(texts: pa.LargeStringArray) -> pa.LargeStringArray:
    """Returns texts in lower case, as the parser reads them: `str.lower` of each."""
    return lower_texts(texts)


def read_layout(definition: Mapping) -> Layout:
    """Returns the layout of a corpus.

    Args:
        definition: `format`, and for a format without a layout of its own `caption`: name of a column or field, or
            number of a column from 1 in a file without a head row, or a list of them.

    Raises:
        ValueError: the format is unknown.
    """
    format_ = definition["format"]
    if format_ in PUBLISHED:
        return PUBLISHED[format_]
    if format_ not in FORMATS:
        raise ValueError(f"unknown corpus format {format_!r}: use one of {sorted(FORMATS)}")
    names = definition["caption"] if isinstance(definition["caption"], list) else [definition["caption"]]
    if format_ == PARQUET:
        return Layout(format_, tuple((name,) for name in names))
    return Layout(format_, tuple(name - 1 if isinstance(name, int) else name for name in names))


def list_files(paths: list[str]) -> list[str]:
    """Lists files: a folder stands for the files in it, sorted by name, hidden ones left out.

    Raises:
        FileNotFoundError: a path does not exist, or a folder is empty.
    """
    found = []
    for path in map(Path, paths):
        files = sorted(str(p) for p in path.glob("[!.]*") if p.is_file()) if path.is_dir() else [str(path)]
        if not files or not path.exists():
            raise FileNotFoundError(f"corpus: there is no file at {path}")
        found += files
    return found


def read_batches(
    files: list[str], definition: Mapping, shard: int = 0, n_shards: int = 1, with_urls: bool = False
) -> Iterator[CaptionBatch]:
    """Reads the captions of one shard of a corpus.

    Args:
        files: the corpus's files, in a fixed order.
        definition: `format`; `caption` where the format needs it; `subset`, a list of line numbers among `files`.
        shard: index of the shard, from 0.
        n_shards: number of shards.
        with_urls: whether the images' addresses are read, too.

    Yields:
        CaptionBatch, of about BATCH_BYTES of text at most.

    Raises:
        ValueError: the format is unknown, or a file is damaged or not of that format; names the file.
    """
    layout = read_layout(definition)
    subset = definition.get("subset")
    members = read_line_numbers(subset) if subset else None
    files = [path for path in files if not subset or Path(path) != Path(subset)]
    for index, path in enumerate(files):
        if not is_dealt_whole(path, layout.kind, len(files), n_shards):
            takes = _takes_every(n_shards, (shard - index) % n_shards)
        elif index % n_shards == shard:
            takes = _takes_every(1, 0)
        else:
            continue
        for rows in _read_rows(path, layout, takes, with_urls):
            yield usable_captions(rows, layout, members, with_urls)


def is_dealt_whole(path: str, kind: str, n_files: int, n_shards: int) -> bool:
    """Says whether a file goes to one shard: if it must be decoded from its start, and there are files for all."""
    is_lines = kind in (TSV, JSONL)
    return n_files >= n_shards and (kind in (CSV, WEBDATASET) or (is_lines and is_compressed(path)))


def _takes_every(step: int, first: int) -> Takes:
    return lambda block: block % step == first


def _read_rows(path: str, layout: Layout, takes: Takes, with_urls: bool) -> Iterator[RawRows]:
    """Reads the columns of captions, then those of urls and of line numbers where they are wanted."""
    fields = [*layout.captions, *([layout.url] if with_urls else [])]
    if layout.line_number is not None:
        fields.append(layout.line_number)
    if layout.kind == TSV:
        return read_tsv(path, fields, layout.n_columns, layout.head, takes)
    if layout.kind == CSV:
        return read_csv(path, fields, takes)
    if layout.kind == JSONL:
        return read_jsonl(path, fields, takes)
    if layout.kind == PARQUET:
        return read_parquet(path, fields, takes, BATCH_BYTES)
    return read_webdataset(path, fields[0], takes)


def usable_captions(
    rows: RawRows, layout: Layout, members: np.ndarray | None = None, with_urls: bool = False
) -> CaptionBatch:
    """Returns the captions of rows that can be used, normalised, and counts the others by reason.

    Args:
        rows: columns as `Layout` names them: captions, url if wanted, line number if the layout has one.
        layout: what the columns hold.
        members: sorted line numbers of the rows that count; None for all.
        with_urls: whether the rows have a column of urls.
    """
    columns, dropped = rows.columns, Counter(rows.dropped)
    n_read = len(columns[0]) + dropped.total()
    if members is not None:
        is_member = _is_member(columns[-1], members)
        dropped[NOT_IN_SUBSET] += int((~is_member).sum())
        columns = [column.filter(pa.array(is_member)) for column in columns]
    captions = columns[: len(layout.captions)]
    parts = [_decode(column) for column in captions]
    if layout.is_encoded:
        parts = [decode_yfcc_texts(part) for part in parts]
    is_null = np.logical_and.reduce([_mask(pc.is_null(column)) for column in captions])
    is_undecodable = np.logical_or.reduce(
        [_mask(pc.is_null(part)) & _mask(pc.is_valid(column)) for part, column in zip(parts, captions, strict=True)]
    )
    texts = join_sentences([normalise_texts(part.fill_null("")) for part in parts])
    n_bytes = _mask(pc.binary_length(texts))
    has_text = ~is_null & ~is_undecodable
    is_empty, is_long = has_text & (n_bytes == 0), has_text & (n_bytes > MOST_CAPTION_BYTES)
    found = {NULL: is_null, UNDECODABLE: is_undecodable, EMPTY: is_empty, TOO_LONG: is_long}
    for reason, mask in found.items():
        dropped[reason] += int(mask.sum())
    is_kept = pa.array(has_text & ~is_empty & ~is_long)
    urls = _decode(columns[len(captions)]).fill_null("").filter(is_kept) if with_urls else None
    return CaptionBatch(texts.filter(is_kept), n_read, +dropped, urls)


def join_sentences(parts: Sequence[pa.LargeStringArray]) -> pa.LargeStringArray:
    """Joins texts row by row, as sentences: where one ends without a stop and another follows, it gets one."""
    joined = parts[0]
    for part in parts[1:]:
        is_both = pc.and_(pc.not_equal(joined, ""), pc.not_equal(part, ""))
        stop = pc.if_else(pc.match_substring_regex(joined, "[.!?]$"), " ", ". ")
        stop = pc.if_else(is_both, stop, "").cast(pa.large_string())
        joined = pc.binary_join_element_wise(joined, stop, part, pa.scalar("", pa.large_string()))
    return joined


def _decode(column: pa.LargeBinaryArray) -> pa.LargeStringArray:
    """Returns bytes as texts; null where they are not UTF-8."""
    try:
        return column.cast(pa.large_string())
    except pa.ArrowInvalid:
        return pa.array([_decode_or_none(value) for value in column.to_pylist()], pa.large_string())


def _decode_or_none(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _mask(values: pa.Array) -> np.ndarray:
    return values.to_numpy(zero_copy_only=False)


def read_line_numbers(path: str) -> np.ndarray:
    """Reads the first column of a list of line numbers, compressed or not; int64, sorted.

    Raises:
        ValueError: the file is damaged or has no such column.
    """
    try:
        table = pacsv.read_csv(
            path,
            pacsv.ReadOptions(autogenerate_column_names=True),
            pacsv.ParseOptions(delimiter="\t", quote_char=False),
            pacsv.ConvertOptions(include_columns=["f0"], column_types={"f0": pa.int64()}),
        )
    except FileNotFoundError:
        raise
    except (pa.ArrowInvalid, OSError) as error:
        raise ValueError(f"{path}: no list of line numbers ({error})") from error
    return np.sort(table["f0"].drop_null().to_numpy())


def _is_member(column: pa.LargeBinaryArray, members: np.ndarray) -> np.ndarray:
    """Says of each line number, as text, whether it is among the members."""
    is_number = pc.match_substring_regex(column, "^[0-9]{1,18}$")
    text = pc.if_else(is_number, column, pa.scalar(b"-1", pa.large_binary()))
    numbers = text.cast(pa.large_string()).cast(pa.int64()).to_numpy()
    places = np.minimum(np.searchsorted(members, numbers), max(len(members) - 1, 0))
    return members[places] == numbers if len(members) else np.zeros(len(numbers), bool)
