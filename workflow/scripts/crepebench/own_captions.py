"""Read a user's own test captions: a table of image, optional box, caption and optional foils.

Rows that cannot be used are set aside, each for a reason. docs/own_captions.md explains the columns.
"""

import csv
import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from crepebench.boxes import Box, clip_box
from crepebench.file_faults import named_faults
from crepebench.foils import normal_text
from crepebench.images import IMAGE_MISSING, BadImageError, decode_image
from crepebench.released_files import parse_foils
from crepebench.texts import normalise_text

IMAGE, IMAGE_ID, CAPTION, FOILS = "image", "image_id", "caption", "foils"
BOX_COLUMNS = ("x", "y", "width", "height")
COLUMNS = (IMAGE, IMAGE_ID, *BOX_COLUMNS, CAPTION, FOILS)
NO_IMAGE_NAMED, IMAGE_UNKNOWN = "image_not_named", "image_unknown"
CAPTION_EMPTY, CAPTION_INVALID = "caption_empty", "caption_invalid"
BOX_INVALID, BOX_OUTSIDE, FOILS_UNREADABLE = "box_invalid", "box_outside", "foils_unreadable"
FOIL_EMPTY, FOIL_IS_CAPTION, FOIL_REPEATED, ROW_REPEATED = (
    "foil_empty",
    "foil_is_caption",
    "foil_repeated",
    "row_repeated",
)
"""Reasons why a row is set aside, beside those of `crepebench.images`."""


class OwnRow(NamedTuple):
    """A row that can be used.

    Attributes:
        number: its number in the table, from 1.
        image_id: of Visual Genome; negative for an image file.
        box: x, y, width, height of the crop in pixels, within the image.
        caption: the truth.
        foils: false captions; empty where they are to be made.
    """

    number: int
    image_id: int
    box: Box
    caption: str
    foils: tuple[str, ...]


class SetAside(NamedTuple):
    """A row that cannot be used: its number, from 1, the reason, and what in it is wrong."""

    number: int
    reason: str
    value: str


class _RowError(Exception):
    def __init__(self, reason: str, value: object = ""):
        super().__init__(reason)
        self.reason, self.value = reason, str(value)


def read_records(path: str) -> list[dict]:
    """Reads the rows of a table as they stand: CSV, Parquet or JSON lines, as its suffix says.

    Raises:
        ValueError: the suffix or a line is unknown, or the table lacks a column; names file and line.
    """
    readers = {".csv": _read_csv, ".parquet": _read_parquet, ".jsonl": _read_jsonl}
    suffix = Path(path).suffix
    if suffix not in readers:
        raise ValueError(f"{path}: own captions come as {', '.join(readers)}, not as {suffix!r}")
    with named_faults(path):
        records = readers[suffix](path)
    names = set().union(*(record.keys() for record in records))
    if records and (CAPTION not in names or not names & {IMAGE, IMAGE_ID}):
        raise ValueError(f"{path}: needs the columns {CAPTION}, and {IMAGE} or {IMAGE_ID}; it has {sorted(names)}")
    return records


def _read_csv(path: str) -> list[dict]:
    with open(path, newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file, restkey="", restval=""))


def _read_parquet(path: str) -> list[dict]:
    try:
        return pq.read_table(path).to_pylist()
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise ValueError(f"{path}: no Parquet file, or damaged ({error})") from error


