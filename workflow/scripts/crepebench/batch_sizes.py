"""Encode in batches whose size is found by itself: start large, halve when the GPU's memory does not suffice."""

import gc
import logging
from collections.abc import Callable

import numpy as np

logger = logging.getLogger(__name__)

AUTO = "auto"
CPU_SIZE = 32
"""Size without a GPU, for ViT-B-32. Larger batches are no faster there, and hold more padding."""


class BatchSizer:
    """The number of items that are encoded at once; it only ever falls.

    Features do not depend on it beyond the last digits: a GPU picks its kernels by the shape of a batch.

    Args:
        setting: a number, or AUTO.
        gpu_size: with AUTO, the number to begin with on a GPU.
    """

    def __init__(self, setting: int | str, gpu_size: int):
        self.size = _automatic_size(gpu_size) if setting == AUTO else int(setting)

    def encode(self, n_items: int, encode_slice: Callable[[slice], np.ndarray]) -> np.ndarray:
        """Encodes items batch by batch, in their order.

        Args:
            n_items: number of items, at least 1.
            encode_slice: gives the (n, dim) features of a slice of the items.

        Returns:
            (n_items, dim).

        Raises:
            torch.cuda.OutOfMemoryError: not even one item fits.
        """
        parts, start = [], 0
        while start < n_items:
            part = self._try(encode_slice, slice(start, min(start + self.size, n_items)))
            if part is not None:
                parts.append(part)
                start += len(part)
        return np.concatenate(parts)

    def _try(self, encode_slice: Callable[[slice], np.ndarray], batch: slice) -> np.ndarray | None:
        """Encodes one batch, or halves the size and returns None."""
        import torch

        n_items = batch.stop - batch.start
        try:
            return encode_slice(batch)
        except torch.cuda.OutOfMemoryError:
            if n_items == 1:
                raise
        # Only here, with the error gone, is nothing left that holds the memory of the batch.
        gc.collect()
        torch.cuda.empty_cache()
        self.size = n_items // 2
        logger.warning("%d at once are too many for the GPU's memory: %d from now on", n_items, self.size)
        return None


def _automatic_size(gpu_size: int) -> int:
    import torch

    return gpu_size if torch.cuda.is_available() else CPU_SIZE
