"""Tabulate what text alone can solve: blind scorers on the retrieval sets, judged on images that they have not seen.

A model of images and texts has shown that it looks only where it beats the strongest blind scorer. Which one that is,
is chosen on the training folds, and its figures are those of the held-out folds.
"""

import csv
import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from crepebench.blind_scorers import (
    CombinationScorer,
    CountScorer,
    RandomWordScorer,
    Scorer,
    SurfaceScorer,
    WordScorer,
    split_folds,
)
from crepebench.candidate_texts import CandidateSets, Texts, take_runs
from crepebench.families import FOIL_TYPES, SYSTEMATICITY
from crepebench.language_models import LanguageModel, LanguageModelScorer
from crepebench.measures import STRONGEST, bootstrap_means, cell_seed, interval, recall_at, write_csv
from crepebench.ngrams import NgramScorer
from crepebench.schema import RETRIEVAL_SETS, read_table
from crepebench.scores import truth_ranks, truth_wins
from crepebench.splits import ALL_SPLITS, read_splits

logger = logging.getLogger(__name__)

COLUMNS = (
    *("protocol", "family", "corpus", "split", "foil_type", "complexity", "scorer"),
    *("pairwise_accuracy", "recall_at_1", "low", "high", "random", "n"),
)
ALL = "all"
"""Corpus and split of the rows that pool the sets."""
COUNTED = ("words", "characters", "capitals", "punctuation")
"""Counts of which the fewest and the most are scorers of their own."""
SET_COLUMNS = ["set_id", "protocol", "foil_type", "image_id", "region_id", "complexity", "caption", "foils"]


class Results(NamedTuple):
    """What one scorer makes of sets of one size.

    Attributes:
        ranks: (n_sets,) rank of the truth.
        wins: (n_sets,) share of the foils that the truth beats, ties as half.
    """

    ranks: np.ndarray
    wins: np.ndarray


class Cell(NamedTuple):
    """The sets of one row of the table, for each scorer.

    Attributes:
        corpus: corpus whose captions decide the split.
        split: its split; both are `all` where sets are pooled.
        complexity: number of atoms; "" where sets of any number are together.
        rows: places of the sets.
    """

    corpus: str
    split: str
    complexity: int | str
    rows: np.ndarray


def make_parts(seed: int, language_model: LanguageModel | None) -> list[Callable[[], Scorer]]:
    """Returns what makes each scorer but the combination."""
    counts = [f"{which}_{count}" for count in COUNTED for which in ("fewest", "most")]
    parts = [*(lambda name=name: CountScorer(name) for name in counts), SurfaceScorer]
    parts += [lambda: RandomWordScorer(seed), WordScorer, NgramScorer]
    if language_model:
        parts += [lambda raw=raw: LanguageModelScorer(language_model, not raw) for raw in (True, False)]
    return parts


def audit_sets(
    sets: CandidateSets, parts: Sequence[Callable[[], Scorer]], n_folds: int, seed: int
) -> dict[str, np.ndarray]:
    """Scores all sets with every scorer, each set by scorers that were fitted on other folds' images.

    Args:
        sets: sets of one foil_type.
        parts: what makes each scorer but the combination.
        n_folds: number of folds of images.
        seed: seed of the folds.

    Returns:
        (n_texts,) scores by name of the scorer, set by set, the truth first; `strongest` has in each fold the scores
        of the scorer with the highest pairwise accuracy on the other folds.
    """
    scores: dict[str, np.ndarray] = {}
    places = np.arange(len(sets.texts))
    for train, test in split_folds(sets, n_folds, seed):
        combination = CombinationScorer(parts, seed)
        combination.fit(sets.take(train))
        where, _ = take_runs(places, sets.starts, test)
        found = combination.score_all(sets.texts.take(where))
        chosen = max(combination.accuracies, key=combination.accuracies.get)
        logger.info("strongest on the training folds: %s (%.4f)", chosen, combination.accuracies[chosen])
        for name, values in {**found, STRONGEST: found[chosen]}.items():
            scores.setdefault(name, np.empty(len(sets.texts)))[where] = values
    return scores


def judge(scores: np.ndarray, sets: CandidateSets) -> Results:
    """Returns ranks and wins of each set.

    Raises:
        ValueError: the sets are of different sizes.
    """
    sizes = np.unique(np.diff(sets.starts))
    if len(sizes) != 1:
        raise ValueError(f"sets of different sizes in one foil_type: {sizes.tolist()}")
    by_set = scores.reshape(-1, sizes[0])
    return Results(truth_ranks(by_set), truth_wins(by_set).mean(axis=1))


def systematicity_cells(region_ids: np.ndarray, splits: Mapping[str, Mapping[int, str]]) -> Iterator[Cell]:
    """Yields the cells of the systematicity family: all sets, then each split of each corpus that holds any.

    Args:
        region_ids: (n_sets,) region of each set.
        splits: by corpus, the split of each region.
    """
    yield Cell(ALL, ALL, "", np.arange(len(region_ids)))
    for corpus, split_of in splits.items():
        of_set = np.array([split_of[region_id] for region_id in region_ids.tolist()])
        for split in ALL_SPLITS:
            if (of_set == split).any():
                yield Cell(corpus, split, "", np.flatnonzero(of_set == split))


