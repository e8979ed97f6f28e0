"""Write which of the candidates become foils: one choice over all parts, so that parts do not matter.

Protocol `refined` takes those with which text alone cannot tell truth from foil (`crepebench.refinement`), protocol
`paper` the first ones. Exclusion lists are applied after that: where a foil is left out, a spare candidate takes its
place, so that no other set changes.
"""

import csv
import json
import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from crepebench.candidate_texts import CandidateSets, Texts
from crepebench.families import FOIL_TYPES, PARTS_OF_TYPE, SHARED_PART, SYSTEMATICITY, part_of
from crepebench.files import atomic_path
from crepebench.foils import N_FOILS
from crepebench.ngrams import NgramScorer
from crepebench.refinement import choose_foils
from crepebench.schema import ENTAILMENT, FOIL_CANDIDATES, FOIL_CHOICES, FOIL_SCORES, read_table, write_table
from crepebench.set_ids import foil_id, read_exclusions, set_id_of

logger = logging.getLogger(__name__)

PAPER, NGRAM = "paper", "ngram"
LOST, ENTAILED, EXCLUDED, NO_SPARE = "refinement", "entailed_foils", "excluded", "excluded_foils"
"""Reasons why a set is left out."""
EXCLUSION_COLUMNS = ("id", "reason", "outcome")
NAMES_NOTHING, SET_LEFT_OUT = "names_nothing", "set_left_out"
FOIL_REPLACED, FOIL_WITHOUT_SPARE = "foil_replaced", "set_lost_for_lack_of_a_spare"
"""Outcomes of an exclusion."""
BOX = ("x", "y", "width", "height")


def read_candidates(paths: Sequence[str], foil_type: str) -> pl.DataFrame:
    """Reads texts and kinds of the candidates of one foil_type; sorted, so that results do not depend on parts."""
    columns = [*("family", "source_id", "image_id", *BOX), "foil_type", "caption", "foils", "reason"]
    tables = [pl.from_arrow(read_table(path, FOIL_CANDIDATES, columns)) for path in paths]
    found = [table.filter(pl.col("foil_type") == foil_type, pl.col("reason") == "") for table in tables]
    texts, kinds = (pl.col("foils").list.eval(pl.element().struct.field(name)) for name in ("text", "kind"))
    kept = ("family", "source_id", "image_id", *BOX, "caption")
    return pl.concat(found).select(*kept, texts, kinds.alias("kinds")).sort("source_id")


def to_sets(candidates: pl.DataFrame, is_used: Sequence[Sequence[int]]) -> CandidateSets:
    """Returns sets of some of the candidates as flat arrays.

    Args:
        candidates: what `read_candidates` returns.
        is_used: places of the candidates to take, for each set.
    """
    rows = zip(candidates["caption"].to_list(), candidates["foils"].to_list(), is_used, strict=True)
    texts = [text for caption, foils, places in rows for text in (caption, *(foils[i] for i in places))]
    starts = np.r_[0, np.cumsum([1 + len(places) for places in is_used], dtype=np.int64)]
    return CandidateSets(candidates["image_id"].to_numpy(), starts, Texts(texts))


def places_of_part(candidates: pl.DataFrame, part: str) -> list[list[int]]:
    """Returns the places of the candidates that belong to a part, for each set."""
    return [[i for i, kind in enumerate(kinds) if part_of(kind) == part] for kinds in candidates["kinds"].to_list()]


