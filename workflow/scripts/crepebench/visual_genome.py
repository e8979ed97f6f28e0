"""Turn Visual Genome's JSON into tables, joined by image id.

`crepebench.annotations` reads the fields of every version, `crepebench.objects` makes the rows of objects.
"""

import json
import logging
from collections import Counter
from collections.abc import Iterable, Iterator

import pyarrow.compute as pc

from crepebench.accounting import KEPT, READ, kept_rows, write_accounting
from crepebench.aliases import Aliases, read_alias_files
from crepebench.annotations import (
    BOX_FIELDS,
    FormError,
    canonical_name,
    check_text,
    convert_items,
    field,
    identifier,
    names_of,
    pixels,
    read_entries,
    read_items,
    text_list,
    whole_number,
)
from crepebench.image_files import ImageSearch
from crepebench.image_selection import IMAGE_DATA, ImageSelection
from crepebench.objects import AttributeEntries, MergedObjects, attribute_items, object_rows
from crepebench.schema import IMAGES, OBJECTS, REGION_DESCRIPTIONS, RELATIONSHIPS, read_table, write_table

logger = logging.getLogger(__name__)

ANNOTATIONS = (IMAGE_DATA, "objects", "attributes", "relationships", "region_descriptions")
BY_OBJECT = ("objects", "attributes", "relationships")
"""Annotations that are joined by object id, so that all must be of one version."""
ENDS = ("subject", "object")


def write_visual_genome(
    annotation_paths: list[str],
    alias_paths: list[str],
    image_places: list[str],
    images_path: str,
    missing_images_path: str,
    objects_path: str,
    relationships_path: str,
    region_descriptions_path: str,
    accounting_path: str,
    cfg: str,
) -> None:
    """Reads the annotation files and writes the four tables of the stage.

    Args:
        annotation_paths: zips or JSON files, in the order of `ANNOTATIONS`.
        alias_paths: those of the alias files that are there; read if `aliases` is true.
        image_places: zips and folders to search for the images, whether they are there or not.
        images_path: table IMAGES to write.
        missing_images_path: CSV of the images without a file to write.
        objects_path: table OBJECTS to write.
        relationships_path: table RELATIONSHIPS to write.
        region_descriptions_path: table REGION_DESCRIPTIONS to write.
        accounting_path: counts of the stage.
        cfg: config block `visual_genome` as JSON: aliases, exclude_images, missing_images, sample.

    Raises:
        ValueError: a file is damaged, an entry has an unknown form, or no image is left; names file and entry. Or
            images are missing, and the config does not allow that.
    """
    config = json.loads(cfg)
    files = dict(zip(ANNOTATIONS, annotation_paths, strict=True))
    aliases = read_alias_files(alias_paths) if config["aliases"] else Aliases()
    selection, attributes, merged = ImageSelection(config), AttributeEntries(), MergedObjects()
    units = ("image", "image_file", "object", "attribute_entry", "relationship", "region_description")
    counts = {unit: Counter() for unit in units}
    search = ImageSearch(image_places)

    def read(name: str, list_name: str) -> Iterator[tuple[int | None, list]]:
        return read_items(read_entries(files[name]), files[name], list_name)

    images = selection.select(read_images(files[IMAGE_DATA]), IMAGE_DATA, counts["image"])
    entries = (entry for _, found in images for entry in found)
    write_table(images_path, IMAGES, image_rows(entries, search, counts["image"]))
    _check_selection(selection, files[IMAGE_DATA], counts["image"])
    search.settle(missing_images_path, config["missing_images"])
    counts["image_file"].update(search.counts())

    with_attributes = attribute_items(read("attributes", "attributes"), files["attributes"])
    for _, found in selection.select(with_attributes, "attributes", counts["attribute_entry"]):
        for object_id, texts in found:
            attributes.add(object_id, texts)
    images = selection.select(read("objects", "objects"), "objects", counts["object"])
    rows = object_rows(images, files["objects"], attributes, merged, aliases)
    write_table(objects_path, OBJECTS, kept_rows(rows, counts["object"]))
    counts["attribute_entry"].update(attributes.counts())

    images = selection.select(read("relationships", "relationships"), "relationships", counts["relationship"])
    rows = relationship_rows(images, files["relationships"], merged, aliases)
    write_table(relationships_path, RELATIONSHIPS, kept_rows(rows, counts["relationship"]))
    counts["relationship_endpoint"] = count_endpoints(relationships_path, objects_path)

    images = selection.select(
        read("region_descriptions", "regions"), "region_descriptions", counts["region_description"]
    )
    rows = region_rows(images, files["region_descriptions"])
    write_table(region_descriptions_path, REGION_DESCRIPTIONS, kept_rows(rows, counts["region_description"]))
    counts["annotated_image"] = selection.join_counts()
    write_accounting(accounting_path, "visual_genome", counts)


