"""Read NegBench's questions: an image or video and four captions, of which one is right (m1k2zoo/negbench, arXiv:2501.09425).

A CSV file for each set of images; columns stand in another order in each. `correct_answer` is 0 in every row of most files, so
the right caption is taken to the front by each row's own number, and nothing may be scored by where it stands. The templates
(positive "A and B", negative "not N", hybrid "A but not N") are those of the right caption.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from crepebench.benchmark_items import CHOOSE_CAPTION, ImageRef, Item
from crepebench.benchmark_readers.records import base_name, check_options, items_of, read_csv, stem_of, text, whole

FILE_NAME = re.compile(r"(COCO_val|VOC2007|msr_vtt|synthetic)_mcq(_[\w.]*)?")
DATASETS = {
    "COCO_val": ("coco", "coco_val2017"),
    "VOC2007": ("voc2007", "voc2007_test"),
    "msr_vtt": ("msr_vtt", "msr_vtt"),
    "synthetic": ("synthetic", "negbench_synthetic"),
}
"""Subset and root by the first part of a file's name."""
REPHRASED, TEMPLATED = "rephrased", "_templated"
N_OPTIONS = 4
CAPTION_COLUMNS = tuple(f"caption_{i}" for i in range(N_OPTIONS))
COLUMNS = ("image_path", "correct_answer", *CAPTION_COLUMNS, "correct_answer_template")
POSITIVE, NEGATIVE, HYBRID = "positive", "negative", "hybrid"
TEMPLATES = (POSITIVE, NEGATIVE, HYBRID)
SYNTHETIC_KINDS = (POSITIVE, HYBRID, HYBRID, NEGATIVE)
"""Templates of the four captions of a row of the synthetic file."""
WRONG_KINDS = (HYBRID, POSITIVE, NEGATIVE)
"""Templates of captions 1 to 3 of a row of the other files where caption 0 is right."""


def read(paths: Sequence[str], options: Mapping, counts: Counter | None = None) -> Iterator[Item]:
    """Yields an item for each row; tags are `template`, and `kinds`: the templates of the captions in the item's order.

    Args:
        paths: CSV files, named as the authors name them; one with "rephrased" in its name, or its twin with plain templates.
        options: none.
        counts: takes what was read, kept and dropped.

    Raises:
        ValueError: a file has another name, or is not of its form; names file, line and column.
    """
    check_options(options, (), "negbench_mcq")
    for path in paths:
        found = FILE_NAME.fullmatch(stem_of(path))
        if found is None:
            raise ValueError(f"{path}: no name of a NegBench file, as COCO_val_mcq_llama3.1_rephrased.csv")
        name, root = DATASETS[found[1]]
        is_templated = REPHRASED not in (found[2] or "")
        subset = name + TEMPLATED if is_templated else name

        def make(
            where: str, number: int, row: Mapping, subset: str = subset, root: str = root, plain: bool = is_templated
        ) -> tuple[Item]:
            right, template = _answer(where, row)
            kinds = _kinds(row, right, template, root, plain)
            order = (right, *(i for i in range(N_OPTIONS) if i != right))
            tags = {"template": template} | ({"kinds": ",".join(kinds[i] for i in order)} if kinds else {})
            image = ImageRef(root, base_name(row["image_path"], f"{where}, image_path"))
            captions = tuple(text(row[CAPTION_COLUMNS[i]], where) for i in order)
            return (Item(f"{subset}:{number}", subset, CHOOSE_CAPTION, (image,), captions, tags),)

        yield from items_of(read_csv(path, COLUMNS), make, counts)


def _answer(where: str, row: Mapping) -> tuple[int, str]:
    """Returns number and template of the right caption."""
    right, template = whole(row["correct_answer"], f"{where}, correct_answer"), row["correct_answer_template"].strip()
    if right not in range(N_OPTIONS):
        raise ValueError(f"{where}, correct_answer: {right} is not in 0 to {N_OPTIONS - 1}")
    if template not in TEMPLATES:
        raise ValueError(f"{where}, correct_answer_template: {template!r:.100} is none of {', '.join(TEMPLATES)}")
    return right, template


def _kinds(row: Mapping, right: int, template: str, root: str, is_templated: bool) -> tuple[str, ...]:
    """Returns the templates of the four captions in the order of the file; none where that cannot be told."""
    if is_templated:
        kinds = tuple(_kind_of_plain(row[name]) for name in CAPTION_COLUMNS)
    elif root == DATASETS["synthetic"][1]:
        kinds = SYNTHETIC_KINDS
    else:
        kinds = (template, *WRONG_KINDS) if right == 0 else ()
    return kinds if kinds and kinds[right] == template else ()


def _kind_of_plain(caption: str) -> str:
    """Returns the template of a caption that is not rephrased: "A but not N", "does not N", or "A and B"."""
    return HYBRID if " but not " in caption else NEGATIVE if " not " in caption else POSITIVE
