"""Read VALSE's existence part: an image of Visual7W, a caption and a foil, of which one says "no".

Source: Heidelberg-NLP/VALSE, MIT (arXiv:2112.07566). Kept are records of which at least two of three annotators chose
the caption. The two halves are subsets: in the first the caption says "no", in the second the foil does. A model that
ignores "no" leans one way, and has about 50 of both together.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from crepebench.benchmark_items import CHOOSE_CAPTION, ImageRef, Item
from crepebench.benchmark_readers._files import keyed, read_json
from crepebench.benchmark_readers._records import base_name, cell, check_options, items_of, text_of, whole

ROOT = "visual7w"
SUBSETS = {"zero_to_something": "zero_to_some", "something_to_zero": "some_to_zero"}
"""Subset by `provenance_of_foils`: from caption to foil."""
LEAST_ANNOTATORS, FEW_ANNOTATORS = 2, "few_annotators_chose_the_caption"


def read(paths: Sequence[str], options: Mapping, counts: Counter | None = None) -> Iterator[Item]:
    """Yields an item for each record that the annotators confirm.

    Args:
        paths: one JSON file.
        options: none.
        counts: takes what was read, kept and dropped.

    Raises:
        ValueError: the file is not of its form; names file and record.
    """
    check_options(options, (), "valse")
    for path in paths:
        yield from items_of(keyed(read_json(path), path), _make, counts)


def _make(where: str, key: str, record: object) -> tuple[Item] | str:
    provenance = text_of(record, "provenance_of_foils", where)
    if provenance not in SUBSETS:
        raise ValueError(f"{where}, provenance_of_foils: {provenance!r:.100} is none of {', '.join(SUBSETS)}")
    image = ImageRef(ROOT, base_name(cell(record, "image_file", where), f"{where}, image_file"))
    captions = text_of(record, "caption", where), text_of(record, "foil", where)
    chosen = cell(cell(record, "mturk", where), "caption", f"{where}, mturk")
    if whole(chosen, f"{where}, mturk, caption") < LEAST_ANNOTATORS:
        return FEW_ANNOTATORS
    return (Item(key, SUBSETS[provenance], CHOOSE_CAPTION, (image,), captions),)
