"""Write files whole or not at all, and remove what killed writers left.

While a file is written, its bytes are in a hidden partial file beside it, whose writer holds a lock on it. The system
frees that lock when the writer dies, however it dies and on whatever machine of a shared file system; so a partial
file that nobody has locked is a leftover, and the next writer of the same file removes it.
"""

import errno
import fcntl
import glob
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

PARTIAL = ".partial"
NEW_MODE = 0o666
"""Permission bits of a new file before the umask, as `open` has them."""
WRITE_FAULTS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
"""Errors that only writing raises; libraries often do not say of which file."""


@contextmanager
def atomic_path(path: str) -> Iterator[str]:
    """Yields a temporary path beside `path`; renames it to `path` on success, removes it on failure.

    The temporary name keeps the suffix, so that writers that look at it choose the right format. What killed writers
    of the same file left is removed first. The bytes are on the disk before the file gets its name, so that a power
    cut leaves no empty file.

    Raises:
        OSError: the file cannot be written (the disk is full, the folder is read-only, ...); names it.
    """
    target = Path(path)
    partial = target.with_name(f".{target.stem}.{os.getpid()}-{uuid4().hex[:8]}{PARTIAL}{target.suffix}")
    lock = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(target.parent, f".{glob.escape(target.stem)}.*{PARTIAL}{glob.escape(target.suffix)}")
        lock = _create_locked(partial)
        yield str(partial)
        _flush(partial)
        os.replace(partial, target)
    except OSError as error:
        if error.filename == str(partial) or (error.filename is None and error.errno in WRITE_FAULTS):
            raise OSError(error.errno, f"{os.strerror(error.errno)}; the file is not written", str(target)) from error
        raise
    except Exception as error:  # some libraries have errors of their own for a full disk
        error.add_note(f"while {target} was being written")
        raise
    finally:
        if lock is not None:
            partial.unlink(missing_ok=True)
            os.close(lock)


def remove_leftovers(folder: Path, pattern: str) -> list[Path]:
    """Removes the partial files in a folder whose writers are dead, and returns them.

    Files stay whose writers live, and those of which that cannot be told: the file system knows no locks, or the file
    is somebody else's.

    Args:
        folder: where to look; other folders are left alone.
        pattern: of the names of partial files.
    """
    removed = []
    for path in sorted(folder.glob(pattern)):
        try:
            lock = os.open(path, os.O_RDWR)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(lock, path):
                path.unlink()
                removed.append(path)
        except OSError:
            pass
        finally:
            os.close(lock)
    return removed


def _create_locked(path: Path) -> int:
    """Creates an empty file, and returns a descriptor that holds its lock as long as it is open.

    Where the file system knows no locks, the file is made without one: then nobody removes it.
    """
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT, NEW_MODE)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError:
            return lock
        if _is_at(lock, path):
            return lock
        os.close(lock)  # another process took it for a leftover before it was locked


def _is_at(descriptor: int, path: Path) -> bool:
    """Says whether an open file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _flush(path: Path) -> None:
    """Waits until a file's bytes are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