def choose(
    candidates: pl.DataFrame,
    used: Sequence[Sequence[int]],
    n_foils: int,
    likelihoods: Mapping[int, Sequence[float]] | None,
    config: Mapping,
) -> list[list[int]]:
    """Chooses among some of the candidates of one foil_type.

    Args:
        candidates: what `read_candidates` returns.
        used: places of the candidates to choose among, at least `n_foils` for each set.
        n_foils: foils of a set.
        likelihoods: by source_id, the likelihood of truth and candidates; None where no language model gives them.
        config: protocol, seed, plausibility, max_lost.

    Returns:
        Places of the chosen foils of each set, none where the set is lost.
    """
    if config["protocol"] == PAPER:
        return [list(places[:n_foils]) for places in used]
    sets = to_sets(candidates, used)
    if config["plausibility"] == NGRAM:
        scores = NgramScorer().cross_score(sets)
    elif likelihoods is None:
        scores = None
    else:
        found = ((likelihoods[key], places) for key, places in zip(candidates["source_id"], used, strict=True))
        scores = np.array(
            [score for values, places in found for score in (values[0], *(values[1 + i] for i in places))]
        )
    choice = choose_foils(sets, scores, n_foils, config["max_lost"], config["seed"])
    rows = zip(used, choice.taken.tolist(), choice.is_kept.tolist(), strict=True)
    return [[places[i] for i in taken] if kept else [] for places, taken, kept in rows]


class Choices:
    """The chosen foils of one foil_type.

    Attributes:
        candidates: what `read_candidates` returns.
        chosen: by source_id, the places of the chosen foils.
        reasons: by source_id, why none are chosen.
        spares: by source_id, the places of the candidates that could take a place, by part.
    """

    def __init__(self, candidates: pl.DataFrame):
        self.candidates = candidates
        self.chosen: dict[int, list[int]] = {key: [] for key in candidates["source_id"].to_list()}
        self.reasons: dict[int, str] = {}
        self.spares: dict[int, list[int]] = {key: [] for key in self.chosen}

    def add_part(self, used: Sequence[Sequence[int]], n_foils: int, likelihoods, config: Mapping) -> None:
        """Chooses the foils of one part of each set; sets with fewer than `n_foils` to choose among are lost."""
        is_enough = [len(places) >= n_foils for places in used]
        enough = [places for places, there in zip(used, is_enough, strict=True) if there]
        found = iter(choose(self.candidates.filter(is_enough), enough, n_foils, likelihoods, config))
        for key, places, there in zip(self.chosen, used, is_enough, strict=True):
            taken = next(found) if there else []
            if not taken:
                self.reasons.setdefault(key, LOST if there else ENTAILED)
            self.chosen[key] += taken
            self.spares[key] += sorted(set(places) - set(taken))

    def share_part(self, used: Sequence[Sequence[int]], other: "Choices") -> None:
        """Takes one part of each set as it was chosen where it is alone: its candidates are the same, in one order."""
        for key, places in zip(self.chosen, used, strict=True):
            if key not in other.chosen or key in other.reasons:
                self.reasons.setdefault(key, other.reasons.get(key, LOST))
            else:
                taken = [places[i] for i in other.chosen[key]]
                self.chosen[key] += taken
                self.spares[key] += [places[i] for i in other.spares[key]]

    def exclude(self, family: str, exclusions: Mapping[str, str], outcomes: dict[str, str]) -> None:
        """Leaves out what is excluded; a spare of the same kind, else of the same part, takes a foil's place.

        Args:
            family: family of the sets.
            exclusions: what `read_exclusions` returns.
            outcomes: filled with what became of each id that names something.
        """
        for row in self.candidates.iter_rows(named=True):
            key = row["source_id"]
            identity = set_id_of({**row, "family": family})
            if identity in exclusions:
                outcomes[identity] = SET_LEFT_OUT
                self.reasons[key] = EXCLUDED
            if key in self.reasons:
                continue
            ids = [foil_id(identity, text) for text in row["foils"]]
            spares = [i for i in self.spares[key] if ids[i] not in exclusions]
            for place, i in enumerate(self.chosen[key]):
                if ids[i] not in exclusions:
                    continue
                kind = row["kinds"][i]
                of_part = [other for other in spares if part_of(row["kinds"][other]) == part_of(kind)]
                spare = next((other for other in of_part if row["kinds"][other] == kind), next(iter(of_part), None))
                if spare is None:
                    self.reasons[key] = NO_SPARE
                    outcomes[ids[i]] = FOIL_WITHOUT_SPARE
                    break
                spares.remove(spare)
                self.chosen[key][place] = spare
                outcomes.setdefault(ids[i], FOIL_REPLACED)

    def rows(self, foil_type: str) -> Iterator[dict]:
        """Yields rows of table FOIL_CHOICES."""
        for key, places in self.chosen.items():
            reason = self.reasons.get(key, "")
            yield {"source_id": key, "foil_type": foil_type, "chosen": [] if reason else places, "reason": reason}


