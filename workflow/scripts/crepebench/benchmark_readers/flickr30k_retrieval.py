"""Read the Flickr30K 1K retrieval test: the split `test` of dataset_flickr30k.json."""

from collections.abc import Iterator, Mapping, Sequence

from crepebench.benchmark_items import Item
from crepebench.karpathy_splits import read_split

SUBSET, ROOT = "flickr30k_1k", "flickr30k"


def read(paths: Sequence[str], options: Mapping) -> Iterator[Item]:
    """Yields the items of 1,000 pictures and 5,000 captions.

    Args:
        paths: dataset_flickr30k.json.
        options: those of `crepebench.karpathy_splits.read_split`.
    """
    return read_split(paths, options, SUBSET, lambda _: ROOT)
