"""Read training captions in the formats in which the corpora are published, shard by shard.

A corpus is a list of files. Its rows are dealt to shards in blocks (`BLOCK_ROWS` rows of a text file, one row group
of a Parquet file): block b of file f belongs to shard (f + b) modulo the number of shards. So any number of shards
covers every row exactly once, and no image is ever needed.
"""

import html
import re
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote_plus

import pyarrow as pa
import pyarrow.parquet as pq

BLOCK_ROWS = 500
TAG = re.compile(r"<(/?[a-z][^<>]*|!--.*?--)>", re.IGNORECASE | re.DOTALL)
"""An HTML tag or comment. CC-12M's masked names (<PERSON>) look like tags, so only YFCC's descriptions are stripped."""


class CorpusRow(NamedTuple):
    """One row: its image's address, its caption, and why it cannot be used ("" where it can)."""

    url: str
    text: str
    reason: str


def normalise_text(text: str) -> str:
    """Returns canonical text: NFC, control characters and runs of white space as one space, no edge space."""
    text = unicodedata.normalize("NFC", text)
    text = "".join(" " if unicodedata.category(char) in ("Cc", "Zl", "Zp") else char for char in text)
    return " ".join(text.split())


def decode_yfcc_text(text: str) -> str:
    """Decodes a field of YFCC100M's metadata: percent and plus once, then HTML entities and tags."""
    return TAG.sub(" ", html.unescape(unquote_plus(text)))


def cc12m_row(fields: list[str]) -> CorpusRow:
    """Reads a row of CC-12M: url, caption."""
    return _row(fields[0], fields[1])


def yfcc15m_row(fields: list[str]) -> CorpusRow:
    """Reads a row of YFCC-15M: url, title, description; both percent-encoded, joined as two sentences."""
    title, description = (normalise_text(decode_yfcc_text(field)) for field in fields[1:3])
    if title and description and title[-1] not in ".!?":
        title += "."
    return _row(fields[0], f"{title} {description}")


def _row(url: str, text: str | None) -> CorpusRow:
    text = normalise_text(text or "")
    return CorpusRow(url, text, "" if text else "text_empty")


def _tsv_blocks(path: str, n_columns: int, parse: Callable[[list[str]], CorpusRow]) -> Iterator[Callable]:
    """Yields, for every block of a TSV file, a function that reads it."""
    block = []
    with open(path, "rb") as lines:
        for line in lines:
            block.append(line)
            if len(block) == BLOCK_ROWS:
                yield lambda block=block: [_tsv_row(line, n_columns, parse) for line in block]
                block = []
    if block:
        yield lambda: [_tsv_row(line, n_columns, parse) for line in block]


def _tsv_row(line: bytes, n_columns: int, parse: Callable[[list[str]], CorpusRow]) -> CorpusRow:
    try:
        fields = line.decode("utf-8").rstrip("\r\n").split("\t")
    except UnicodeDecodeError:
        return CorpusRow("", "", "text_undecodable")
    return parse(fields) if len(fields) == n_columns else CorpusRow(fields[0], "", "columns_wrong")


def _laion_row(url: bytes | None, text: bytes | None) -> CorpusRow:
    try:
        return _row((url or b"").decode("utf-8"), (text or b"").decode("utf-8"))
    except UnicodeDecodeError:
        return CorpusRow("", "", "text_undecodable")


def _laion_blocks(path: str) -> Iterator[Callable]:
    """Yields, for every row group of a LAION shard, a function that reads it.

    Raises:
        ValueError: the file is no Parquet file, or has no columns URL and TEXT.
    """
    try:
        file = pq.ParquetFile(path)
    except pa.ArrowInvalid as error:
        raise ValueError(f"{path}: not a readable Parquet file ({error})") from error
    names = {name.upper(): name for name in file.schema_arrow.names}
    if not {"URL", "TEXT"} <= names.keys():
        raise ValueError(f"{path}: has columns {file.schema_arrow.names}; a LAION shard has URL and TEXT")
    columns = [names["URL"], names["TEXT"]]

    def read(group: int) -> list[CorpusRow]:
        try:
            table = file.read_row_group(group, columns=columns)
        except (OSError, pa.ArrowInvalid) as error:
            raise ValueError(f"{path}: row group {group} is damaged ({error})") from error
        urls, texts = (table[column].cast(pa.binary()).to_pylist() for column in columns)
        return [_laion_row(url, text) for url, text in zip(urls, texts, strict=True)]

    for group in range(file.num_row_groups):
        yield lambda group=group: read(group)


FORMATS: dict[str, Callable[[str], Iterator[Callable]]] = {
    "cc12m": lambda path: _tsv_blocks(path, 2, cc12m_row),
    "yfcc15m": lambda path: _tsv_blocks(path, 3, yfcc15m_row),
    "laion400m": _laion_blocks,
}


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


def read_rows(paths: list[str], format_: str, shard: int = 0, n_shards: int = 1) -> Iterator[CorpusRow]:
    """Reads the rows of one shard of a corpus.

    Args:
        paths: the corpus's files, in a fixed order.
        format_: a key of `FORMATS`.
        shard: index of the shard, from 0.
        n_shards: number of shards.

    Yields:
        CorpusRow, unusable ones included, each with its reason.

    Raises:
        ValueError: the format is unknown, or a file is not of that format.
    """
    if format_ not in FORMATS:
        raise ValueError(f"unknown corpus format {format_!r}: use one of {sorted(FORMATS)}")
    for file_index, path in enumerate(paths):
        for block_index, read_block in enumerate(FORMATS[format_](path)):
            if (file_index + block_index) % n_shards == shard:
                yield from read_block()
