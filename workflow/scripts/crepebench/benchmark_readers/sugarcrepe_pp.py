"""Read SugarCrepe++: an image of COCO val2017, two captions that say the same, and one foil (Sri-Harsha/scpp).

A file for each of five subsets, a list of records. Each gives two items: with the image (ITT: both captions beat the
foil) and without (TOT: the captions are nearer to each other than to the foil). Most captions are SugarCrepe's, but
not all: joining the two sets would be wrong.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from crepebench.benchmark_items import IMAGE_TAG, TEXT_ONLY, TWO_CAPTIONS, ImageRef, Item
from crepebench.benchmark_readers._files import listed, read_json
from crepebench.benchmark_readers._records import base_name, cell, check_options, items_of, record_id, text_of
from crepebench.benchmark_readers.sugarcrepe import ROOT, group_tags, subset_of

SUBSETS = ("replace_att", "replace_obj", "replace_rel", "swap_att", "swap_obj")
ITT, TOT = "itt", "tot"


def read(paths: Sequence[str], options: Mapping, counts: Counter | None = None) -> Iterator[Item]:
    """Yields two items for each record: with the image, and of texts alone.

    Args:
        paths: JSON files, named by their subsets.
        options: none.
        counts: takes what was read, kept and dropped, of records.

    Raises:
        ValueError: a file is not named by a subset, or not of its form; names file and record.
    """
    check_options(options, (), "sugarcrepe_pp")
    for path in paths:
        subset = subset_of(path, SUBSETS)

        def make(where: str, _: int, record: object, subset: str = subset) -> tuple[Item, Item]:
            name = base_name(cell(record, "filename", where), f"{where}, filename")
            captions = tuple(text_of(record, key, where) for key in ("caption", "caption2", "negative_caption"))
            id_ = f"{subset}:{record_id(cell(record, 'id', where), f'{where}, id')}"
            tags = group_tags(subset)
            return (
                Item(f"{id_}:{ITT}", subset, TWO_CAPTIONS, (ImageRef(ROOT, name),), captions, tags),
                Item(f"{id_}:{TOT}", subset, TEXT_ONLY, (), captions, tags | {IMAGE_TAG: name}),
            )

        yield from items_of(listed(read_json(path), path), make, counts)
