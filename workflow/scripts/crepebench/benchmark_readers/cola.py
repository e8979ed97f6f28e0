"""Read COLA's multi-object part: two images of Visual Genome, each with its caption (arijitray1993/COLA, MIT).

A list of [address of image 0, caption 0, address of image 1, caption 1]. The addresses are those of the authors' own
host; the last part is Visual Genome's id, by which an image is found. Only the image side counts: each caption must
choose its image.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from crepebench.benchmark_items import PAIRS_IMAGE, ImageRef, Item
from crepebench.benchmark_readers._files import listed, read_json
from crepebench.benchmark_readers._records import base_name, check_options, items_of, text

ROOT, SUBSET = "visual_genome", "multi_object"


def read(paths: Sequence[str], options: Mapping, counts: Counter | None = None) -> Iterator[Item]:
    """Yields an item for each record.

    Args:
        paths: one JSON file.
        options: none.
        counts: takes what was read, kept and dropped.

    Raises:
        ValueError: the file is not of its form; names file and record.
    """
    check_options(options, (), "cola")
    for path in paths:
        yield from items_of(listed(read_json(path), path), _make, counts)


def _make(where: str, number: int, record: object) -> tuple[Item]:
    if not isinstance(record, list) or len(record) != 4:
        raise ValueError(f"{where}: no list of image, caption, image, caption: {record!r:.200}")
    images = tuple(ImageRef(ROOT, base_name(record[i], f"{where}, value {i}")) for i in (0, 2))
    captions = tuple(text(record[i], f"{where}, value {i}") for i in (1, 3))
    return (Item(str(number), SUBSET, PAIRS_IMAGE, images, captions),)
