"""Turn a user's own captions into retrieval sets; where a caption has no foils, some are made from its words.

Foils that the user gives make a set of the type `given`. Else the caption is parsed, and foils are made as for a region
of the systematicity family: `atom`, `comp` and `combined`.

# ASSUME: of an image, only what its captions in the table say is known to be true. So a foil may be true of it: if
nobody wrote of the blue cup beside the red one, "a blue cup" may be made a foil.
# ASSUME: the first candidates become foils; too few captions are at hand to choose those that text alone cannot tell.
"""

import csv
import hashlib
import json
import logging
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from crepebench.accounting import KEPT, READ, write_accounting
from crepebench.families import ATOM, COMBINED, COMP, PARTS_OF_TYPE, SYSTEMATICITY, part_of
from crepebench.files import atomic_path
from crepebench.foil_candidates import PAPER
from crepebench.foils import N_FOILS, Draft, Foil, FoilBuilder
from crepebench.image_facts import ImageFacts, collect_facts
from crepebench.lexicon import Lexicon
from crepebench.own_captions import OwnImages, OwnRow, SetAside, read_records, use_records
from crepebench.parsing import load_parser, parse_texts
from crepebench.refined_foils import RefinedFoilBuilder
from crepebench.region_parsing import graph_row
from crepebench.regions import canonical_caption
from crepebench.replacements import CandidateFinder
from crepebench.schema import IMAGES, RETRIEVAL_SETS, read_table, write_table
from crepebench.set_ids import foil_id, set_id
from crepebench.word_pool import Pool, build_pool, read_word_pool
from crepebench.word_tables import WordTables, read_word_tables
from crepebench.wordnet import read_wordnet

logger = logging.getLogger(__name__)

FAMILY, GIVEN = "own", "given"
FOIL_TYPES = (GIVEN, ATOM, COMP, COMBINED)
SOURCE = "user"
MOST_LOGGED = 20
"""Rows set aside that the log names; set_aside.csv has all."""
SET_ASIDE_COLUMNS = ("row", "reason", "value")


def merge_pools(pool: Pool, own: Pool) -> Pool:
    """Returns the words of two pools, and the forms of relations of both; senses are those of the first."""
    words = {kind: pool.words.get(kind, frozenset()) | own.words[kind] for kind in own.words}
    return Pool(words, {**own.relation_forms, **pool.relation_forms}, pool.votes)


def make_builder(pool: Pool, tables: WordTables, lexicon: Lexicon, config: Mapping) -> FoilBuilder:
    """Returns what builds foils in the protocol of the config; as many candidates as the larger part of a set needs."""
    finder, n_candidates = CandidateFinder(lexicon, tables, pool), max(N_FOILS.values())
    if config["protocol"] == PAPER:
        return FoilBuilder(finder, pool, config["seed"], n_candidates)
    return RefinedFoilBuilder(finder, pool, config["seed"], n_candidates, tables.mass_nouns)


def choose_foils(draft: Draft, foil_type: str) -> list[Foil]:
    """Returns the first foils of each part of a set."""
    chosen = []
    for part in PARTS_OF_TYPE[SYSTEMATICITY][foil_type]:
        chosen += [foil for foil in draft.foils if part_of(foil.kind) == part][: N_FOILS[part]]
    return chosen


def make_set(
    row: OwnRow, protocol: str, foil_type: str, caption: str, complexity: int | None, foils: Sequence[Foil]
) -> dict:
    """Returns a row of table RETRIEVAL_SETS."""
    identity = set_id(FAMILY, row.image_id, row.box, caption)
    x, y, width, height = row.box
    return {
        "set_id": identity,
        **{"region_id": None, "subgraph_id": None, "protocol": protocol, "foil_type": foil_type},
        **{"image_id": row.image_id, "x": x, "y": y, "width": width, "height": height},
        **{"complexity": complexity, "caption": caption, "caption_source": SOURCE},
        "foils": [{"foil_id": foil_id(identity, foil.text), **vars(foil)} for foil in foils],
    }


def given_set(row: OwnRow) -> dict:
    """Returns the set of a caption and the foils that came with it, both as they were given."""
    foils = [Foil(text, GIVEN, "", "", SOURCE) for text in row.foils]
    return make_set(row, GIVEN, GIVEN, row.caption, None, foils)


def made_sets(
    rows: Sequence[OwnRow],
    graphs: Sequence[Mapping],
    facts: Mapping[int, ImageFacts],
    builder: FoilBuilder,
    protocol: str,
) -> Iterator[tuple[str, dict | str]]:
    """Yields for each caption without foils and each foil_type the set, or the reason why there is none.

    Args:
        rows: the captions.
        graphs: rows of table GRAPHS, one for each caption.
        facts: what is true in each image.
        builder: builds foils.
        protocol: protocol of the foils.
    """
    for row, graph in zip(rows, graphs, strict=True):
        caption = canonical_caption(row.caption)
        key = int(hashlib.sha256(json.dumps([row.image_id, row.box, caption]).encode()).hexdigest()[:12], 16)
        for foil_type, draft in builder.drafts(key, caption, graph["atoms"], facts[row.image_id]).items():
            if draft.reason:
                yield foil_type, draft.reason
            else:
                foils = choose_foils(draft, foil_type)
                yield foil_type, make_set(row, protocol, foil_type, draft.caption, draft.complexity, foils)


