"""Write files whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4


@contextmanager
def atomic_path(path: str) -> Iterator[str]:
    """Yields a temporary path beside `path`; renames it to `path` on success, removes it on failure.

    The temporary name keeps the suffix, so that writers that look at it choose the right format. No two writers share
    one, be they on two machines of a cluster whose processes have the same number.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.stem}.{uuid4().hex}.partial{target.suffix}")
    try:
        yield str(partial)
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)