def productivity_cells(complexities: np.ndarray) -> Iterator[Cell]:
    """Yields the cells of the productivity family: all sets, then those of each number of atoms.

    Args:
        complexities: (n_sets,) number of atoms of each truth.
    """
    yield Cell(ALL, ALL, "", np.arange(len(complexities)))
    for complexity in np.unique(complexities).tolist():
        yield Cell(ALL, ALL, complexity, np.flatnonzero(complexities == complexity))


def cell_rows(
    cell: Cell, results: Mapping[str, Results], image_ids: np.ndarray, n_resamples: int, seed: list[int]
) -> Iterator[dict]:
    """Yields the rows of one cell, a scorer each; all scorers are resampled with the same images."""
    groups = [(image_ids[cell.rows], found.wins[cell.rows]) for found in results.values()]
    for (scorer, found), means in zip(results.items(), bootstrap_means(groups, n_resamples, seed), strict=True):
        low, high = interval(100.0 * means)
        yield {
            "corpus": cell.corpus,
            "split": cell.split,
            "complexity": cell.complexity,
            "scorer": scorer,
            "pairwise_accuracy": 100.0 * float(found.wins[cell.rows].mean()),
            "recall_at_1": recall_at(found.ranks[cell.rows], 1),
            "low": low,
            "high": high,
            "n": len(cell.rows),
        }


def audit_retrieval_sets(
    sets_paths: list[str], splits_paths: list[str], table_path: str, family: str, cfg: str
) -> None:
    """Writes the audit of a family.

    Args:
        sets_paths: tables RETRIEVAL_SETS of the family.
        splits_paths: table SPLITS of each corpus, in the order of `corpora`; none for productivity.
        table_path: CSV to write.
        family: family of the sets.
        cfg: JSON of `audit` (folds, seed, language_model), `evaluation` (n_resamples, seed) and, for systematicity,
            `corpora` (names).
    """
    config = json.loads(cfg)
    audit, evaluation = config["audit"], config["evaluation"]
    splits = {name: read_splits(path) for name, path in zip(config.get("corpora", ()), splits_paths, strict=True)}
    language_model = LanguageModel(audit["language_model"]) if audit["language_model"] else None
    parts = make_parts(audit["seed"], language_model)
    rows = []
    for protocol, foil_type, found in read_sets(sets_paths, family):
        sets = candidate_sets(found)
        scores = audit_sets(sets, parts, audit["folds"], audit["seed"])
        results = {scorer: judge(values, sets) for scorer, values in scores.items()}
        key = {"protocol": protocol, "family": family, "foil_type": foil_type}
        random = 100.0 / (len(sets.texts) / len(sets))
        if family == SYSTEMATICITY:
            cells = systematicity_cells(found["region_id"].to_numpy(), splits)
        else:
            cells = productivity_cells(found["complexity"].to_numpy())
        for cell in cells:
            seed = cell_seed(evaluation["seed"], *key.values(), cell.corpus, cell.split, str(cell.complexity))
            measured = cell_rows(cell, results, sets.image_ids, evaluation["n_resamples"], seed)
            rows += [{**key, **row, "random": random} for row in measured]
    write_csv(table_path, COLUMNS, rows)


def tabulate_blind_baselines(audits_paths: list[str], table_path: str) -> None:
    """Joins the audits of the families to blind_baselines.csv.

    Args:
        audits_paths: audit of each family.
        table_path: blind_baselines.csv.
    """
    rows = []
    for path in audits_paths:
        with open(path, newline="", encoding="utf-8") as file:
            rows += csv.DictReader(file)
    write_csv(table_path, COLUMNS, rows)


def read_sets(paths: Sequence[str], family: str) -> Iterator[tuple[str, str, pl.DataFrame]]:
    """Reads retrieval sets, and yields protocol, foil_type and sets, sorted so that results do not depend on parts."""
    tables = [pl.from_arrow(read_table(path, RETRIEVAL_SETS, SET_COLUMNS)) for path in paths]
    texts = pl.col("foils").list.eval(pl.element().struct.field("text"))
    sets = pl.concat(tables).with_columns(texts).sort("protocol", "image_id", "set_id")
    for protocol in sets["protocol"].unique().sort():
        for foil_type in FOIL_TYPES[family]:
            found = sets.filter(protocol=protocol, foil_type=foil_type)
            if len(found):
                yield protocol, foil_type, found


def candidate_sets(found: pl.DataFrame) -> CandidateSets:
    """Returns sets, as rows of table RETRIEVAL_SETS with texts as `foils`, as flat arrays."""
    sizes = 1 + found["foils"].list.len().to_numpy().astype(np.int64)
    texts = found.select(pl.concat_list("caption", "foils").explode()).to_series().to_list()
    return CandidateSets(found["image_id"].to_numpy(), np.r_[0, np.cumsum(sizes)], Texts(texts))
