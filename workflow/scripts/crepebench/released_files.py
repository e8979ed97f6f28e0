"""Read the CSV files that the authors of CREPE released, as they are or in zips.

Source: github.com/RAIVNLab/CREPE: 27 productivity files, one for each foil_type and number of atoms, and 6
systematicity files, one for each training corpus and split. Foils stand in a cell as a Python literal: a list or a set
of strings. Columns may stand in any order; others than those read here are left alone.
"""

import ast
import csv
import io
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from crepebench.boxes import Box
from crepebench.families import ATOM, COMBINED, COMP, PRODUCTIVITY, SYSTEMATICITY
from crepebench.file_faults import named_faults, named_zip_faults
from crepebench.images import is_zip
from crepebench.splits import SC, UC

PRODUCTIVITY_NAME = re.compile(r"prod_vg_hard_negs_(atom|swap|negate)_complexity_([0-9]{1,3})\.csv")
SYSTEMATICITY_NAME = re.compile(r"syst_vg_hard_negs_(seen|unseen)_compounds_in_([a-z0-9_]+)\.csv")
SPLIT_OF_NAME = {"seen": SC, "unseen": UC}
BOX_COLUMNS = ("x", "y", "width", "height")
FOILS_COLUMN = "hard_negs"
FOILS_COLUMNS = {name: f"valid_hard_negs_{name}" for name in (ATOM, COMP, COMBINED)}
"""Columns of foils: of a productivity file, and by foil_type of a systematicity file."""
PRODUCTIVITY_COLUMNS = (
    *("image_id", "caption", "n", "n_objects", "n_relations", "n_attributes", "n_connected_components"),
    *(FOILS_COLUMN, *BOX_COLUMNS),
)
SYSTEMATICITY_COLUMNS = ("region_id", "caption", *BOX_COLUMNS, *FOILS_COLUMNS.values(), "image_id")
MOST_BYTES = 1 << 30
"""Bytes of the largest file in a zip; the released ones have some millions."""
MOST_NUMBER = 1 << 53
"""What no id or number of pixels reaches; above it, not every whole number can be written as a decimal."""
COUNT_COLUMNS = ("n_objects", "n_relations", "n_attributes", "n_connected_components")
"""Columns that say more of the subgraph, and are not read."""


class ReleasedFile(NamedTuple):
    """A released file.

    Attributes:
        path: the file, or the zip that holds it.
        member: its name in that zip; "" where it is in none.
        family: family of its sets.
        foil_type: of a productivity file, else "".
        complexity: number of atoms of a productivity file, else 0.
        split: of a systematicity file, else "".
        corpus: training corpus of a systematicity file, as its name has it, else "".
    """

    path: str
    member: str
    family: str
    foil_type: str = ""
    complexity: int = 0
    split: str = ""
    corpus: str = ""

    def __str__(self) -> str:
        return f"{self.path}: {self.member}" if self.member else self.path

    def read_bytes(self) -> bytes:
        """Reads the file.

        Raises:
            ValueError: the zip is damaged, or the file in it too large.
        """
        if not self.member:
            return Path(self.path).read_bytes()
        with named_zip_faults(self), zipfile.ZipFile(self.path) as archive:
            n_bytes = archive.getinfo(self.member).file_size
            if n_bytes > MOST_BYTES:
                raise ValueError(f"{self}: has {n_bytes:,} bytes, more than {MOST_BYTES:,}")
            return archive.read(self.member)


class ReleasedRow(NamedTuple):
    """A row of a released file.

    Attributes:
        line: line of the file on which it ends.
        image_id: image of Visual Genome.
        region_id: region of a systematicity row, else None.
        box: x, y, width, height of the crop in pixels.
        caption: the truth.
        foils: by foil_type.
    """

    line: int
    image_id: int
    region_id: int | None
    box: Box
    caption: str
    foils: dict[str, tuple[str, ...]]


def is_released_name(name: str) -> bool:
    """Says whether a file is named as a released one."""
    return bool(PRODUCTIVITY_NAME.fullmatch(name) or SYSTEMATICITY_NAME.fullmatch(name))


def find_released_paths(folder: str) -> list[str]:
    """Returns the released files in a folder and the zips in it, at any depth, sorted."""
    found = (path for path in Path(folder).rglob("*") if path.suffix == ".zip" or is_released_name(path.name))
    return sorted(str(path) for path in found if path.is_file())


def list_released_files(paths: Iterable[str], family: str) -> list[ReleasedFile]:
    """Returns the files of a family, in a fixed order; an unpacked one is preferred to one in a zip.

    Args:
        paths: CSV files and zips.
        family: family of the sets.

    Raises:
        ValueError: two files have one name, or a zip is damaged.
    """
    found: dict[str, ReleasedFile] = {}
    for path in sorted(paths, key=lambda path: (is_zip(path), path)):
        for member in _members(path) if is_zip(path) else ("",):
            name = PurePosixPath(member or path).name
            file = _named(path, member, name)
            if file is None or file.family != family or (member and name in found and not found[name].member):
                continue
            if name in found:
                raise ValueError(f"two released files have one name: {found[name]} and {file}; remove one")
            found[name] = file
    return sorted(found.values(), key=lambda file: (file.corpus, file.split, file.foil_type, file.complexity))