def read_by_type(paths: Sequence[str], schema, column: str) -> dict[str, dict[int, list[float]]]:
    """Reads the lists in one column of a table, by foil_type and source_id."""
    found: dict[str, dict[int, list[float]]] = {}
    for path in paths:
        for row in read_table(path, schema).to_pylist():
            found.setdefault(row["foil_type"], {})[row["source_id"]] = row[column]
    return found


def filter_foils(
    candidates_paths: list[str],
    scores_paths: list[str],
    entailment_paths: list[str],
    exclusions_paths: list[str],
    choices_path: str,
    exclusions_path: str,
    family: str,
    cfg: str,
) -> None:
    """Writes the chosen foils of a family, and what became of the exclusion lists.

    Args:
        candidates_paths: tables FOIL_CANDIDATES of all parts.
        scores_paths: tables FOIL_SCORES of all parts, where a language model says how likely texts are.
        entailment_paths: tables ENTAILMENT of all parts, where a model says which foils follow from their truth.
        exclusions_paths: exclusion lists.
        choices_path: table FOIL_CHOICES to write.
        exclusions_path: CSV of id, reason and outcome to write.
        family: family of the sets.
        cfg: JSON of protocol, seed, plausibility, max_lost, and for productivity `n_foils` and `threshold` (of
            entailment).
    """
    config = json.loads(cfg)
    likelihoods = read_by_type(scores_paths, FOIL_SCORES, "scores")
    probabilities = read_by_type(entailment_paths, ENTAILMENT, "probabilities")
    exclusions, outcomes = read_exclusions(exclusions_paths), {}
    found: dict[str, Choices] = {}
    for foil_type in FOIL_TYPES[family]:
        choices = found[foil_type] = Choices(read_candidates(candidates_paths, foil_type))
        of_type = probabilities.get(foil_type, {})
        refused = [
            {i for i, value in enumerate(of_type.get(key, ())) if value is not None and value >= config["threshold"]}
            for key in choices.chosen
        ]
        parts = PARTS_OF_TYPE[family][foil_type]
        n_own = sum(part != SHARED_PART.get(foil_type) for part in parts)  # they share what may be lost
        for part in parts:
            places = places_of_part(choices.candidates, part)
            if part == SHARED_PART.get(foil_type):
                choices.share_part(places, found[part])
            else:
                used = [[i for i in of_set if i not in out] for of_set, out in zip(places, refused, strict=True)]
                n_foils = N_FOILS[part] if family == SYSTEMATICITY else config["n_foils"]
                own = {**config, "max_lost": config["max_lost"] / n_own}
                choices.add_part(used, n_foils, likelihoods.get(foil_type), own)
        n_lost = len(choices.reasons)
        logger.info("%s: %d of %d sets are lost", foil_type, n_lost, len(choices.chosen))
    if exclusions:
        for choices in found.values():
            choices.exclude(family, exclusions, outcomes)
    write_table(choices_path, FOIL_CHOICES, (row for name, choices in found.items() for row in choices.rows(name)))
    write_exclusions(exclusions_path, exclusions, outcomes)


def write_exclusions(path: str, exclusions: Mapping[str, str], outcomes: Mapping[str, str]) -> None:
    """Writes what became of each id of the exclusion lists."""
    counts = Counter(outcomes.get(identity, NAMES_NOTHING) for identity in exclusions)
    logger.info("%d exclusions: %s", len(exclusions), dict(sorted(counts.items())))
    with atomic_path(path) as partial, open(partial, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(EXCLUSION_COLUMNS)
        writer.writerows(
            (identity, exclusions[identity], outcomes.get(identity, NAMES_NOTHING)) for identity in exclusions
        )
