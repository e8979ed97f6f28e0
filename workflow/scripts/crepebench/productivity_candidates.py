"""Write for each subgraph and foil_type of the productivity family the truth and the foils to choose from."""

import json
import logging
from collections.abc import Iterator

from crepebench.captions import Caption, Mention
from crepebench.families import FOIL_TYPES, PRODUCTIVITY
from crepebench.foil_candidates import PAPER, candidate_rows
from crepebench.foils import Draft
from crepebench.image_facts import read_facts
from crepebench.lexicon import Lexicon
from crepebench.productivity_foils import ProductivityFoilBuilder
from crepebench.refined_productivity import RefinedProductivityFoilBuilder
from crepebench.replacements import CandidateFinder
from crepebench.schema import (
    CAPTIONS,
    FOIL_CANDIDATES,
    SUBGRAPHS,
    iterate_rows,
    read_table,
    write_table,
)
from crepebench.word_pool import read_word_pool
from crepebench.word_tables import read_word_tables
from crepebench.wordnet import read_wordnet

logger = logging.getLogger(__name__)

NO_CAPTION = dict.fromkeys(FOIL_TYPES[PRODUCTIVITY], Draft(reason="no_caption"))


def make_builder(config: dict, pool_path: str, tables_paths: list[str], wordnet_path: str) -> ProductivityFoilBuilder:
    """Returns what builds the foils of a protocol."""
    pool, tables = read_word_pool(pool_path), read_word_tables(tables_paths)
    finder = CandidateFinder(Lexicon(read_wordnet(wordnet_path)), tables, pool)
    builder = ProductivityFoilBuilder if config["protocol"] == PAPER else RefinedProductivityFoilBuilder
    return builder(finder, tables, pool, config["seed"], config["n_foils"], config["candidates"])


def read_captions(path: str) -> dict[int, Caption | None]:
    """Reads a table CAPTIONS: captions by subgraph_id, None where there is none."""
    captions: dict[int, Caption | None] = {}
    for row in read_table(path, CAPTIONS).to_pylist():
        mentions = tuple(Mention(**mention) for mention in row["mentions"] or ())
        caption = Caption(row["caption"], mentions, row["caption_source"])
        captions[row["subgraph_id"]] = None if row["reason"] else caption
    return captions


def build_productivity_foils(
    subgraphs_path: str,
    captions_path: str,
    unfiltered_paths: list[str],
    objects_path: str,
    relationships_path: str,
    descriptions_path: str,
    pool_path: str,
    tables_paths: list[str],
    wordnet_path: str,
    candidates_path: str,
    cfg: str,
) -> None:
    """Writes the candidates of the subgraphs of one part.

    Args:
        subgraphs_path: table SUBGRAPHS, of all parts.
        captions_path: table CAPTIONS of the part; all subgraphs of an image are in one.
        unfiltered_paths: tables GRAPHS of all kept regions, for the facts of the images.
        objects_path: table OBJECTS.
        relationships_path: table RELATIONSHIPS.
        descriptions_path: table REGION_DESCRIPTIONS, for the facts of the images.
        pool_path: what `crepebench.word_pool.build_word_pool` wrote.
        tables_paths: tables of resources/foils.
        wordnet_path: folder written by `crepebench.wordnet.write_wordnet`.
        candidates_path: table FOIL_CANDIDATES to write.
        cfg: JSON of protocol, seed and candidates (config block `foils`), and n_foils (config block `productivity`).
    """
    config = json.loads(cfg)
    captions = read_captions(captions_path)
    subgraphs = [row for row in iterate_rows(subgraphs_path, SUBGRAPHS) if row["subgraph_id"] in captions]
    image_ids = {row["image_id"] for row in subgraphs}
    facts = read_facts(objects_path, relationships_path, unfiltered_paths, descriptions_path, image_ids)
    builder = make_builder(config, pool_path, tables_paths, wordnet_path)
    seen: set[tuple] = set()

    def rows() -> Iterator[dict]:
        for subgraph in subgraphs:
            caption, image_id = captions[subgraph["subgraph_id"]], subgraph["image_id"]
            drafts = NO_CAPTION if caption is None else builder.drafts(subgraph, caption, facts[image_id])
            yield from candidate_rows(subgraph, PRODUCTIVITY, subgraph["subgraph_id"], config["protocol"], drafts, seen)

    n_rows = write_table(candidates_path, FOIL_CANDIDATES, rows())
    logger.info("%d rows", n_rows)
