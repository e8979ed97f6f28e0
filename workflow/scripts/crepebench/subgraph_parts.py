"""Write the sampled subgraphs of all images, and keep a bounded number of each complexity."""

import json
import logging
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from crepebench.accounting import KEPT, READ, kept_rows, write_accounting
from crepebench.hashed_draws import draw_ids
from crepebench.scene_graphs import UNITS, build_scene_graph
from crepebench.schema import IMAGES, OBJECTS, RELATIONSHIPS, SUBGRAPHS, read_table, write_table
from crepebench.subgraphs import sample_subgraphs

logger = logging.getLogger(__name__)

UNUSED = ("synsets", "predicate_raw", "merged_object_ids")
"""Columns of objects and relationships that scene graphs do not need."""
NOT_DRAWN = "max_queries"


class _RowsByImage:
    """Rows of some images of a table, looked up by image."""

    def __init__(self, path: str, schema: pa.Schema, image_ids: Sequence[int]):
        columns = [name for name in schema.names if name not in UNUSED]
        table = read_table(path, schema, columns)
        table = table.filter(pc.is_in(table["image_id"], pa.array(image_ids, pa.int64()))).sort_by("image_id")
        self._table, self._ids = table.combine_chunks(), table["image_id"].to_numpy()

    def rows(self, image_id: int) -> list[dict]:
        """Returns the rows of an image."""
        start, end = np.searchsorted(self._ids, [image_id, image_id + 1]).tolist()
        return self._table.slice(start, end - start).to_pylist()


def sample_subgraphs_of_part(
    images_path: str,
    objects_path: str,
    relationships_path: str,
    subgraphs_path: str,
    accounting_path: str,
    part: int,
    n_parts: int,
    cfg: str,
) -> None:
    """Writes the subgraphs of the images of one part.

    Args:
        images_path: table IMAGES.
        objects_path: table OBJECTS.
        relationships_path: table RELATIONSHIPS.
        subgraphs_path: table SUBGRAPHS to write, by image and complexity.
        accounting_path: counts to write: for each complexity of the subgraphs that are wanted, `max_per_image` an
            image; and of what the scene graphs are made of.
        part: index of the part, from 0.
        n_parts: number of parts.
        cfg: JSON of config blocks `productivity` and `regions`.
    """
    config = json.loads(cfg)
    settings = config["productivity"]
    images = sorted(
        read_table(images_path, IMAGES, ["image_id", "width", "height", "coco_id"]).to_pylist(),
        key=lambda image: image["image_id"],
    )[part::n_parts]
    image_ids = [image["image_id"] for image in images]
    objects = _RowsByImage(objects_path, OBJECTS, image_ids)
    relationships = _RowsByImage(relationships_path, RELATIONSHIPS, image_ids)
    units = [unit_of(complexity) for complexity in settings["complexities"]]
    counts = {unit: Counter({READ: 0, KEPT: 0}) for unit in (*UNITS, *units)}

    def rows() -> Iterator[dict]:
        for image in images:
            image_id = image["image_id"]
            size = image["width"], image["height"]
            graph = build_scene_graph(objects.rows(image_id), relationships.rows(image_id), size, counts)
            for unit, complexity in zip(units, settings["complexities"], strict=True):
                rng = np.random.default_rng([settings["seed"], image_id, complexity])
                results = sample_subgraphs(graph, image, complexity, config, rng)
                yield from kept_rows(results, counts[unit])

    n_rows = write_table(subgraphs_path, SUBGRAPHS, rows())
    logger.info("%d subgraphs of %d images", n_rows, len(images))
    write_accounting(accounting_path, "subgraphs", counts)


def unit_of(complexity: int) -> str:
    """Returns the unit in which the subgraphs of a complexity are counted."""
    return f"subgraph_n{complexity}"


def filter_subgraphs(part_paths: list[str], subgraphs_path: str, accounting_path: str, cfg: str) -> None:
    """Keeps at most `max_queries` subgraphs of each complexity, drawn at random.

    Those with many swaps are not preferred.

    Args:
        part_paths: tables SUBGRAPHS of all parts.
        subgraphs_path: table SUBGRAPHS to write, by complexity and id.
        accounting_path: counts to write.
        cfg: JSON of seed and `max_queries`, by complexity.

    Raises:
        ValueError: an id stands twice.
    """
    config = json.loads(cfg)
    found = pl.concat([pl.from_arrow(read_table(path, SUBGRAPHS)) for path in part_paths])
    found = found.sort("complexity", "subgraph_id")
    if found["subgraph_id"].is_duplicated().any():
        twice = found.filter(pl.col("subgraph_id").is_duplicated())["subgraph_id"][0]
        raise ValueError(f"subgraph_id {twice} stands twice in {part_paths}")
    drawn: set[int] = set()
    counts: dict[str, Counter] = {}
    for (complexity,), group in found.group_by("complexity", maintain_order=True):
        chosen = draw_ids(group["subgraph_id"].to_list(), config["max_queries"][str(complexity)], config["seed"])
        drawn |= chosen
        n_left = group.height - len(chosen)
        counts[unit_of(complexity)] = Counter({READ: group.height, KEPT: len(chosen), NOT_DRAWN: n_left})
    kept = found.filter(pl.col("subgraph_id").is_in(sorted(drawn)))
    write_table(subgraphs_path, SUBGRAPHS, kept.iter_rows(named=True))
    write_accounting(accounting_path, "subgraphs/drawn", counts)