def _check_selection(selection: ImageSelection, path: str, counts: Counter) -> None:
    """Checks that some image is left, and tells of ids of the sample that image_data does not hold."""
    if not counts[KEPT]:
        raise ValueError(f"{path}: none of its {counts[READ]} images is left: {dict(counts)}")
    if unknown := selection.unknown_sample_ids():
        logger.warning("visual_genome.sample: %s holds no images %s", path, unknown)


def read_images(path: str) -> Iterator[tuple[int | None, list[dict]]]:
    """Yields image id, and the entry of image_data in one form (image_id, url, width, height, coco_id, flickr_id).

    Raises:
        ValueError: an entry has an unknown form; names file and entry.
    """

    def convert(_: None, entry: dict) -> dict:
        return {
            "image_id": identifier(entry, "image_id", "id"),
            "url": next(iter(text_list(entry, "url")), ""),
            "width": whole_number(entry, "width"),
            "height": whole_number(entry, "height"),
            **{name: identifier(entry, name) if name in entry else None for name in ("coco_id", "flickr_id")},
        }

    for entry in convert_items([(None, read_entries(path))], path, "entries", convert):
        yield entry["image_id"], [entry]


def image_rows(entries: Iterable[dict], search: ImageSearch, counts: Counter) -> Iterator[dict]:
    """Yields rows of the images table, each with the place of its file if there is one."""
    seen = set()
    for entry in entries:
        counts[READ] += 1
        image_id = entry["image_id"]
        if image_id is None:
            counts["image_id_missing"] += 1
            continue
        if image_id in seen:
            counts["image_id_repeated"] += 1
            continue
        seen.add(image_id)
        file = search.find(image_id, entry.get("url"))
        counts[KEPT] += 1
        yield {
            "image_id": image_id,
            "width": entry["width"],
            "height": entry["height"],
            "archive": file and file.archive,
            "path": file and file.path,
            "crc32": file and file.crc32,
            "coco_id": entry.get("coco_id"),
            "flickr_id": entry.get("flickr_id"),
        }


def relationship_rows(
    images: Iterable[tuple[int | None, list]], path: str, merged: MergedObjects, aliases: Aliases
) -> Iterator[dict | str]:
    """Yields of each relationship its row, or the reason for which it is dropped.

    Its ends keep the name and box that stand in the relationship itself, since those of version 1.0 are no objects of
    objects.json.

    Args:
        images: image id and items of each image.
        path: file that they are from.
        merged: ids of merged objects.
        aliases: canonical names and predicates.
    """

    def convert(image_id: int | None, item: dict) -> dict | str:
        field(item, "predicate")
        predicate_raw = next(iter(text_list(item, "predicate")), "")
        predicate = canonical_name(predicate_raw)
        if not predicate:
            return "predicate_missing"
        ends = {f"{side}_{key}": value for side in ENDS for key, value in _end_of(item, side, merged, aliases).items()}
        if not all(ends[f"{side}_name"] for side in ENDS):
            return "endpoint_name_missing"
        return {
            "image_id": image_id,
            "relationship_id": identifier(item, "relationship_id", "id"),
            "predicate": aliases.predicates.get(predicate, predicate),
            "predicate_raw": predicate_raw,
            "synsets": text_list(item, "synsets"),
            **ends,
        }

    return convert_items(images, path, "relationships", convert)


def _end_of(item: dict, side: str, merged: MergedObjects, aliases: Aliases) -> dict:
    """Returns id, name ("" where it has none) and box (nulls where it has none) of one end of a relationship."""
    end = field(item, side)
    try:
        return {
            "id": merged.resolve(identifier(end, "object_id", "id")),
            "name": next(iter(aliases.object_names(names_of(end))), ""),
            **{key: whole_number(end, *names) if "x" in end else None for key, names in BOX_FIELDS.items()},
        }
    except FormError as error:
        raise FormError(f"{side}: {error}") from error


def count_endpoints(relationships_path: str, objects_path: str) -> Counter:
    """Counts the ends of relationships: those that are objects of the objects table, and the others."""
    known = pc.unique(read_table(objects_path, OBJECTS, ["object_id"])["object_id"].drop_null())
    table = read_table(relationships_path, RELATIONSHIPS, [f"{side}_id" for side in ENDS])
    n_known = sum(pc.sum(pc.is_in(column, value_set=known)).as_py() or 0 for column in table.columns)
    counts = Counter({READ: len(ENDS) * table.num_rows, KEPT: n_known})
    if n_unknown := counts[READ] - n_known:
        counts["object_unknown"] = n_unknown
        logger.warning("%d of %d ends of relationships are no known objects", n_unknown, counts[READ])
    return counts


def region_rows(images: Iterable[tuple[int | None, list]], path: str) -> Iterator[dict]:
    """Yields rows of the region_descriptions table; an image without regions has none."""

    def convert(image_id: int | None, item: dict) -> dict:
        phrase = check_text(field(item, "phrase") or "", "phrase")
        return {
            "region_id": identifier(item, "region_id", "id"),
            "image_id": image_id,
            **{key: pixels(item, key) for key in ("x", "y", "width", "height")},
            "phrase": phrase,
        }

    return convert_items(images, path, "regions", convert)
