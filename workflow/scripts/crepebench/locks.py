"""Hold a lock of a store, and say so where another job holds it for long."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from filelock import FileLock, Timeout

logger = logging.getLogger(__name__)

SECONDS = 30.0
"""How long a job waits without a word."""


@contextmanager
def held(lock: FileLock) -> Iterator[None]:
    """Holds a lock; waits for it as long as it takes. The system frees it when its holder dies. May be nested."""
    try:
        lock.acquire(timeout=SECONDS)
    except Timeout:
        logger.warning("waiting for %s, which another job has held for %.0f s", lock.lock_file, SECONDS)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