def parse_rows(rows: Sequence[OwnRow], parser, attributes: str) -> list[dict]:
    """Returns a row of table GRAPHS for each caption."""
    graphs = parse_texts((canonical_caption(row.caption) for row in rows), parser, attributes)
    return [
        graph_row({"region_id": row.number, "image_id": row.image_id}, graph)
        for row, graph in zip(rows, graphs, strict=True)
    ]


def build_own_sets(
    table_path: str,
    known_images_path: str,
    pool_path: str,
    tables_paths: Sequence[str],
    wordnet_path: str,
    sets_paths: Sequence[str],
    images_path: str,
    set_aside_path: str,
    accounting_path: str,
    cfg: str,
) -> None:
    """Writes the sets of a table of captions.

    Args:
        table_path: the table: .csv, .parquet or .jsonl.
        known_images_path: table IMAGES of Visual Genome, for rows with an `image_id`.
        pool_path: what `crepebench.word_pool.build_word_pool` wrote.
        tables_paths: tables of resources/foils.
        wordnet_path: folder written by `crepebench.wordnet.write_wordnet`.
        sets_paths: tables RETRIEVAL_SETS to write; the sets are dealt out to them.
        images_path: table IMAGES of the images that are used, to write.
        set_aside_path: CSV of the rows that cannot be used, to write.
        accounting_path: counts to write.
        cfg: JSON of `protocol`, `seed` and `min_pool_count` (block `foils`), and `parser` (spacy_model, attributes).

    Raises:
        ValueError: the table is of no known form, or none of its rows can be used; says why.
    """
    config = json.loads(cfg)
    known = {row["image_id"]: row for row in read_table(known_images_path, IMAGES).to_pylist()}
    images = OwnImages(str(Path(table_path).parent), known)
    results = list(use_records(read_records(table_path), images))
    rows = [result for result in results if isinstance(result, OwnRow)]
    aside = [result for result in results if isinstance(result, SetAside)]
    _write_set_aside(set_aside_path, aside)
    for row in aside[:MOST_LOGGED]:
        logger.warning("row %d of %s is set aside: %s %s", row.number, table_path, row.reason, row.value)
    if not rows:
        raise ValueError(f"{table_path}: none of its {len(results)} rows can be used: {Counter(r[1] for r in aside)}")
    counts: dict[str, Counter] = defaultdict(Counter, row=Counter([READ] * len(results) + [KEPT] * len(rows)))
    counts["row"].update(result.reason for result in aside)

    bare = [row for row in rows if not row.foils]
    graphs = parse_rows(rows, load_parser(config["parser"]["spacy_model"]), config["parser"]["attributes"])
    phrases = ({"image_id": row.image_id, "phrase": text} for row in rows for text in (row.caption,))
    facts = collect_facts([], [], graphs, phrases)
    own = build_pool((graph["atoms"] for graph in graphs), config["min_pool_count"])
    pool, tables = merge_pools(read_word_pool(pool_path), own), read_word_tables(tables_paths)
    builder = make_builder(pool, tables, Lexicon(read_wordnet(wordnet_path)), config)
    of_bare = [graph for row, graph in zip(rows, graphs, strict=True) if not row.foils]
    made = [(GIVEN, given_set(row)) for row in rows if row.foils]
    made += made_sets(bare, of_bare, facts, builder, config["protocol"])
    sets, seen = [], set()
    for foil_type, found in made:
        key = found if isinstance(found, str) else (found["set_id"], foil_type)
        reason = found if isinstance(found, str) else "repeated_set" if key in seen else ""
        counts[f"caption_{foil_type}"].update((READ, reason or KEPT))
        seen.add(key)
        sets += [found] if not reason else []
    for part, path in enumerate(sets_paths):
        write_table(path, RETRIEVAL_SETS, sets[part :: len(sets_paths)])
    write_table(images_path, IMAGES, (images.used[image_id] for image_id in sorted(images.used)))
    for unit in ("row", *(f"caption_{name}" for name in FOIL_TYPES)):
        counts[unit].update({READ: 0, KEPT: 0})
    write_accounting(accounting_path, f"retrieval_sets/{FAMILY}", counts)
    logger.info("%d of %d rows can be used; %d sets", len(rows), len(results), len(sets))


def _write_set_aside(path: str, rows: Sequence[SetAside]) -> None:
    """Writes the rows that cannot be used."""
    with atomic_path(path) as partial, open(partial, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(SET_ASIDE_COLUMNS)
        writer.writerows(rows)
