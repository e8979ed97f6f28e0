"""Draw some of many ids, so that the draw depends on the ids and a seed alone."""

import hashlib
from collections.abc import Sequence


def draw_ids(ids: Sequence[int], most: int | None, seed: int) -> set[int]:
    """Draws the ids with the lowest hashes, so that few are among many.

    Args:
        ids: all ids.
        most: how many; all where None.
        seed: seed of the draw.
    """
    order = sorted(ids, key=lambda number: hashlib.sha256(f"{seed} {number}".encode()).digest())
    return set(order[:most])
