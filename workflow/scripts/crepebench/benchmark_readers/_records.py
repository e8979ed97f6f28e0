"""Read the values of records of other benchmarks, so that whatever is wrong names file, record and value."""

import logging
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from crepebench.accounting import KEPT, READ
from crepebench.benchmark_items import Item

logger = logging.getLogger(__name__)

CAPTION_EMPTY = "caption_empty"
"""Reason of a record in which a caption has no word."""


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


def check_options(options: Mapping, known: Collection[str], reader: str) -> None:
    """Raises ValueError for an option that a reader does not have."""
    if unknown := sorted(set(options).difference(known)):
        raise ValueError(f"reader {reader}: has no option {unknown}; it has {sorted(known)}")


def items_of(
    records: Iterable[tuple], make: Callable[..., tuple[Item, ...] | str], counts: Counter | None
) -> Iterator[Item]:
    """Yields the items of records of a file, counts the records, and logs what was dropped.

    Args:
        records: place, key and value of each.
        make: gives of these the items, or the reason why there are none.
        counts: takes READ, KEPT and reasons, of records; READ = KEPT + reasons.

    Raises:
        ValueError: two records give the same id, or an id is empty; and what `make` raises.
    """
    own: Counter = Counter()
    seen: set[str] = set()
    for where, key, record in records:
        found = make(where, key, record)
        if isinstance(found, tuple) and any(not caption.strip() for item in found for caption in item.captions):
            found = CAPTION_EMPTY
        own.update((READ, found if isinstance(found, str) else KEPT))
        if isinstance(found, str):
            continue
        for item in found:
            if not text(item.id, f"{where}, id").strip():
                raise ValueError(f"{where}: its id is empty")
            if item.id in seen:
                raise ValueError(f"{where}: an earlier record has its id {item.id!r:.200}")
            seen.add(item.id)
            yield item
    if own[READ] > own[KEPT]:
        logger.warning("of %d records %d are kept: %s", own[READ], own[KEPT], dict(sorted(own.items())))
    if counts is not None:
        counts.update(own)
