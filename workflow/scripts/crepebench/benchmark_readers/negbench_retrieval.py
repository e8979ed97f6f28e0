"""Read the retrieval files of NegBench: captions that deny what a picture or clip lacks, and their plain originals.

Source: the files that github.com/m1k2zoo/negbench links. Columns are read by name. Pictures are found by file name, as
the stored folders are those of other machines. Synthetic pictures have one name twice, in folders `positive` and
`negative`, which become two roots.
"""

import ast
import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from crepebench.benchmark_items import ImageRef, Item
from crepebench.benchmark_readers._records import base_name, check_options, text
from crepebench.benchmark_retrieval import RETRIEVE_IMAGE, retrieval_items
from crepebench.file_faults import named_faults

NEGATED = "_negated"
SYNTHETIC, SYNTHETIC_FOLDERS = "negbench_synthetic", ("positive", "negative")
ROOTS = {"COCO_val": "coco_val2017", "msr_vtt": "msr_vtt", "synthetic": SYNTHETIC}
"""Root of the pictures of a file, by the beginning of its name."""
NEEDED = ("filepath", "captions")


def read(paths: Sequence[str], options: Mapping) -> Iterator[Item]:
    """Yields one item a caption. Pictures search no captions in NegBench.

    Args:
        paths: CSV files with the names that they were given by NegBench's authors.
        options: `root`, the name of the pictures' root for files of other names.

    Raises:
        ValueError: a file is no such CSV, or its name says no root; names file, line and value.
    """
    check_options(options, ("root",), "negbench_retrieval")
    for path in paths:
        subset, root = subset_of(path), options.get("root") or _root(path)
        for line, row in _rows(path):
            where = f"{path}, line {line}"
            captions = _captions(row["captions"], where)
            file = base_name(row["filepath"], f"{where}, filepath")
            folder = f"{root}_{_folder(row['filepath'], where)}" if root == SYNTHETIC else root
            name = f"{Path(path).stem}/{line}"
            yield from retrieval_items(name, subset, ImageRef(folder, file), captions, (RETRIEVE_IMAGE,), cues=True)


def subset_of(path: str) -> str:
    """Returns the subset of a file: "coco", "coco_negated" (the rephrased one), "msr_vtt" and so on; else its stem."""
    stem = Path(path).name.removesuffix(".csv").removesuffix(".sample")
    known = {
        "COCO_val_retrieval": "coco",
        "COCO_val_negated_retrieval_llama3.1_rephrased_affneg_true": f"coco{NEGATED}",
        "COCO_val_negated_retrieval_template": f"coco{NEGATED}_template",
        "msr_vtt_retrieval": "msr_vtt",
        "msr_vtt_retrieval_rephrased_llama": f"msr_vtt{NEGATED}",
        "synthetic_retrieval_v1": "synthetic_v1",
        "synthetic_retrieval_v2": "synthetic_v2",
    }
    return known.get(stem, stem)


def _root(path: str) -> str:
    for start, root in ROOTS.items():
        if Path(path).name.startswith(start):
            return root
    raise ValueError(f"{path}: the file's name does not say where its pictures lie: give the option `root`")


def _folder(path: str, where: str) -> str:
    """Returns which of the folders of synthetic pictures a path names."""
    folder = PurePosixPath(path.strip().replace("\\", "/")).parent.name
    if folder not in SYNTHETIC_FOLDERS:
        raise ValueError(f"{where}, filepath: {path!r:.200} is in none of {', '.join(SYNTHETIC_FOLDERS)}")
    return folder


def _rows(path: str) -> list[tuple[int, dict]]:
    with named_faults(path), open(path, newline="", encoding="utf-8-sig") as file:
        rows = csv.DictReader(file)
        if missing := [name for name in NEEDED if name not in (rows.fieldnames or ())]:
            raise ValueError(f"{path}: the columns {missing} are missing; it has {rows.fieldnames!r:.300}")
        numbered = [(rows.line_num, row) for row in rows]
    for line, row in numbered:
        if short := [name for name in NEEDED if row[name] is None]:
            raise ValueError(f"{path}, line {line}: the row ends before the columns {short}")
    return numbered


def _captions(cell: str, where: str) -> tuple[str, ...]:
    """Returns the captions of a cell, a Python list of texts; no code in it is run."""
    try:
        found = ast.literal_eval(cell)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError(f"{where}, column captions: no list of texts: {cell!r:.200}") from error
    if not isinstance(found, list) or not found or not all(isinstance(one, str) and one.strip() for one in found):
        raise ValueError(f"{where}, column captions: no list of texts, or an empty one: {cell!r:.200}")
    return tuple(text(one, f"{where}, column captions").strip() for one in found)
