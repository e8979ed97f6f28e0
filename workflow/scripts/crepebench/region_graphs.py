"""Take the graphs of regions from Visual Genome's annotations, in place of the parser's.

A region's annotation is its entry in region_graphs.json where the source has that file, else what of its image's scene
graph lies within its box. Of it only those atoms are kept that the caption names (`crepebench.alignment`).
"""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import polars as pl
import pyarrow as pa

from crepebench.accounting import KEPT, READ, write_accounting
from crepebench.alignment import Annotation, Thing, align
from crepebench.annotations import (
    canonical_name,
    convert_items,
    field,
    identifier,
    item_list,
    names_of,
    read_entries,
    read_items,
    text_list,
)
from crepebench.region_parsing import graph_row
from crepebench.schema import GRAPHS, OBJECTS, REGIONS, RELATIONSHIPS, read_table, write_table

logger = logging.getLogger(__name__)

BOX = ("x", "y", "width", "height")
ENDS = ("subject", "object")
LEAST_OVERLAP = 0.75
"""Share of an object's box that must lie within a region's box for the object to belong to the region."""


def scene_annotation(region: Mapping, objects: Iterable[Mapping], relationships: Iterable[Mapping]) -> Annotation:
    """Returns what of an image's scene graph belongs to a region: objects by `LEAST_OVERLAP`, and what joins them.

    An end of a relationship that is no object of the image counts as one, with its own name and box.

    Args:
        region: row of table REGIONS.
        objects: rows of table OBJECTS, of the region's image.
        relationships: rows of table RELATIONSHIPS, of the region's image.
    """
    things: list[Thing] = []
    places: dict[int, int | None] = {}

    def add(thing: Thing, box: tuple[int | None, ...]) -> int | None:
        if not is_within(box, tuple(region[key] for key in BOX)):
            return None
        things.append(thing)
        return len(things) - 1

    for row in objects:
        place = add(Thing(row["names"], row["attributes"]), tuple(row[key] for key in BOX))
        if row["object_id"] is not None:
            places[row["object_id"]] = place
    relations = []
    for row in relationships:
        ends = []
        for side in ENDS:
            identity = row[f"{side}_id"]
            if identity is None or identity not in places:
                place = add(Thing([row[f"{side}_name"]], []), tuple(row[f"{side}_{key}"] for key in BOX))
                if identity is not None:
                    places[identity] = place
            else:
                place = places[identity]
            ends.append(place)
        if None not in ends:
            relations.append((ends[0], row["predicate"], ends[1]))
    return Annotation(things, relations)


def is_within(box: tuple[int | None, ...], outer: tuple[int, ...]) -> bool:
    """Says whether `LEAST_OVERLAP` of a box lies within another; a box of nulls or without area does not.

    Args:
        box: x, y, width, height in pixels.
        outer: the same of the other box.
    """
    if None in box:
        return False
    width, height = (max(0, min(box[i] + box[i + 2], outer[i] + outer[i + 2]) - max(box[i], outer[i])) for i in (0, 1))
    area = box[2] * box[3]
    return area > 0 and width * height >= LEAST_OVERLAP * area


def region_annotation(item: dict, attributes: Mapping[int, list[str]]) -> Annotation:
    """Returns the annotation in an item of region_graphs.json.

    Args:
        item: region with objects and relationships; the ends of these are ids, or objects of their own.
        attributes: attributes by object id, for objects that have none in the item.

    Raises:
        FormError: the item has an unknown form.
    """
    things: list[Thing] = []
    places: dict[int, int] = {}

    def add(found: dict) -> int:
        identity, place = identifier(found, "object_id", "id"), len(things)
        own = [name for name in map(canonical_name, text_list(found, "attributes")) if name]
        things.append(Thing(names_of(found), own or attributes.get(identity, [])))
        if identity is not None:
            places[identity] = place
        return place

    def end_of(relationship: dict, side: str) -> int | None:
        if f"{side}_id" in relationship:
            return places.get(identifier(relationship, f"{side}_id"))
        end = field(relationship, f"{side}_id", side)
        identity = identifier(end, "object_id", "id")
        return places[identity] if identity in places else add(end)

    for found in item_list(item, "objects"):
        add(found)
    relations = []
    for relationship in item_list(item, "relationships"):
        field(relationship, "predicate")
        predicate = canonical_name(next(iter(text_list(relationship, "predicate")), ""))
        relations.append((end_of(relationship, "subject"), predicate, end_of(relationship, "object")))
    return Annotation(things, relations)


