"""Write which of the candidates become foils: one choice over all parts, so that parts do not matter."""

import json
import logging
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from crepebench.candidate_texts import CandidateSets, Texts
from crepebench.foils import N_ATOM_FOILS, N_COMP_FOILS
from crepebench.graphs import ATTRIBUTE, OBJECT, RELATION
from crepebench.ngrams import NgramScorer
from crepebench.refinement import choose_foils
from crepebench.schema import FOIL_CANDIDATES, FOIL_CHOICES, FOIL_SCORES, read_table, write_table

logger = logging.getLogger(__name__)

NGRAM, NONE = "ngram", "none"
SINGLE = (OBJECT, ATTRIBUTE, RELATION)
"""Kinds of foils with one wrong atom."""
LOST = "refinement"


def read_candidates(paths: Sequence[str], foil_type: str) -> pl.DataFrame:
    """Reads texts and kinds of the candidates of one foil_type; sorted, so that results do not depend on parts."""
    columns = ["image_id", "region_id", "foil_type", "caption", "foils", "reason"]
    tables = [pl.from_arrow(read_table(path, FOIL_CANDIDATES, columns)) for path in paths]
    found = [table.filter(pl.col("foil_type") == foil_type, pl.col("reason") == "") for table in tables]
    texts, kinds = (pl.col("foils").list.eval(pl.element().struct.field(name)) for name in ("text", "kind"))
    return pl.concat(found).select("image_id", "region_id", "caption", texts, kinds.alias("kinds")).sort("region_id")


def to_sets(candidates: pl.DataFrame, is_used: list[list[int]]) -> CandidateSets:
    """Returns sets of some of the candidates as flat arrays.

    Args:
        candidates: what `read_candidates` returns.
        is_used: places of the candidates to take, for each set.
    """
    rows = zip(candidates["caption"].to_list(), candidates["foils"].to_list(), is_used, strict=True)
    texts = [text for caption, foils, places in rows for text in (caption, *(foils[i] for i in places))]
    starts = np.r_[0, np.cumsum([1 + len(places) for places in is_used], dtype=np.int64)]
    return CandidateSets(candidates["image_id"].to_numpy(), starts, Texts(texts))


def choose(
    candidates: pl.DataFrame, is_single: bool | None, n_foils: int, likelihoods: dict[int, list[float]] | None, config
) -> dict[int, list[int] | None]:
    """Chooses among the candidates of one foil_type.

    Args:
        candidates: what `read_candidates` returns.
        is_single: whether to choose among foils with one wrong atom, or among the others; all where None.
        n_foils: foils of a set.
        likelihoods: by region, the likelihood of truth and candidates; None where those of an n-gram model are used.
        config: config block `foils`.

    Returns:
        Places of the chosen foils by region, None where the set is lost.
    """
    used = [
        [i for i, kind in enumerate(kinds) if is_single is None or (kind in SINGLE) == is_single]
        for kinds in candidates["kinds"].to_list()
    ]
    sets = to_sets(candidates, used)
    region_ids = candidates["region_id"].to_list()
    if config["plausibility"] == NGRAM:
        scores = NgramScorer().cross_score(sets)
    elif likelihoods is None:
        scores = None
    else:
        found = ((likelihoods[region_id], places) for region_id, places in zip(region_ids, used, strict=True))
        scores = np.array(
            [score for values, places in found for score in (values[0], *(values[1 + i] for i in places))]
        )
    choice = choose_foils(sets, scores, n_foils, config["max_lost"], config["seed"])
    rows = zip(region_ids, used, choice.taken.tolist(), choice.is_kept.tolist(), strict=True)
    return {region_id: [places[i] for i in taken] if kept else None for region_id, places, taken, kept in rows}


def choice_rows(foil_type: str, chosen: dict[int, list[int] | None]) -> Iterator[dict]:
    """Yields rows of table FOIL_CHOICES."""
    for region_id, places in sorted(chosen.items()):
        reason = LOST if places is None else ""
        yield {"region_id": region_id, "foil_type": foil_type, "chosen": places or [], "reason": reason}


def filter_foils(candidates_paths: list[str], scores_paths: list[str], choices_path: str, cfg: str) -> None:
    """Writes the chosen foils.

    `combined` takes the foils that were chosen for `comp`, and beside them foils with one wrong atom.

    Args:
        candidates_paths: tables FOIL_CANDIDATES of all parts.
        scores_paths: tables FOIL_SCORES of all parts, where a language model says how likely texts are.
        choices_path: table FOIL_CHOICES to write.
        cfg: config block `foils` as JSON: seed, plausibility, max_lost.
    """
    config = json.loads(cfg)
    likelihoods: dict[str, dict[int, list[float]]] = {"atom": {}, "comp": {}, "combined": {}}
    for path in scores_paths:
        for row in read_table(path, FOIL_SCORES).to_pylist():
            likelihoods[row["foil_type"]][row["region_id"]] = row["scores"]
    rows: list[dict] = []
    chosen = {}
    for foil_type, is_single, n_foils in (
        ("atom", None, N_ATOM_FOILS),
        ("comp", None, N_COMP_FOILS),
        ("combined", True, N_ATOM_FOILS),
    ):
        candidates = read_candidates(candidates_paths, foil_type)
        found = choose(candidates, is_single, n_foils, likelihoods[foil_type] if scores_paths else None, config)
        if foil_type == "combined":
            n_single = {
                region_id: sum(kind in SINGLE for kind in kinds)
                for region_id, kinds in zip(candidates["region_id"], candidates["kinds"].to_list(), strict=True)
            }
            found = {
                region_id: places
                and chosen["comp"][region_id]
                and [*places, *(n_single[region_id] + i for i in chosen["comp"][region_id])]
                for region_id, places in found.items()
            }
        chosen[foil_type] = found
        n_lost = sum(places is None for places in found.values())
        logger.info("%s: %d of %d sets are lost", foil_type, n_lost, len(found))
        rows += choice_rows(foil_type, found)
    write_table(choices_path, FOIL_CHOICES, rows)
