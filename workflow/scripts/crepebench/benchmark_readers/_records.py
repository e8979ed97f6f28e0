"""Read the records of benchmark files, so that whatever is wrong names file, record and value."""

import csv
import json
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from crepebench.accounting import KEPT, READ
from crepebench.benchmark_items import Item
from crepebench.file_faults import named_faults

CAPTION_EMPTY = "caption_empty"
"""Reason of a record in which a caption has no word."""
MOST_CELL = 1 << 27
"""Characters of the longest cell of a CSV file."""


def read_json(path: str) -> object:
    """Reads a JSON file.

    Raises:
        ValueError: it is no JSON in UTF-8, or a key of an object stands twice, so that a record would be lost.
    """
    with named_faults(path), open(path, encoding="utf-8-sig") as file:
        return _parse(file.read(), path)


def read_json_lines(path: str) -> Iterator[tuple[str, object]]:
    """Yields place ("file, line 3") and value of each line that is not empty.

    Raises:
        ValueError: a line is no JSON; names it.
    """
    with named_faults(path), open(path, encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            where = f"{path}, line {number}"
            if line.strip():
                yield where, _parse(line, where)


def _parse(text: str, where: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=lambda pairs: _object(pairs, where))
    except RecursionError as error:
        raise ValueError(f"{where}: no JSON (too many brackets)") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"{where}: no JSON ({error})") from error
    except ValueError as error:
        raise error if where in str(error) else ValueError(f"{where}: no JSON ({error})") from error


def _object(pairs: list[tuple[str, object]], where: str) -> dict:
    found = dict(pairs)
    if len(found) < len(pairs):
        (name, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"{where}: the key {name!r:.200} stands twice in one object")
    return found


def read_csv(path: str, needed: Collection[str]) -> Iterator[tuple[str, int, dict[str, str]]]:
    """Yields place, number from 1, and cells by column, of each row; columns may stand in any order.

    Args:
        path: CSV file with a head row.
        needed: columns that are read; others are left alone.

    Raises:
        ValueError: it is no CSV in UTF-8, or lacks a column or a cell; names file, line and column.
    """
    csv.field_size_limit(MOST_CELL)
    with named_faults(path), open(path, newline="", encoding="utf-8-sig") as file:
        rows = csv.DictReader(file)
        names = list(rows.fieldnames or ())
        if missing := sorted(set(needed).difference(names)):
            raise ValueError(f"{path}: the columns {missing} are missing; it has {names!r:.300}")
        if repeated := sorted(name for name in needed if names.count(name) > 1):
            raise ValueError(f"{path}: the columns {repeated} stand twice")
        for number, row in enumerate(rows, start=1):
            where = f"{path}, line {rows.line_num}"
            if short := sorted(name for name in needed if row[name] is None):
                raise ValueError(f"{where}: the row ends before the columns {short}")
            yield where, number, row


def listed(value: object, path: str) -> Iterator[tuple[str, int, object]]:
    """Yields place, number from 0, and value, of what must be a list.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(value, list):
        raise ValueError(f"{path}: holds no list of records, but {type(value).__name__}")
    for number, record in enumerate(value):
        yield f"{path}, record {number}", number, record


def keyed(value: object, path: str) -> Iterator[tuple[str, str, object]]:
    """Yields place, key, and value, of what must be an object of records.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(value, dict):
        raise ValueError(f"{path}: holds no object of records, but {type(value).__name__}")
    for key, record in value.items():
        yield f"{path}, record {key!r:.100}", key, record


def cell(record: object, name: str, where: str) -> object:
    """Returns a value of a record.

    Raises:
        ValueError: the record is no object, or has no such key.
    """
    if not isinstance(record, dict):
        raise ValueError(f"{where}: is no object: {record!r:.200}")
    if name not in record:
        raise ValueError(f"{where}: the key {name!r} is missing; it has {sorted(record)!r:.300}")
    return record[name]


def text(value: object, where: str) -> str:
    """Returns a text as it stands, which may be empty.

    Raises:
        ValueError: it is no text, or holds half of a surrogate pair and cannot be written.
    """
    if not isinstance(value, str):
        raise ValueError(f"{where}: no text: {value!r:.200}")
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise ValueError(f"{where}: no text in Unicode: {value!r:.200}")
    return value


