"""Turn Visual Genome's zipped JSON into tables, joined by image id.

Files are streamed out of their zips, so memory does not grow with their size. Field names of versions 1.0 and 1.2 are
accepted; an object's attributes come from attributes.json, where the key is absent for objects without any.
"""

import json
import logging
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from crepebench.accounting import KEPT, READ, write_accounting
from crepebench.image_files import ImageSearch
from crepebench.schema import IMAGES, OBJECTS, REGION_DESCRIPTIONS, RELATIONSHIPS, write_table

logger = logging.getLogger(__name__)

ANNOTATIONS = ("image_data", "objects", "attributes", "relationships", "region_descriptions")
PROGRESS_STEP = 20_000


def write_visual_genome(
    annotation_paths: list[str],
    image_places: list[str],
    images_path: str,
    missing_images_path: str,
    objects_path: str,
    relationships_path: str,
    region_descriptions_path: str,
    accounting_path: str,
    cfg: str,
) -> None:
    """Reads the annotation zips and writes the four tables of the stage.

    Args:
        annotation_paths: the five zips, in the order of `ANNOTATIONS`.
        image_places: zips and folders to search for the images, whether they are there or not.
        images_path: table IMAGES to write.
        missing_images_path: CSV of the images without a file to write.
        objects_path: table OBJECTS to write.
        relationships_path: table RELATIONSHIPS to write.
        region_descriptions_path: table REGION_DESCRIPTIONS to write.
        accounting_path: counts of the stage.
        cfg: JSON of `missing_images`, of the config block `visual_genome`.

    Raises:
        ValueError: a zip is damaged, its JSON is, or an entry has unknown fields; names file and entry. Or images are
            missing, and the config does not allow that.
    """
    files = dict(zip(ANNOTATIONS, annotation_paths, strict=True))
    units = ("image", "image_file", "object", "attribute_entry", "relationship", "region_description")
    counts = {unit: Counter() for unit in units}
    search = ImageSearch(image_places)
    write_table(images_path, IMAGES, image_rows(read_entries(files["image_data"]), search, counts["image"]))
    search.settle(missing_images_path, json.loads(cfg)["missing_images"])
    counts["image_file"].update(search.counts())
    attributes = read_attributes(read_entries(files["attributes"]), files["attributes"])
    objects = object_rows(read_entries(files["objects"]), files["objects"], attributes, counts["object"])
    write_table(objects_path, OBJECTS, objects)
    counts["attribute_entry"].update(attributes.counts())
    relationships = relationship_rows(
        read_entries(files["relationships"]), files["relationships"], counts["relationship"]
    )
    write_table(relationships_path, RELATIONSHIPS, relationships)
    regions = region_rows(
        read_entries(files["region_descriptions"]), files["region_descriptions"], counts["region_description"]
    )
    write_table(region_descriptions_path, REGION_DESCRIPTIONS, regions)
    write_accounting(accounting_path, "visual_genome", counts)


