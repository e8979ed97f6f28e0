"""Read Winoground: two images, and two captions of the same words.

Source: facebook/winoground on Hugging Face, behind a login (arXiv:2204.03162). `examples.jsonl` has an object a line;
images stand beside it as `ex_<id>_img_<0 or 1>.png`. The option `retags` says which of the files is that of
ajd12342/why-winoground-hard (MIT; id to list of tags): then items carry these tags, and those without one NoTag.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from crepebench.benchmark_items import PAIRS, ImageRef, Item
from crepebench.benchmark_readers._files import keyed, part_files, read_json, read_json_lines
from crepebench.benchmark_readers._records import base_name, cell, check_options, items_of, record_id, text, text_of

ROOT, SUBSET = "winoground", "winoground"
OWN_TAG = "collapsed_tag"
RETAGS = "retags"
NO_TAG, YES = "NoTag", "yes"


def read(paths: Sequence[str], options: Mapping, counts: Counter | None = None) -> Iterator[Item]:
    """Yields an item for each line.

    Its tags are `collapsed_tag` (what the captions exchange: Object, Relation or Both), and "yes" for each of `retags`.

    Args:
        paths: examples.jsonl.
        options: `retags`, which of the files is a JSON object of lists.
        counts: takes what was read, kept and dropped.

    Raises:
        ValueError: a file is not of its form, or `retags` lacks an item; names file and line.
    """
    check_options(options, (RETAGS,), "winoground")
    paths, retags_path = part_files(paths, options, RETAGS)
    retags = read_retags(retags_path) if retags_path else None

    def make(where: str, _: None, record: object) -> tuple[Item]:
        id_ = record_id(cell(record, "id", where), f"{where}, id")
        own = text_of(record, OWN_TAG, where).strip()
        tags = {OWN_TAG: own} if own else {}
        if retags is not None:
            if id_ not in retags:
                raise ValueError(f"{retags_path}: has no tags for item {id_!r:.100} of {where}")
            tags |= dict.fromkeys(retags[id_] or (NO_TAG,), YES)
        images = tuple(ImageRef(ROOT, _file_name(record, f"image_{i}", where)) for i in (0, 1))
        captions = tuple(text_of(record, f"caption_{i}", where) for i in (0, 1))
        return (Item(id_, SUBSET, PAIRS, images, captions, tags),)

    for path in paths:
        yield from items_of(((where, None, record) for where, record in read_json_lines(path)), make, counts)


def read_retags(path: str) -> dict[str, tuple[str, ...]]:
    """Reads the tags of each item by its id.

    Raises:
        ValueError: the file is no JSON object of lists of texts.
    """
    found = {}
    for where, key, tags in keyed(read_json(path), path):
        if not isinstance(tags, list):
            raise ValueError(f"{where}: no list of tags: {tags!r:.200}")
        found[key] = tuple(text(tag, where) for tag in tags)
    return found


def _file_name(record: object, key: str, where: str) -> str:
    """Returns the name of an image file, which the lines give without its suffix."""
    name = base_name(cell(record, key, where), f"{where}, {key}")
    return name if PurePosixPath(name).suffix else f"{name}.png"
