"""Write for each region and foil_type the truth and the foils to choose from."""

import json
import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict

from crepebench.families import FOIL_TYPES, SYSTEMATICITY
from crepebench.foils import Draft, FoilBuilder
from crepebench.hashed_draws import draw_ids
from crepebench.image_facts import read_facts
from crepebench.lexicon import Lexicon
from crepebench.refined_foils import RefinedFoilBuilder
from crepebench.replacements import CandidateFinder
from crepebench.schema import (
    FOIL_CANDIDATES,
    GRAPHS,
    REGIONS,
    iterate_rows,
    read_table,
    write_table,
)
from crepebench.word_pool import read_word_pool
from crepebench.word_tables import read_word_tables
from crepebench.wordnet import read_wordnet

logger = logging.getLogger(__name__)

PAPER, REFINED = "paper", "refined"
REPEATED = Draft(reason="repeated_set")
NOT_DRAWN = dict.fromkeys(FOIL_TYPES[SYSTEMATICITY], Draft(reason="max_queries"))


def make_builder(config: dict, pool_path: str, tables_paths: list[str], wordnet_path: str) -> FoilBuilder:
    """Returns what builds the foils of a protocol."""
    pool, tables = read_word_pool(pool_path), read_word_tables(tables_paths)
    finder = CandidateFinder(Lexicon(read_wordnet(wordnet_path)), tables, pool)
    if config["protocol"] == PAPER:
        return FoilBuilder(finder, pool, config["seed"], config["candidates"])
    return RefinedFoilBuilder(finder, pool, config["seed"], config["candidates"], tables.mass_nouns)


def candidate_row(crop: Mapping, family: str, source_id: int, protocol: str, foil_type: str, draft: Draft) -> dict:
    """Returns a row of table FOIL_CANDIDATES.

    Args:
        crop: row with image_id and box.
        family: family of the sets.
        source_id: id of the region or subgraph.
        protocol: protocol of the foils.
        foil_type: one of the family.
        draft: truth and foils.
    """
    return {
        **{name: crop[name] for name in ("image_id", "x", "y", "width", "height")},
        "family": family,
        "source_id": source_id,
        "protocol": protocol,
        "foil_type": foil_type,
        "complexity": draft.complexity,
        "caption": draft.caption,
        "caption_source": draft.caption_source,
        "foils": [asdict(foil) for foil in draft.foils],
        "reason": draft.reason,
    }


def candidate_rows(
    crop: Mapping, family: str, source_id: int, protocol: str, drafts: Mapping[str, Draft], seen: set[tuple]
) -> Iterator[dict]:
    """Yields the rows of table FOIL_CANDIDATES of one region or subgraph.

    Args:
        crop: row with image_id and box.
        family: family of the sets.
        source_id: id of the region or subgraph.
        protocol: protocol of the foils.
        drafts: truth and foils by foil_type.
        seen: crops and captions of earlier rows, which these are added to; the same ones would be the same query twice.
    """
    box = tuple(crop[name] for name in ("image_id", "x", "y", "width", "height"))
    for foil_type in FOIL_TYPES[family]:
        draft = drafts[foil_type]
        place = (foil_type, *box, draft.caption)
        if not draft.reason and place in seen:
            draft = REPEATED
        seen.add(place)
        yield candidate_row(crop, family, source_id, protocol, foil_type, draft)


def build_foils(
    regions_path: str,
    graphs_path: str,
    unfiltered_paths: list[str],
    objects_path: str,
    relationships_path: str,
    descriptions_path: str,
    pool_path: str,
    tables_paths: list[str],
    wordnet_path: str,
    candidates_path: str,
    part: str,
    cfg: str,
) -> None:
    """Writes the candidates of the images of one part.

    Args:
        regions_path: table REGIONS.
        graphs_path: table GRAPHS of the kept regions.
        unfiltered_paths: tables GRAPHS of all kept regions, for the facts of the images.
        objects_path: table OBJECTS.
        relationships_path: table RELATIONSHIPS.
        descriptions_path: table REGION_DESCRIPTIONS, for the facts of the images.
        pool_path: what `crepebench.word_pool.build_word_pool` wrote.
        tables_paths: tables of resources/foils.
        wordnet_path: folder written by `crepebench.wordnet.write_wordnet`.
        candidates_path: table FOIL_CANDIDATES to write.
        part: "part-00000-of-00002": which images, and how many parts there are.
        cfg: config block `foils` as JSON: protocol, seed, candidates, and `max_queries`.
    """
    config = json.loads(cfg)
    ids = read_table(graphs_path, GRAPHS, ["image_id", "region_id"])
    place, n_parts = map(int, re.findall("[0-9]+", part))
    image_ids = set(sorted(set(ids["image_id"].to_pylist()))[place::n_parts])
    drawn = draw_ids(ids["region_id"].to_pylist(), config["max_queries"], config["seed"])
    facts = read_facts(objects_path, relationships_path, unfiltered_paths, descriptions_path, image_ids)
    builder = make_builder(config, pool_path, tables_paths, wordnet_path)
    regions = {row["region_id"]: row for row in iterate_rows(regions_path, REGIONS, image_ids=image_ids)}
    seen: set[tuple] = set()

    def rows() -> Iterator[dict]:
        for graph in iterate_rows(graphs_path, GRAPHS, image_ids=image_ids):
            region, image_id = regions[graph["region_id"]], graph["image_id"]
            drafts = NOT_DRAWN
            if graph["region_id"] in drawn:
                drafts = builder.drafts(graph["region_id"], region["caption"], graph["atoms"], facts[image_id])
            yield from candidate_rows(region, SYSTEMATICITY, region["region_id"], config["protocol"], drafts, seen)

    n_rows = write_table(candidates_path, FOIL_CANDIDATES, rows())
    logger.info("%d rows", n_rows)