def read_entries(path: str) -> Iterator[dict]:
    """Streams the entries of the one JSON array in a zip.

    Raises:
        ValueError: the file is no zip, has no JSON member or more than one, or the JSON is damaged.
    """
    import ijson

    try:
        with zipfile.ZipFile(path) as archive:
            members = [name for name in archive.namelist() if name.endswith(".json")]
            if len(members) != 1:
                raise ValueError(f"{path}: expected one JSON file inside, found {members}")
            with archive.open(members[0]) as stream:
                n_read = 0
                for n_read, entry in enumerate(ijson.items(stream, "item", use_float=True), start=1):
                    yield entry
                    if n_read % PROGRESS_STEP == 0:
                        logger.info("%s: %d images read", Path(path).name, n_read)
                if n_read == 0:
                    raise ValueError(f"{path}: {members[0]} is no JSON array with one entry per image")
    except (zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{path}: the zip is damaged ({error}); fetch it again") from error
    except (ijson.JSONError, EOFError) as error:
        raise ValueError(f"{path}: the JSON inside is damaged ({error}); fetch it again") from error


def image_rows(entries: Iterable[dict], search: ImageSearch, counts: Counter) -> Iterator[dict]:
    """Yields rows of the images table, each with the place of its file if there is one."""
    seen = set()
    for entry in entries:
        counts[READ] += 1
        image_id = _field(entry, "image_data", "image_id", "id")
        if image_id in seen:
            counts["image_id_repeated"] += 1
            continue
        seen.add(image_id)
        file = search.find(image_id, entry.get("url"))
        counts[KEPT] += 1
        yield {
            "image_id": image_id,
            "width": _field(entry, "image_data", "width"),
            "height": _field(entry, "image_data", "height"),
            "archive": file and file.archive,
            "path": file and file.path,
            "crc32": file and file.crc32,
            "coco_id": entry.get("coco_id"),
            "flickr_id": entry.get("flickr_id"),
        }


class AttributeEntries:
    """Attributes by object id, kept as JSON texts to save memory; counts which were asked for."""

    def __init__(self):
        self._by_object: dict[int, str] = {}
        self._used: set[int] = set()

    def add(self, object_id: int, attributes: list[str]) -> None:
        """Adds attributes; an object may be listed several times (version 1.0)."""
        known = json.loads(self._by_object[object_id]) if object_id in self._by_object else []
        self._by_object[object_id] = json.dumps(known + attributes)

    def pop(self, object_id: int) -> list[str]:
        """Returns the attributes of an object and marks them as used."""
        if object_id in self._by_object:
            self._used.add(object_id)
        return json.loads(self._by_object.get(object_id, "[]"))

    def counts(self) -> dict[str, int]:
        """Returns accounting counts of objects with attributes."""
        n_unused = len(self._by_object) - len(self._used)
        counts = {READ: len(self._by_object), KEPT: len(self._used)}
        return {**counts, "object_unknown": n_unused} if n_unused else counts


def read_attributes(entries: Iterable[dict], path: str) -> AttributeEntries:
    """Collects the attributes of all objects; an absent key and null both mean none."""
    collected = AttributeEntries()
    for entry in entries:
        for item in _field(entry, path, "attributes"):
            attributes = [_clean(attribute) for attribute in item.get("attributes") or []]
            attributes = [attribute for attribute in attributes if attribute]
            if attributes:
                collected.add(_field(item, path, "object_id", "id"), attributes)
    return collected


def object_rows(entries: Iterable[dict], path: str, attributes: AttributeEntries, counts: Counter) -> Iterator[dict]:
    """Yields rows of the objects table; objects without any name are dropped."""
    for entry in entries:
        image_id = _field(entry, path, "image_id", "id")
        for item in _field(entry, path, "objects"):
            counts[READ] += 1
            names = [name for name in map(_clean, filter(None, _names(item, path))) if name]
            if not names:
                counts["name_missing"] += 1
                continue
            counts[KEPT] += 1
            object_id = _field(item, path, "object_id", "id")
            yield {
                "image_id": image_id,
                "object_id": object_id,
                "names": names,
                "synsets": item.get("synsets") or [],
                "attributes": attributes.pop(object_id),
                "x": _field(item, path, "x"),
                "y": _field(item, path, "y"),
                "width": _field(item, path, "w", "width"),
                "height": _field(item, path, "h", "height"),
            }


def relationship_rows(entries: Iterable[dict], path: str, counts: Counter) -> Iterator[dict]:
    """Yields rows of the relationships table, with the endpoints' own names; those without words are dropped."""
    for entry in entries:
        image_id = _field(entry, path, "image_id", "id")
        for item in _field(entry, path, "relationships"):
            counts[READ] += 1
            predicate = _clean(item.get("predicate") or "")
            if not predicate:
                counts["predicate_missing"] += 1
                continue
            ends = _field(item, path, "subject"), _field(item, path, "object")
            names = [next(filter(None, map(_clean, filter(None, _names(end, path)))), "") for end in ends]
            if not all(names):
                counts["endpoint_name_missing"] += 1
                continue
            counts[KEPT] += 1
            yield {
                "image_id": image_id,
                "relationship_id": _field(item, path, "relationship_id", "id"),
                "predicate": predicate,
                "subject_id": _field(ends[0], path, "object_id", "id"),
                "object_id": _field(ends[1], path, "object_id", "id"),
                "subject_name": names[0],
                "object_name": names[1],
            }


def region_rows(entries: Iterable[dict], path: str, counts: Counter) -> Iterator[dict]:
    """Yields rows of the region_descriptions table; an image without regions has none."""
    for entry in entries:
        image_id = _field(entry, path, "id", "image_id")
        for item in _field(entry, path, "regions"):
            counts[READ] += 1
            counts[KEPT] += 1
            yield {
                "region_id": _field(item, path, "region_id", "id"),
                "image_id": image_id,
                **{key: _field(item, path, key) for key in ("x", "y", "width", "height")},
                "phrase": _field(item, path, "phrase") or "",
            }


def _field(item: dict, path: str, *names: str):
    """Returns the first field that is there.

    Raises:
        ValueError: none is; names the file and the fields met.
    """
    for name in names:
        if name in item:
            return item[name]
    raise ValueError(f"{path}: an entry has none of the fields {names}; it has {sorted(item)}")


def _names(item: dict, path: str) -> list[str]:
    """Returns all names of an object or endpoint, whichever form the version uses."""
    found = _field(item, path, "names", "name", "object_names")
    return [found] if isinstance(found, str) else found or []


def _clean(text: str) -> str:
    """Returns text in lower case without stray white space."""
    return " ".join(text.lower().split())