def text_of(record: object, name: str, where: str) -> str:
    """Returns the text of a key; errors are those of `cell` and `text`."""
    return text(cell(record, name, where), f"{where}, {name}")


def number(value: object, where: str) -> float:
    """Returns a finite number, which may be written as a text.

    Raises:
        ValueError: it is none.
    """
    try:
        found = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not math.isfinite(found):
        raise ValueError(f"{where}: no number: {value!r:.200}")
    return found


def whole(value: object, where: str) -> int:
    """Returns a whole number, which may be written "0" or "0.0".

    Raises:
        ValueError: it is none.
    """
    found = number(value, where)
    if not found.is_integer():
        raise ValueError(f"{where}: no whole number: {value!r:.200}")
    return int(found)


def box(values: object, where: str) -> tuple[float, float, float, float]:
    """Returns x, y, width, height of a box in pixels.

    Raises:
        ValueError: these are not four numbers, or width or height is not above 0.
    """
    if not isinstance(values, list | tuple) or len(values) != 4:
        raise ValueError(f"{where}: no box of four numbers: {values!r:.200}")
    found = tuple(number(value, where) for value in values)
    if min(found[2:]) <= 0:
        raise ValueError(f"{where}: the box has no area: {values!r:.200}")
    return found


def record_id(value: object, where: str) -> str:
    """Returns an id as a text.

    Raises:
        ValueError: it is neither a text nor a whole number.
    """
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else text(value, where)


def base_name(value: object, where: str) -> str:
    """Returns the last part of a path or address, by which an image is found; the prefix is that of the authors' disk.

    Raises:
        ValueError: it has no last part.
    """
    name = PurePosixPath(text(value, where).strip().replace("\\", "/")).name
    if name in ("", ".", "..") or not name.isprintable():
        raise ValueError(f"{where}: names no image file: {value!r:.200}")
    return name


def stem_of(path: str) -> str:
    """Returns the name of a file up to its first dot that parts a suffix: "add_att" of "add_att.sample.json"."""
    name = PurePosixPath(path).name
    for suffix in (".json", ".jsonl", ".csv", ".sample"):
        name = name.removesuffix(suffix)
    return name


def check_options(options: Mapping, known: Collection[str], reader: str) -> None:
    """Raises ValueError for an option that a reader does not have."""
    if unknown := sorted(set(options).difference(known)):
        raise ValueError(f"reader {reader}: has no option {unknown}; it has {sorted(known)}")


def part_files(paths: Sequence[str], options: Mapping, option: str) -> tuple[list[str], str | None]:
    """Parts the file that an option names from the others; so it is an input of the rule like these.

    Args:
        paths: files of a definition.
        options: its options.
        option: one whose value is the path, or the name, of one of the files.

    Returns:
        The other files; and that file, None where the option is not given.

    Raises:
        ValueError: the option names none of the files.
    """
    if not options.get(option):
        return list(paths), None
    wanted = str(options[option])
    for path in paths:
        if wanted in (path, PurePosixPath(path).name):
            return [other for other in paths if other != path], path
    raise ValueError(f"option {option}: {wanted!r:.200} is none of the files {', '.join(paths)}")


def items_of(
    records: Iterable[tuple], make: Callable[..., tuple[Item, ...] | str], counts: Counter | None
) -> Iterator[Item]:
    """Yields the items of records, and counts the records.

    Args:
        records: place, key and value of each.
        make: gives of these the items, or the reason why there are none.
        counts: takes READ, KEPT and reasons, of records; READ = KEPT + reasons.

    Raises:
        ValueError: two records give the same id, or an id is empty; and what `make` raises.
    """
    counts = Counter() if counts is None else counts
    seen: set[str] = set()
    for where, key, record in records:
        found = make(where, key, record)
        if isinstance(found, tuple) and any(not caption.strip() for item in found for caption in item.captions):
            found = CAPTION_EMPTY
        counts[READ] += 1
        if isinstance(found, str):
            counts[found] += 1
            continue
        counts[KEPT] += 1
        for item in found:
            if not text(item.id, f"{where}, id").strip():
                raise ValueError(f"{where}: its id is empty")
            if item.id in seen:
                raise ValueError(f"{where}: an earlier record has its id {item.id!r:.200}")
            seen.add(item.id)
            yield item
