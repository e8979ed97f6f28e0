"""Write the retrieval sets of the systematicity family: one image crop, its true caption and its foils."""

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict

from crepebench.accounting import KEPT, READ, write_accounting
from crepebench.foils import Foil, FoilBuilder
from crepebench.image_facts import collect_facts
from crepebench.replacements import CandidateFinder
from crepebench.schema import (
    GRAPHS,
    OBJECTS,
    REGIONS,
    RELATIONSHIPS,
    RETRIEVAL_SETS,
    iterate_rows,
    read_table,
    write_table,
)
from crepebench.word_pool import build_pool
from crepebench.word_tables import read_word_tables
from crepebench.wordnet import Lexicon, read_wordnet

logger = logging.getLogger(__name__)

FAMILY = "systematicity"
FOIL_TYPES = ("atom", "comp", "combined")
CAPTION_SOURCE = "visual_genome"


def set_id(family: str, image_id: int, box: tuple[int, int, int, int], caption: str) -> str:
    """Returns the stable id of a retrieval set, whatever its foils."""
    return _hash(family, image_id, *box, caption)


def foil_id(set_id_: str, text: str) -> str:
    """Returns the stable id of a foil."""
    return _hash(set_id_, text)


def _hash(*parts) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def retrieval_set_rows(region: dict, n_atoms: int, protocol: str, foils: dict[str, list[Foil]]) -> Iterator[dict]:
    """Yields the rows of one region, one per foil_type."""
    box = region["x"], region["y"], region["width"], region["height"]
    identity = set_id(FAMILY, region["image_id"], box, region["caption"])
    for foil_type in FOIL_TYPES:
        yield {
            "set_id": identity,
            "protocol": protocol,
            "foil_type": foil_type,
            "image_id": region["image_id"],
            "region_id": region["region_id"],
            **dict(zip(("x", "y", "width", "height"), box, strict=True)),
            "complexity": n_atoms,
            "caption": region["caption"],
            "caption_source": CAPTION_SOURCE,
            "foils": [{"foil_id": foil_id(identity, foil.text), **asdict(foil)} for foil in foils[foil_type]],
        }


def build_retrieval_sets(
    regions_path: str,
    graphs_path: str,
    unfiltered_paths: list[str],
    objects_path: str,
    relationships_path: str,
    attributes_table_path: str,
    relations_table_path: str,
    wordnet_path: str,
    sets_path: str,
    accounting_path: str,
    part: int,
    n_parts: int,
    cfg: str,
) -> None:
    """Builds the systematicity sets of every `n_parts`-th image, from `part` on.

    Args:
        regions_path: table REGIONS.
        graphs_path: table GRAPHS of the kept regions.
        unfiltered_paths: tables GRAPHS of all kept regions, for the pool of words and the facts of the images.
        objects_path: table OBJECTS.
        relationships_path: table RELATIONSHIPS.
        attributes_table_path: resources/foils/attributes.csv.
        relations_table_path: resources/foils/relations.csv.
        wordnet_path: folder written by `crepebench.wordnet.write_wordnet`.
        sets_path: table RETRIEVAL_SETS to write.
        accounting_path: counts to write.
        part: index of the part, from 0.
        n_parts: number of parts.
        cfg: config block `foils` as JSON: protocol, seed, min_pool_count.
    """
    config = json.loads(cfg)
    all_image_ids = set(read_table(graphs_path, GRAPHS, ["image_id"])["image_id"].to_pylist())
    image_ids = set(sorted(all_image_ids)[part::n_parts])
    unfiltered_atoms = (
        row["atoms"] for path in unfiltered_paths for row in iterate_rows(path, GRAPHS, columns=["atoms"])
    )
    pool = build_pool(unfiltered_atoms, config["min_pool_count"])
    facts = collect_facts(
        iterate_rows(objects_path, OBJECTS, image_ids=image_ids),
        iterate_rows(relationships_path, RELATIONSHIPS, image_ids=image_ids),
        (row for path in unfiltered_paths for row in iterate_rows(path, GRAPHS, image_ids=image_ids)),
    )
    tables = read_word_tables(attributes_table_path, relations_table_path)
    finder = CandidateFinder(Lexicon(read_wordnet(wordnet_path)), tables, pool)
    builder = FoilBuilder(finder, pool, config["seed"])
    regions = {row["region_id"]: row for row in iterate_rows(regions_path, REGIONS, image_ids=image_ids)}
    counts: Counter = Counter({READ: 0, KEPT: 0})
    seen: set[tuple] = set()

    def rows() -> Iterator[dict]:
        for graph in iterate_rows(graphs_path, GRAPHS, image_ids=image_ids):
            region = regions[graph["region_id"]]
            foils, reason = builder.build(
                graph["region_id"], region["caption"], graph["atoms"], facts[graph["image_id"]]
            )
            place = graph["image_id"], region["x"], region["y"], region["width"], region["height"], region["caption"]
            if not reason and place in seen:
                reason = "repeated_set"  # the same crop and caption would be the same query twice
            seen.add(place)
            counts[READ] += 1
            counts[reason or KEPT] += 1
            if not reason:
                yield from retrieval_set_rows(region, graph["n_atoms"], config["protocol"], foils)

    write_table(sets_path, RETRIEVAL_SETS, rows())
    logger.info("%d of %d regions have the full number of foils", counts[KEPT], counts[READ])
    write_accounting(accounting_path, "retrieval_sets/systematicity", {"region": counts})
