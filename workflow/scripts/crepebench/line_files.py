"""Cut files of lines into blocks, compressed or not, and read some of the blocks in bounded memory.

A block of a plain file is a range of bytes, and a line belongs to the block in which it begins. So a reader of every
n-th block reads an n-th of the file. A compressed file can only be read from its start, and blocks are skipped.
"""

import bz2
import csv
import gzip
import io
import lzma
import os
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

import pyarrow as pa

BLOCK_BYTES = 256 * 1024
"""Bytes of a block."""
CHUNK_BYTES = 8 * 1024 * 1024
"""Bytes that are read at once; neighbouring blocks are read together."""
MOST_ROW_BYTES = 64 * 1024 * 1024
"""Longest row; a longer one is no row, but a file of another kind."""
DAMAGED = (EOFError, OSError, zlib.error, lzma.LZMAError, tarfile.TarError, csv.Error, pa.ArrowInvalid)
"""What libraries raise on a file that is truncated or altered."""

Takes = Callable[[int], bool]
"""Says whether a block is to be read, by its number."""


class DamagedFileError(ValueError):
    """A file is truncated or altered, or of another kind; the message names the file and the place."""


def read_lines(path: str, takes: Takes) -> Iterator[tuple[bytes, bool]]:
    """Yields whole lines of the blocks that are taken, in chunks, and whether a chunk begins the file.

    Of a file that is not compressed only those blocks are read. The last line may lack its line end.

    Raises:
        ValueError: the file is damaged, or a row is longer than MOST_ROW_BYTES.
    """
    with open_binary(path) as stream:
        chunks = _decompressed_chunks(path, stream, takes) if is_compressed(path) else _chunks(path, stream, takes)
        yield from chunks


def _chunks(path: str, stream: BinaryIO, takes: Takes) -> Iterator[tuple[bytes, bool]]:
    for start, end in _ranges(os.path.getsize(path), takes):
        position = start
        if start:
            stream.seek(start - 1)
            position += len(_rest_of_line(path, stream)) - 1  # of the line that began in the block before
        while position < end:
            at_start = position == 0
            chunk = guarded(path, f"at byte {position:,}", lambda n=end - position: stream.read(min(CHUNK_BYTES, n)))
            if not chunk:
                raise DamagedFileError(
                    f"{path}: the file is damaged: it was cut at byte {position:,} while it was read"
                )
            chunk += b"" if chunk.endswith(b"\n") else _rest_of_line(path, stream)
            position += len(chunk)
            yield chunk, at_start


def _ranges(size: int, takes: Takes) -> Iterator[tuple[int, int]]:
    """Yields start and end of runs of blocks that are taken, in bytes."""
    start = None
    n_blocks = -(-size // BLOCK_BYTES)
    for block in range(n_blocks + 1):
        is_taken = block < n_blocks and takes(block)
        if is_taken and start is None:
            start = block * BLOCK_BYTES
        elif not is_taken and start is not None:
            yield start, min(block * BLOCK_BYTES, size)
            start = None


def _decompressed_chunks(path: str, stream: BinaryIO, takes: Takes) -> Iterator[tuple[bytes, bool]]:
    """As `_chunks`; a block is BLOCK_BYTES of content and the rest of its last line."""
    block, parts, at_start = 0, [], True
    while chunk := guarded(path, f"in block {block}", lambda: stream.read(BLOCK_BYTES)):
        chunk += b"" if chunk.endswith(b"\n") else _rest_of_line(path, stream)
        if takes(block):
            at_start = at_start if parts else block == 0
            parts.append(chunk)
        if sum(map(len, parts)) >= CHUNK_BYTES:
            yield b"".join(parts), at_start
            parts = []
        block += 1
    if parts:
        yield b"".join(parts), at_start


def _rest_of_line(path: str, stream: BinaryIO) -> bytes:
    line = guarded(path, "in the middle of a row", lambda: stream.readline(MOST_ROW_BYTES))
    if len(line) == MOST_ROW_BYTES and not line.endswith(b"\n"):
        raise DamagedFileError(f"{path}: a row has more than {MOST_ROW_BYTES:,} bytes; is it a file of lines?")
    return line


DECOMPRESSORS: dict[str, Callable[[BinaryIO], BinaryIO]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": lambda file: io.BufferedReader(pa.input_stream(file, compression="zstd")),
}
"""What reads a compressed file, by the end of its name."""


def is_compressed(path: str) -> bool:
    """Says whether a text file is compressed, by its name."""
    return os.path.splitext(path)[1] in DECOMPRESSORS


def decompressed(path: str, file: BinaryIO) -> BinaryIO:
    """Returns what reads the content of an open file, whose name says whether it is compressed."""
    return DECOMPRESSORS[os.path.splitext(path)[1]](file) if is_compressed(path) else file


@contextmanager
def open_binary(path: str) -> Iterator[BinaryIO]:
    """Opens a text file for reading its content, decompressed where its name says that it is compressed."""
    with open(path, "rb") as file:
        yield decompressed(path, file)


def guarded(path: str, place: str, read: Callable):
    """Returns what `read` returns; an error of a damaged file becomes one that names it."""
    try:
        return read()
    except FileNotFoundError:
        raise
    except DAMAGED as error:
        raise DamagedFileError(f"{path}: the file is damaged {place} ({error})") from error
