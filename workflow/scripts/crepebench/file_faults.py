"""Tell what is wrong with a file that cannot be read."""

import csv
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

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