def _read_jsonl(path: str) -> list[dict]:
    records = []
    with open(path, encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            try:
                record = json.loads(line) if line.strip() else None
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{path}, line {number}: no JSON ({error})") from error
            if record is not None and not isinstance(record, dict):
                raise ValueError(f"{path}, line {number}: no JSON object: {line!r:.100}")
            records += [record] if record is not None else []
    return records


class OwnImages:
    """The images that rows name: files, by path from the table's folder, and images of Visual Genome, by id.

    Args:
        folder: folder of the table.
        known: rows of table IMAGES by image_id.
    """

    def __init__(self, folder: str, known: Mapping[int, Mapping]):
        self._folder, self._known = Path(folder), known
        self._files: dict[str, dict | _RowError] = {}
        self.used: dict[int, dict] = {}

    def find(self, record: Mapping) -> dict:
        """Returns the row of table IMAGES for what a record names."""
        path, image_id = (_cell(record, name) for name in (IMAGE, IMAGE_ID))
        if (path == "") == (image_id == ""):
            raise _RowError(NO_IMAGE_NAMED, f"image {path!r}, image_id {image_id!r}")
        image = self._of_id(image_id) if path == "" else self._of_file(str(path))
        self.used[image["image_id"]] = image
        return image

    def _of_id(self, cell: object) -> dict:
        number = _number(cell, IMAGE_UNKNOWN)
        if number not in self._known:
            raise _RowError(IMAGE_UNKNOWN, cell)
        if self._known[number]["archive"] is None:
            raise _RowError(IMAGE_MISSING, cell)
        return dict(self._known[number])

    def _of_file(self, path: str) -> dict:
        if path not in self._files:
            self._files[path] = self._read_file(path)
        found = self._files[path]
        if isinstance(found, _RowError):
            raise found
        return found

    def _read_file(self, path: str) -> "dict | _RowError":
        place = self._folder / path
        try:
            if not place.is_file():  # a device would never end
                return _RowError(IMAGE_MISSING, path)
            data = place.read_bytes()
            width, height = decode_image(data).picture.size
        except BadImageError as error:
            return _RowError(error.reason, path)
        except (OSError, ValueError):  # ValueError: no file can have this name
            return _RowError(IMAGE_MISSING, path)
        own = {"archive": str(place.parent), "path": place.name, "crc32": zlib.crc32(data)}
        size = {"width": width, "height": height}
        return {"image_id": file_image_id(path), **size, **own, "coco_id": None, "flickr_id": None}


def file_image_id(path: str) -> int:
    """Returns the id of an image file: a negative number that depends on its path in the table alone."""
    return -1 - int(hashlib.sha256(path.encode()).hexdigest()[:15], 16)


def use_records(records: Sequence[Mapping], images: OwnImages) -> Iterator[OwnRow | SetAside]:
    """Yields for each record the row that it gives, or why it is set aside.

    Args:
        records: what `read_records` returns.
        images: finds images, and notes those that are used.
    """
    seen: set[tuple] = set()
    for number, record in enumerate(records, start=1):
        try:
            row = _use_record(number, record, images)
            if row[1:4] in seen:
                raise _RowError(ROW_REPEATED, row.caption)
        except _RowError as error:
            yield SetAside(number, error.reason, error.value)
            continue
        seen.add(row[1:4])
        yield row


def _use_record(number: int, record: Mapping, images: OwnImages) -> OwnRow:
    caption = _caption(record)
    foils = _foils(record, caption)
    image = images.find(record)
    return OwnRow(number, image["image_id"], _box(record, image), caption, foils)


def _caption(record: Mapping) -> str:
    """Returns the caption, normalised."""
    cell = _cell(record, CAPTION)
    if not isinstance(cell, str) or not _is_whole(cell):
        raise _RowError(CAPTION_INVALID, repr(cell))
    caption = normalise_text(cell)
    if not caption:
        raise _RowError(CAPTION_EMPTY)
    return caption


def _is_whole(text: str) -> bool:
    """Says whether a text can be written to a file: JSON may hold half of a surrogate pair."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def _box(record: Mapping, image: Mapping) -> Box:
    """Returns the crop: the box cut to the image, or all of the image where there is none."""
    cells, size = [_cell(record, name) for name in BOX_COLUMNS], (image["width"], image["height"])
    if all(cell == "" for cell in cells):
        return (0, 0, *size)
    box = tuple(_number(cell, BOX_INVALID) for cell in cells)
    if min(box[2:]) <= 0:
        raise _RowError(BOX_INVALID, box)
    cut = clip_box(box, size)
    if cut is None:
        raise _RowError(BOX_OUTSIDE, f"{box} of {size}")
    return cut


def _foils(record: Mapping, caption: str) -> tuple[str, ...]:
    """Returns the foils of a record; none where they are to be made."""
    cell = _cell(record, FOILS)
    if isinstance(cell, str) and cell:
        try:
            cell = parse_foils(cell, FOILS)
        except ValueError as error:
            raise _RowError(FOILS_UNREADABLE, cell) from error
    found = cell or ()
    if not isinstance(found, list | tuple) or not all(isinstance(foil, str) and _is_whole(foil) for foil in found):
        raise _RowError(FOILS_UNREADABLE, repr(cell))
    seen = {normal_text(caption): FOIL_IS_CAPTION}
    for foil in found:
        text = normal_text(normalise_text(foil))
        if not text or text in seen:
            raise _RowError(seen.get(text, FOIL_EMPTY), foil)
        seen[text] = FOIL_REPEATED
    return tuple(map(normalise_text, found))


def _cell(record: Mapping, name: str) -> object:
    """Returns a cell; "" where it is missing, null or NaN."""
    value = record.get(name)
    is_nothing = value is None or value != value
    return "" if is_nothing else value.strip() if isinstance(value, str) else value


def _number(cell: object, reason: str) -> int:
    """Returns a whole number, which may be written "237.0"."""
    try:
        value = float(cell)
    except (TypeError, ValueError, OverflowError) as error:
        raise _RowError(reason, cell) from error
    if not value.is_integer():
        raise _RowError(reason, cell)
    return int(value)
