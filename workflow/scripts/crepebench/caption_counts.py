"""Estimate how many captions files hold, from their first bytes; docs/corpora.md explains the kinds of files."""

import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from crepebench.corpora import CSV, PARQUET, WEBDATASET, read_layout
from crepebench.line_files import decompressed, guarded

SAMPLE_BYTES = 4_000_000
"""Bytes of a text file from which its number of rows is estimated."""
SAMPLE_MEMBERS = 3_000
"""Members of a tar from which its number of samples is estimated."""


def count_corpus(paths: Sequence[str], definition: Mapping) -> int:
    """Returns the rows of a corpus that count: those of the list, if it is a subset of its files."""
    if "subset" in definition:
        return count_captions(definition["subset"])
    kind = read_layout(definition).kind
    return sum(count_captions(path, kind) for path in paths)


def count_captions(path: str, kind: str = CSV) -> int:
    """Returns the rows of a caption file: exact for Parquet, else from its size and its beginning.

    Raises:
        ValueError: the file is damaged.
    """
    if kind == PARQUET:
        return _count_parquet(path)
    if kind == WEBDATASET:
        return _count_samples(path)
    with open(path, "rb") as file:
        sample = guarded(path, "at its start", lambda: decompressed(path, file).read(SAMPLE_BYTES))
        return _extrapolate(path, sample.count(b"\n"), file.tell())


def _extrapolate(path: str, n_rows: int, n_bytes: int) -> int:
    return round(Path(path).stat().st_size * n_rows / n_bytes) if n_bytes else 0


def _count_parquet(path: str) -> int:
    import pyarrow.parquet as pq

    return guarded(path, "where its last bytes describe its content", lambda: pq.read_metadata(path).num_rows)


def _count_samples(path: str) -> int:
    """Returns the samples of a tar: runs of members with one name up to its first dot."""

    def sample() -> tuple[list[str], int]:
        names = []
        with open(path, "rb") as file, tarfile.open(fileobj=file, mode="r:*") as archive:
            while len(names) < SAMPLE_MEMBERS and (member := archive.next()) is not None:
                names.append(member.name.partition(".")[0])
            return names, file.tell()

    names, n_bytes = guarded(path, f"within its first {SAMPLE_MEMBERS:,} members", sample)
    return _extrapolate(path, len(set(names)), n_bytes)