class _RowsByImage:
    """Rows of a table, looked up by image."""

    def __init__(self, path: str, schema: pa.Schema, columns: list[str]):
        self._frame = pl.from_arrow(read_table(path, schema, columns)).sort("image_id", maintain_order=True)
        sizes = self._frame.group_by("image_id", maintain_order=True).len()
        starts = sizes["len"].cum_sum() - sizes["len"]
        self._places = dict(zip(sizes["image_id"], zip(starts, sizes["len"], strict=True), strict=True))

    def image_ids(self) -> list[int]:
        """Returns the ids of the images that have rows, ascending."""
        return list(self._places)

    def rows(self, image_id: int | None) -> list[dict]:
        """Returns the rows of an image, in the order of the table."""
        return self._frame.slice(*self._places[image_id]).to_dicts() if image_id in self._places else []


def build_region_graphs(
    regions_path: str,
    objects_path: str,
    relationships_path: str,
    region_graph_paths: list[str],
    graphs_path: str,
    accounting_path: str,
) -> None:
    """Writes the annotated graphs of the kept regions, as far as their captions say the same.

    Args:
        regions_path: table REGIONS.
        objects_path: table OBJECTS.
        relationships_path: table RELATIONSHIPS.
        region_graph_paths: region_graphs.json, zipped or not, where the source has it; else empty.
        graphs_path: table GRAPHS to write; a region that the file lacks has no row.
        accounting_path: counts to write, of regions and of annotated atoms.

    Raises:
        ValueError: region_graphs.json is damaged or has an entry of unknown form; names file and entry.
    """
    regions = _RowsByImage(regions_path, REGIONS, ["region_id", "image_id", *BOX, "caption"])
    objects = _RowsByImage(objects_path, OBJECTS, [name for name in OBJECTS.names if name != "synsets"])
    counts: dict[str, Counter] = {"region": Counter({READ: 0, KEPT: 0}), "atom": Counter({READ: 0, KEPT: 0})}
    logger.info("graphs are taken from %s", region_graph_paths[0] if region_graph_paths else "the scene graphs")
    if region_graph_paths:
        found = _read_annotations(region_graph_paths[0], regions, objects)
    else:
        relationships = _RowsByImage(relationships_path, RELATIONSHIPS, RELATIONSHIPS.names)
        found = _scene_annotations(regions, objects, relationships)

    def rows() -> Iterator[dict]:
        for region, annotation in found:
            counts["region"].update((READ, "region_graph_missing" if annotation is None else KEPT))
            if annotation is not None:
                graph, by_reason = align(region["caption"], annotation)
                counts["atom"].update(by_reason)
                yield graph_row(region, graph)

    write_table(graphs_path, GRAPHS, rows())
    logger.info("%d of %d regions have an annotated graph", counts["region"][KEPT], counts["region"][READ])
    write_accounting(accounting_path, "graphs/visual_genome", counts)


def _scene_annotations(
    regions: _RowsByImage, objects: _RowsByImage, relationships: _RowsByImage
) -> Iterator[tuple[dict, Annotation]]:
    """Yields each region with its part of the scene graph."""
    for image_id in regions.image_ids():
        things, relations = objects.rows(image_id), relationships.rows(image_id)
        for region in regions.rows(image_id):
            yield region, scene_annotation(region, things, relations)


def _read_annotations(
    path: str, regions: _RowsByImage, objects: _RowsByImage
) -> Iterator[tuple[dict, Annotation | None]]:
    """Yields each region with its annotation in region_graphs.json, None where it has none.

    Raises:
        ValueError: an entry has an unknown form, or an image stands twice.
    """
    waiting, done = dict.fromkeys(regions.image_ids()), set()
    for image_id, items in read_items(read_entries(path), path, "regions"):
        if image_id in done:
            raise ValueError(f"{path}: image {image_id} stands twice")
        if image_id not in waiting:
            continue
        del waiting[image_id]
        done.add(image_id)
        attributes = {
            identity: row["attributes"]
            for row in objects.rows(image_id)
            for identity in (row["object_id"], *row["merged_object_ids"])
        }

        def convert(_: int | None, item: dict, attributes=attributes) -> tuple[int | None, Annotation]:
            return identifier(item, "region_id", "id"), region_annotation(item, attributes)

        found = dict(convert_items([(image_id, items)], path, "regions", convert))
        for region in regions.rows(image_id):
            yield region, found.get(region["region_id"])
    for image_id in waiting:
        for region in regions.rows(image_id):
            yield region, None