def _members(path: str) -> list[str]:
    """Returns the files in a zip, without what macOS adds."""
    with named_zip_faults(path), zipfile.ZipFile(path) as archive:
        return sorted(name for name in archive.namelist() if not name.startswith("__MACOSX/"))


def _named(path: str, member: str, name: str) -> ReleasedFile | None:
    """Returns a file with what its name says; None where it is no released one."""
    if found := PRODUCTIVITY_NAME.fullmatch(name):
        return ReleasedFile(path, member, PRODUCTIVITY, foil_type=found[1], complexity=int(found[2]))
    if found := SYSTEMATICITY_NAME.fullmatch(name):
        return ReleasedFile(path, member, SYSTEMATICITY, split=SPLIT_OF_NAME[found[1]], corpus=found[2])
    return None


def read_released_rows(file: ReleasedFile, is_wanted: Callable[[int], bool] = lambda _: True) -> Iterator[ReleasedRow]:
    """Yields the rows of a file.

    Args:
        file: the file.
        is_wanted: says whether the rows of an image are read.

    Raises:
        ValueError: the file is no CSV in UTF-8, a column is missing, or a cell is not of its form; names file, line,
            column and value.
    """
    is_syst = file.family == SYSTEMATICITY
    foils_columns = FOILS_COLUMNS if is_syst else {file.foil_type: FOILS_COLUMN}
    needed = {"image_id", "caption", *BOX_COLUMNS, *foils_columns.values(), "region_id" if is_syst else "n"}
    with named_faults(file):
        rows = csv.DictReader(io.StringIO(file.read_bytes().decode("utf-8-sig"), newline=""))
        if missing := needed.difference(rows.fieldnames or ()):
            raise ValueError(f"{file}: the columns {sorted(missing)} are missing; it has {rows.fieldnames!r:.300}")
        numbered = [(rows.line_num, row) for row in rows]
    for line, row in numbered:
        where = f"{file}, line {line}"
        if short := [name for name in sorted(needed) if row[name] is None]:
            raise ValueError(f"{where}: the row ends before the columns {short}")
        image_id = _whole(row["image_id"], f"{where}, column image_id")
        if not is_wanted(image_id):
            continue
        if not is_syst and _whole(row["n"], f"{where}, column n") != file.complexity:
            raise ValueError(f"{where}: n is {row['n']}, and the file's name says {file.complexity}")
        yield ReleasedRow(
            line=line,
            image_id=image_id,
            region_id=_whole(row["region_id"], f"{where}, column region_id") if is_syst else None,
            box=tuple(_whole(row[name], f"{where}, column {name}") for name in BOX_COLUMNS),
            caption=row["caption"],
            foils={name: parse_foils(row[column], f"{where}, {column}") for name, column in foils_columns.items()},
        )


def parse_foils(cell: str, where: str) -> tuple[str, ...]:
    """Returns the foils of a cell, which is a Python list, or a set, of strings; no code in it is run.

    # ASSUME: the foils of a set stand in alphabetical order, as a set has none; only ties could depend on it.

    Args:
        cell: content of the cell.
        where: file, line and column, for the error.

    Raises:
        ValueError: the cell is something else.
    """
    try:
        found = ast.literal_eval(cell)
        "".join(filter(lambda foil: isinstance(foil, str), found)).encode()  # fails for half of a surrogate pair
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError(f"{where}: no list or set of texts: {cell!r:.200}") from error
    if not isinstance(found, (list, set)) or not all(isinstance(foil, str) for foil in found):
        raise ValueError(f"{where}: no list or set of texts: {cell!r:.200}")
    return tuple(sorted(found) if isinstance(found, set) else found)


def _whole(cell: str, where: str) -> int:
    """Returns a whole number, which may be written "237.0"."""
    try:
        value = float(cell)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: no number: {cell!r:.200}") from error
    if not value.is_integer() or abs(value) >= MOST_NUMBER:
        raise ValueError(f"{where}: no whole number: {cell!r:.200}")
    return int(value)


def missing_names(files: Sequence[ReleasedFile], family: str, corpora: Iterable[str]) -> list[str]:
    """Returns which of the files of a full release are not among some, for the log."""
    names = {PurePosixPath(file.member or file.path).name for file in files}
    if family == PRODUCTIVITY:
        types, complexities = ("atom", "swap", "negate"), range(4, 13)
        full = [f"prod_vg_hard_negs_{name}_complexity_{n}.csv" for name in types for n in complexities]
    else:
        full = [f"syst_vg_hard_negs_{split}_compounds_in_{name}.csv" for name in corpora for split in SPLIT_OF_NAME]
    return [name for name in full if name not in names]
