"""Read NegRefCOCOg: a phrase with a negation, and boxes of one image of COCO train2014.

Source: parkquasar/NegationCLIP, MIT. A list of {image, phrase, ref_bbox, bbox_list}. The right box is the one that
equals `ref_bbox`, wherever it stands: in the released file it is always the first, which a scorer that gives equal
scores would be paid for.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from crepebench.benchmark_items import CHOOSE_IMAGE, ImageRef, Item
from crepebench.benchmark_readers._files import listed, read_json
from crepebench.benchmark_readers._records import base_name, box, cell, check_options, items_of, text_of

ROOT, SUBSET = "coco_train2014", "negrefcocog"


def read(paths: Sequence[str], options: Mapping, counts: Counter | None = None) -> Iterator[Item]:
    """Yields an item for each record.

    Args:
        paths: one JSON file.
        options: none.
        counts: takes what was read, kept and dropped.

    Raises:
        ValueError: the file is not of its form, or ref_bbox is not exactly one box of several; names file and record.
    """
    check_options(options, (), "negrefcocog")
    for path in paths:
        yield from items_of(listed(read_json(path), path), _make, counts)


def _make(where: str, number: int, record: object) -> tuple[Item]:
    name = base_name(cell(record, "image", where), f"{where}, image")
    right, all_ = box(cell(record, "ref_bbox", where), f"{where}, ref_bbox"), cell(record, "bbox_list", where)
    if not isinstance(all_, list):
        raise ValueError(f"{where}, bbox_list: no list of boxes: {all_!r:.200}")
    boxes = [box(one, f"{where}, bbox_list") for one in all_]
    others = [one for one in boxes if one != right]
    if len(others) != len(boxes) - 1 or not others:
        raise ValueError(f"{where}, bbox_list: needs ref_bbox {right} once, beside others; it has {boxes!r:.300}")
    images = tuple(ImageRef(ROOT, name, one) for one in (right, *others))
    return (Item(str(number), SUBSET, CHOOSE_IMAGE, images, (text_of(record, "phrase", where),)),)
