"""Read SugarCrepe: an image of COCO val2017, its caption, and one foil (RAIVNLab/sugar-crepe, MIT; arXiv:2306.14610).

A file for each of seven subsets, an object of records whose keys are numbers as texts. Keys have a gap: "108" of
swap_obj was removed for its wrong caption. So records are taken as they come, and never counted up.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from crepebench.benchmark_items import CHOOSE_CAPTION, ImageRef, Item
from crepebench.benchmark_readers._files import keyed, read_json, stem_of
from crepebench.benchmark_readers._records import base_name, cell, check_options, items_of, text_of

ROOT = "coco_val2017"
SUBSETS = ("add_att", "add_obj", "replace_att", "replace_obj", "replace_rel", "swap_att", "swap_obj")


def read(paths: Sequence[str], options: Mapping, counts: Counter | None = None) -> Iterator[Item]:
    """Yields an item for each record.

    Args:
        paths: JSON files, named by their subsets.
        options: none.
        counts: takes what was read, kept and dropped.

    Raises:
        ValueError: a file is not named by a subset, or not of its form; names file and record.
    """
    check_options(options, (), "sugarcrepe")
    for path in paths:
        subset = subset_of(path, SUBSETS)

        def make(where: str, key: str, record: object, subset: str = subset) -> tuple[Item]:
            return (
                Item(
                    id=f"{subset}:{key}",
                    subset=subset,
                    task=CHOOSE_CAPTION,
                    images=(ImageRef(ROOT, base_name(cell(record, "filename", where), f"{where}, filename")),),
                    captions=(text_of(record, "caption", where), text_of(record, "negative_caption", where)),
                    tags=group_tags(subset),
                ),
            )

        yield from items_of(keyed(read_json(path), path), make, counts)


def subset_of(path: str, subsets: Sequence[str]) -> str:
    """Returns the subset that a file's name says.

    Raises:
        ValueError: it says none.
    """
    subset = stem_of(path)
    if subset not in subsets:
        raise ValueError(f"{path}: a file is named by its subset, which is one of {', '.join(subsets)}")
    return subset


def group_tags(subset: str) -> dict[str, str]:
    """Returns the tag `group`: add, replace or swap. Papers average over subsets, or over these."""
    return {"group": subset.partition("_")[0]}
