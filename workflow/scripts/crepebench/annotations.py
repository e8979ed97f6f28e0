"""Read Visual Genome's annotation files: entries streamed out of the JSON array, and fields in every version's form.

A file is one JSON array with an entry for each image, zipped or unpacked. Versions 1.0, 1.2 and 1.4 name the same
fields differently; the functions here accept each form, and refuse any other by file, image, place and fields met.
"""

import codecs
import json
import logging
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, TypeVar

from crepebench.file_faults import DAMAGED_ZIP
from crepebench.texts import normalise_text

logger = logging.getLogger(__name__)
T = TypeVar("T")

PROGRESS_STEP = 20_000
CHUNK_BYTES = 1 << 20
MOST_ENTRY_CHARACTERS = 1 << 26
"""Longest entry; a longer one is none, but a damaged file, or one made to fill the memory."""
LONGEST_TOKEN = 32
"""Characters before the end of a chunk within which an error may only mean that a number or word is cut in two."""
LONG_NUMBER = 1 << 63
"""What no id or number of pixels in a table reaches."""
NO_ID = -1
"""What some files hold where there is no id; others hold null."""
BOX_FIELDS = {"x": ("x",), "y": ("y",), "width": ("w", "width"), "height": ("h", "height")}
"""Columns of an object's box, and the fields that may hold them."""
NAME_FIELDS = ("names", "name", "object_names")
EDGE_PUNCTUATION = " .,;:!?"
WHITE_SPACE = re.compile(r"[ \t\n\r]*")

START, FIRST, VALUE, NEXT, END = "start", "first", "value", "next", "end"
STEPS = {(START, "["): FIRST, (FIRST, "]"): END, (NEXT, ","): VALUE, (NEXT, "]"): END}
"""Characters between the entries of an array, and what may follow them."""


class FormError(ValueError):
    """An entry or item has a form that no version of Visual Genome has."""


class DamagedJsonError(ValueError):
    """A text is no complete JSON array of objects."""


def read_entries(path: str) -> Iterator[dict]:
    """Streams the entries of one annotation file; memory does not grow with its size.

    Args:
        path: a zip with one JSON file, or a JSON file.

    Raises:
        ValueError: the zip is damaged, has no JSON file or more than one, or the JSON is damaged or no array.
    """
    n_read = 0
    with _open_json(path) as stream:
        entries = _array_entries(stream)
        while True:
            try:
                entry = next(entries, None)
            except (DamagedJsonError, UnicodeDecodeError) as error:
                where = f"after {n_read} entries"
                raise ValueError(f"{path}: its JSON is damaged ({error}, {where}); fetch it again") from error
            except DAMAGED_ZIP as error:
                if not path.endswith(".zip"):
                    raise
                raise ValueError(f"{path}: the zip is damaged ({error}); fetch it again") from error
            if entry is None:
                break
            n_read += 1
            yield entry
            if n_read % PROGRESS_STEP == 0:
                logger.info("%s: %d images read", Path(path).name, n_read)
    if n_read == 0:
        raise ValueError(f"{path}: it holds no JSON array with one entry per image")


@contextmanager
def _open_json(path: str) -> Iterator[BinaryIO]:
    """Opens the one JSON file in a zip, or a file that is no zip by its name."""
    if not path.endswith(".zip"):
        with open(path, "rb") as stream:
            yield stream
        return
    with ExitStack() as opened:
        try:
            archive = opened.enter_context(zipfile.ZipFile(path))
            names = archive.namelist()
            members = [name for name in names if name.endswith(".json") and not name.startswith("__MACOSX/")]
            stream = opened.enter_context(archive.open(members[0])) if len(members) == 1 else None
        except FileNotFoundError:
            raise
        except DAMAGED_ZIP as error:
            raise ValueError(f"{path}: the zip is damaged ({error}); fetch it again") from error
        if stream is None:
            raise ValueError(f"{path}: expected one JSON file inside, found {members}")
        yield stream


def _array_entries(stream: BinaryIO) -> Iterator[dict]:
    """Yields the objects of a JSON array; nothing where the text is no array.

    The standard library's decoder reads one entry after the other from a buffer. Where one is cut in two by the end
    of the buffer, more is read and the entry is begun again.

    Raises:
        DamagedJsonError: the text ends too early, goes on after the array, or is no JSON.
        UnicodeDecodeError: the text is not UTF-8.
    """
    decode_text, decode_entry = codecs.getincrementaldecoder("utf-8-sig")().decode, json.JSONDecoder().raw_decode
    text, place, state, is_whole = "", 0, START, False
    while True:
        place = WHITE_SPACE.match(text, place).end()
        mark = text[place : place + 1]
        if mark == "{" and state in (FIRST, VALUE):
            try:
                entry, place = decode_entry(text, place)
            except json.JSONDecodeError as error:
                is_cut = error.msg.startswith("Unterminated string") or error.pos > len(text) - LONGEST_TOKEN
                if is_whole or not is_cut:
                    raise DamagedJsonError(error.msg) from error
            except (ValueError, RecursionError) as error:  # a number of thousands of digits, or thousands of brackets
                raise DamagedJsonError(str(error)) from error
            else:
                yield entry
                state = NEXT
                continue
        elif mark and (state, mark) in STEPS:
            place, state = place + 1, STEPS[state, mark]
            continue
        elif mark and state == START:
            return  # something else than an array
        elif mark:
            raise DamagedJsonError(f"{mark!r} where {'an entry' if state in (FIRST, VALUE) else 'a comma'} should be")
        elif is_whole:
            break
        if len(text) - place > MOST_ENTRY_CHARACTERS:
            raise DamagedJsonError(f"an entry has more than {MOST_ENTRY_CHARACTERS:,} characters")
        chunk = stream.read(max(CHUNK_BYTES, len(text) - place))  # doubled for an entry that is longer than a chunk
        is_whole = not chunk
        text, place = text[place:] + decode_text(chunk, final=is_whole), 0
    if state != END:
        raise DamagedJsonError("the text ends within the array")


