"""Do the next items' work in threads while the present one's result is used: decoding overlaps encoding."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_ahead(
    work: Callable[[Item], Result], items: Iterable[Item], n_threads: int, n_ahead: int
) -> Iterator[tuple[Item, Result]]:
    """Yields each item with its result, in the order of the items, whichever is done first.

    At most `n_ahead` results wait at a time, which bounds the memory that they take. When the caller stops early, what
    has not begun is never done. Threads help where the work lets others run: Pillow, zlib and torch do.

    Args:
        work: is called in a thread, so it may use nothing that another call changes.
        items: are taken as they are needed, in the caller's thread.
        n_threads: number of threads, at least 1.
        n_ahead: number of items that are begun before their turn, at least 1.

    Raises:
        Exception: what `work` raised, in the item's turn.
    """
    waiting: deque[tuple[Item, Future]] = deque()
    items = iter(items)
    pool = ThreadPoolExecutor(n_threads, thread_name_prefix="prefetch")
    try:
        for item in islice(items, n_ahead):
            waiting.append((item, pool.submit(work, item)))
        while waiting:
            item, future = waiting.popleft()
            result = future.result()
            for following in islice(items, 1):
                waiting.append((following, pool.submit(work, following)))
            yield item, result
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
