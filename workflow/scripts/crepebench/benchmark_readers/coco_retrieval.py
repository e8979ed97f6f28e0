"""Read the COCO 5K retrieval test: the split `test` of dataset_coco.json."""

from collections.abc import Iterator, Mapping, Sequence

from crepebench.benchmark_items import Item
from crepebench.karpathy_splits import read_split

SUBSET = "coco_5k"


def read(paths: Sequence[str], options: Mapping) -> Iterator[Item]:
    """Yields the items of 5,000 pictures, which lie in the root `coco_val2014`, and of 25,010 captions.

    Args:
        paths: dataset_coco.json.
        options: those of `crepebench.karpathy_splits.read_split`.
    """
    return read_split(paths, options, SUBSET, lambda record: f"coco_{record.get('filepath', 'val2014')}")
