"""Make rows of Visual Genome's objects: names, synsets, box, and the attributes that another file holds.

Version 1.4 merges the boxes of one object and lists the ids of those that it dropped. Whatever names a dropped one is
given to the object that was kept.
"""

import json
from collections.abc import Iterable, Iterator

from crepebench.accounting import KEPT, READ
from crepebench.aliases import Aliases
from crepebench.annotations import (
    BOX_FIELDS,
    LONG_NUMBER,
    FormError,
    canonical_name,
    convert_items,
    identifier,
    names_of,
    text_list,
    whole_number,
)


class AttributeEntries:
    """Attributes by object id, kept as JSON texts to save memory; counts which were asked for."""

    def __init__(self):
        self._by_object: dict[int | None, str] = {}
        self._used: set[int] = set()

    def add(self, object_id: int | None, attributes: list[str]) -> None:
        """Adds attributes; an object may be listed several times (version 1.0)."""
        known = json.loads(self._by_object[object_id]) if object_id in self._by_object else []
        self._by_object[object_id] = json.dumps(list(dict.fromkeys(known + attributes)))

    def pop(self, *object_ids: int | None) -> list[str]:
        """Returns the attributes of an object under all its ids, each once, and marks them as used."""
        found: dict[str, None] = {}
        for object_id in object_ids:
            if object_id is not None and object_id in self._by_object:
                self._used.add(object_id)
                found |= dict.fromkeys(json.loads(self._by_object[object_id]))
        return list(found)

    def counts(self) -> dict[str, int]:
        """Returns accounting counts of objects with attributes."""
        n_unused = len(self._by_object) - len(self._used)
        counts = {READ: len(self._by_object), KEPT: len(self._used)}
        return {**counts, "object_unknown": n_unused} if n_unused else counts


class MergedObjects:
    """Ids of objects that were merged into others."""

    def __init__(self):
        self._kept: dict[int, int] = {}

    def add(self, object_id: int | None, merged_ids: Iterable[int]) -> None:
        """Notes that objects were merged into the one with `object_id`."""
        for merged_id in merged_ids:
            is_new = merged_id not in self._kept and self.resolve(object_id) != merged_id  # else it could be a circle
            if object_id is not None and is_new:
                self._kept[merged_id] = object_id

    def resolve(self, object_id: int | None) -> int | None:
        """Returns the id of the object that was kept; that of any other object as it is."""
        while object_id in self._kept:
            object_id = self._kept[object_id]
        return object_id


def attribute_items(
    images: Iterable[tuple[int | None, list]], path: str
) -> Iterator[tuple[int | None, list[tuple[int | None, list[str]]]]]:
    """Yields image id, and object id and attributes of each object that has some; an absent key and null mean none.

    Args:
        images: image id and items of each image.
        path: file that they are from.
    """
    for image_id, items in images:
        by_object: dict[int | None, list[str]] = {}
        for object_id, attributes in convert_items([(image_id, items)], path, "attributes", _attributes_of):
            if attributes:
                by_object.setdefault(object_id, []).extend(attributes)
        yield image_id, list(by_object.items())


def _attributes_of(_: int | None, item: dict) -> tuple[int | None, list[str]]:
    attributes = filter(None, map(canonical_name, text_list(item, "attributes")))
    return identifier(item, "object_id", "id"), list(attributes)


def object_rows(
    images: Iterable[tuple[int | None, list]],
    path: str,
    attributes: AttributeEntries,
    merged: MergedObjects,
    aliases: Aliases,
) -> Iterator[dict | str]:
    """Yields of each object its row of the objects table, or the reason for which it is dropped.

    Args:
        images: image id and items of each image.
        path: file that they are from.
        attributes: attributes of all objects.
        merged: collects the ids of merged objects.
        aliases: canonical names.
    """

    def convert(image_id: int | None, item: dict) -> dict | str:
        names = aliases.object_names(names_of(item))
        if not names:
            return "name_missing"
        object_id, merged_ids = identifier(item, "object_id", "id"), _merged_ids(item)
        merged.add(object_id, merged_ids)
        return {
            "image_id": image_id,
            "object_id": object_id,
            "merged_object_ids": merged_ids,
            "names": names,
            "synsets": text_list(item, "synsets"),
            "attributes": attributes.pop(object_id, *merged_ids),
            **{key: whole_number(item, *fields) for key, fields in BOX_FIELDS.items()},
        }

    return convert_items(images, path, "objects", convert)


def _merged_ids(item: dict) -> list[int]:
    ids = item.get("merged_object_ids") or []
    if not isinstance(ids, list) or not all(
        type(merged_id) is int and abs(merged_id) < LONG_NUMBER for merged_id in ids
    ):
        raise FormError(f"merged_object_ids is {ids!r:.80}, not a list of ids")
    return ids
