"""Read NegBench's questions: an image or video, and four captions of which one is right.

Source: m1k2zoo/negbench (arXiv:2501.09425). A CSV file for each set of images; columns stand in another order in
each. `correct_answer` is 0 in every row of most files, so the right caption is taken to the front by each row's own
number, and nothing may be scored by where it stands. The templates (positive "A and B", negative "not N", hybrid "A
but not N") are those of the right caption.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from crepebench.benchmark_items import CHOOSE_CAPTION, RIGHT, ImageRef, Item
from crepebench.benchmark_readers._files import read_csv, stem_of
from crepebench.benchmark_readers._records import base_name, check_options, items_of, text, whole

FILE_NAME = re.compile(r"(COCO_val|VOC2007|msr_vtt|synthetic)_mcq(_[\w.]*)?")
SYNTHETIC_ROOT = "negbench_synthetic"
DATASETS = {
    "COCO_val": ("coco", "coco_val2017"),
    "VOC2007": ("voc2007", "voc2007_test"),
    "msr_vtt": ("msr_vtt", "msr_vtt"),
    "synthetic": ("synthetic", SYNTHETIC_ROOT),
}
"""Subset and root by the first part of a file's name."""
SYNTHETIC_FOLDERS = ("positive", "negative")
"""Folders of synthetic images; both hold files of the same names, so each is a root of its own."""
FORMS = {"synthetic": ("positive", "hybrid", "hybrid", "negative")}
OTHER_FORMS = ("", "hybrid", "positive", "negative")
"""Form of the caption in each column: in synthetic files, whichever is right; in others of the wrong ones, which are a
hybrid with what is there and what is not exchanged, the assertion of what is not, the denial of what is."""
REPHRASED, TEMPLATED = "rephrased", "_templated"
N_OPTIONS = 4
CAPTION_COLUMNS = tuple(f"caption_{i}" for i in range(N_OPTIONS))
COLUMNS = ("image_path", "correct_answer", *CAPTION_COLUMNS, "correct_answer_template")
TEMPLATES = ("positive", "negative", "hybrid")


def read(paths: Sequence[str], options: Mapping, counts: Counter | None = None) -> Iterator[Item]:
    """Yields an item for each row.

    Its tag is `template`.

    Args:
        paths: CSV files, named as the authors name them; "rephrased" in the name tells them from their plain twins.
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
        subset = name if REPHRASED in (found[2] or "") else name + TEMPLATED

        def make(
            where: str, number: int, row: Mapping, name: str = name, subset: str = subset, root: str = root
        ) -> tuple[Item]:
            right, template = _answer(where, row)
            order = (right, *(i for i in range(N_OPTIONS) if i != right))
            image = _image(row["image_path"], root, f"{where}, image_path")
            captions = tuple(text(row[CAPTION_COLUMNS[i]], f"{where}, {CAPTION_COLUMNS[i]}") for i in order)
            tags, kinds = {"template": template}, _kinds(FORMS.get(name, OTHER_FORMS), order)
            return (Item(f"{subset}:{number}", subset, CHOOSE_CAPTION, (image,), captions, tags, kinds),)

        yield from items_of(read_csv(path, COLUMNS), make, counts)


def _image(path: str, root: str, where: str) -> ImageRef:
    """Returns the image that a path names, by its last part; of a synthetic one the folder tells the root."""
    name = base_name(path, where)
    if root != SYNTHETIC_ROOT:
        return ImageRef(root, name)
    folder = PurePosixPath(path.strip().replace("\\", "/")).parent.name
    if folder not in SYNTHETIC_FOLDERS:
        raise ValueError(f"{where}: {path!r:.200} is in none of the folders {' and '.join(SYNTHETIC_FOLDERS)}")
    return ImageRef(f"{root}_{folder}", name)


def _kinds(forms: Sequence[str], order: Sequence[int]) -> tuple[str, ...]:
    """Returns what each caption is, the right one first; nothing where the form of a wrong one is not known."""
    wrong = [forms[i] for i in order[1:]]
    return (RIGHT, *(f"wrong_{form}" for form in wrong)) if all(wrong) else ()


def _answer(where: str, row: Mapping) -> tuple[int, str]:
    """Returns number and template of the right caption."""
    right, template = whole(row["correct_answer"], f"{where}, correct_answer"), row["correct_answer_template"].strip()
    if right not in range(N_OPTIONS):
        raise ValueError(f"{where}, correct_answer: {right} is not in 0 to {N_OPTIONS - 1}")
    if template not in TEMPLATES:
        raise ValueError(f"{where}, correct_answer_template: {template!r:.100} is none of {', '.join(TEMPLATES)}")
    return right, template
