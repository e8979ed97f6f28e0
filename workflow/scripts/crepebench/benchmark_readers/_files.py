"""Read the files of other benchmarks, so that whatever is wrong names file and place."""

import csv
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from crepebench.file_faults import named_faults

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


def stem_of(path: str) -> str:
    """Returns the name of a file up to its first dot that parts a suffix: "add_att" of "add_att.sample.json"."""
    name = PurePosixPath(path).name
    for suffix in (".json", ".jsonl", ".csv", ".sample"):
        name = name.removesuffix(suffix)
    return name


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