def read_items(entries: Iterable[dict], path: str, list_name: str) -> Iterator[tuple[int | None, list]]:
    """Yields image id and items of each entry; a null list has no items.

    Args:
        entries: entries of one file.
        path: that file, for messages.
        list_name: field of an entry that holds its items.

    Raises:
        ValueError: an entry has no image id or no list; names file and entry.
    """
    for number, entry in enumerate(entries):
        try:
            image_id, items = identifier(entry, "image_id", "id"), item_list(entry, list_name)
        except FormError as error:
            raise ValueError(f"{path}: entry {number}: {error}") from error
        yield image_id, items


def convert_items(
    images: Iterable[tuple[int | None, list]], path: str, list_name: str, convert: Callable[[int | None, dict], T]
) -> Iterator[T]:
    """Yields what `convert` makes of each item.

    Args:
        images: image id and items of each image.
        path: file that they are from, for messages.
        list_name: field of an entry that holds the items, for messages.
        convert: takes image id and item.

    Raises:
        ValueError: an item has an unknown form; names file, image, place of the item and the fields met.
    """
    for image_id, items in images:
        for index, item in enumerate(items):
            try:
                yield convert(image_id, item)
            except FormError as error:
                of_image = "" if image_id is None else f"image {image_id}, "
                raise ValueError(f"{path}: {of_image}{list_name}[{index}]: {error}") from error


def field(item: dict, *names: str):
    """Returns the first of the fields that is there.

    Raises:
        FormError: none is, or `item` is no object.
    """
    if not isinstance(item, dict):
        raise FormError(f"{item!r:.80} is no JSON object")
    for name in names:
        if name in item:
            return item[name]
    raise FormError(f"none of the fields {list(names)} is there, only {sorted(item)}")


def identifier(item: dict, *names: str) -> int | None:
    """Returns an id, None where it is null or -1.

    Raises:
        FormError: no such field is there, or it holds something else.
    """
    value = field(item, *names)
    return None if value is None or value == NO_ID else _whole_number(value, names[0])


def whole_number(item: dict, *names: str) -> int:
    """Returns a number of pixels.

    Raises:
        FormError: no such field is there, or it holds no whole number.
    """
    return _whole_number(field(item, *names), names[0])


def pixels(item: dict, name: str) -> float | None:
    """Returns a number of pixels of a region's box, which may be a fraction or null.

    Raises:
        FormError: no such field is there, or it holds no number.
    """
    value = field(item, name)
    if value is None or type(value) is float:
        return value
    if type(value) is int and abs(value) < LONG_NUMBER:  # no bool
        return float(value)
    raise FormError(f"{name} is {value!r:.80}, not a number of pixels")


def _whole_number(value, name: str) -> int:
    is_whole = type(value) is int or (isinstance(value, float) and value.is_integer())  # no bool
    if is_whole and abs(value) < LONG_NUMBER:
        return int(value)
    raise FormError(f"{name} is {value!r:.80}, not a whole number of at most 63 bits")


def check_text(text, name: str) -> str:
    """Returns a text.

    Raises:
        FormError: it is none, or holds half of a surrogate pair, which no file can.
    """
    if not isinstance(text, str):
        raise FormError(f"{name} is {text!r:.80}, not a text")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise FormError(f"{name} is {text!r:.80}, which holds half of a character") from error
    return text


def text_list(item: dict, name: str) -> list[str]:
    """Returns the texts of a field that may be absent, null, one text, or a list of texts.

    Raises:
        FormError: it holds something else, or `item` is no object.
    """
    if not isinstance(item, dict):
        raise FormError(f"{item!r:.80} is no JSON object")
    value = item.get(name)
    if not value:
        return []
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str | None) for text in texts):
        raise FormError(f"{name} is {value!r:.80}, neither a text nor a list of texts")
    return [check_text(text, name) for text in texts if text]


def item_list(item: dict, name: str) -> list:
    """Returns the list in a field; nothing where it is null.

    Raises:
        FormError: no such field is there, or it holds something else.
    """
    items = field(item, name)
    if items is not None and not isinstance(items, list):
        raise FormError(f"{name} is {items!r:.80}, not a list")
    return items or []


def names_of(item: dict) -> list[str]:
    """Returns all names of an object or endpoint in their normal form, whichever field holds them.

    Raises:
        FormError: no field of names is there.
    """
    field(item, *NAME_FIELDS)
    names = [canonical_name(text) for name in NAME_FIELDS if name in item for text in text_list(item, name)]
    return [name for name in dict.fromkeys(names) if name]


@lru_cache(maxsize=200_000)
def canonical_name(text: str) -> str:
    """Returns the normal form of a name, predicate or attribute.

    Unicode NFC, lower case, one space between words, no punctuation of a sentence at either end. Hyphens, apostrophes
    and quotation marks stay.
    """
    return normalise_text(text).lower().strip(EDGE_PUNCTUATION)
