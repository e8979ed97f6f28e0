"""Write files whole or not at all; tell what is wrong with a file that cannot be read."""

import csv
import lzma
import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DAMAGED_ZIP = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, RuntimeError, OSError)
"""What a damaged zip raises, and one whose members are encrypted, when it is opened or read."""


@contextmanager
def named_faults(name: object) -> Iterator[None]:
    """Makes errors of a text that is not in UTF-8, or of a table that is no CSV, name the file.

    Args:
        name: of the file.

    Raises:
        ValueError: such an error was raised within.
    """
    try:
        yield
    except UnicodeDecodeError as error:
        raise ValueError(f"{name}: not a text in UTF-8 ({error})") from error
    except csv.Error as error:
        raise ValueError(f"{name}: no CSV ({error})") from error


@contextmanager
def named_zip_faults(name: object) -> Iterator[None]:
    """Makes errors of a damaged zip name the file.

    Args:
        name: of the file.

    Raises:
        ValueError: such an error was raised within.
    """
    try:
        yield
    except FileNotFoundError:
        raise
    except DAMAGED_ZIP as error:
        raise ValueError(f"{name}: the zip is damaged ({error})") from error


@contextmanager
def atomic_path(path: str) -> Iterator[str]:
    """Yields a temporary path beside `path`; renames it to `path` on success, removes it on failure.

    The temporary name keeps the suffix, so that writers that look at it choose the right format.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.stem}.{os.getpid()}.partial{target.suffix}")
    try:
        yield str(partial)
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)
