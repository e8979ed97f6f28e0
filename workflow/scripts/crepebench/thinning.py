"""Recompute the gap as if the parser had found fewer compounds in the training captions.

A compound that the parser misses in training captions counts as unseen, although the model was shown it. So a parser
of low recall puts easy queries into UC (paper section A.2). Here recall is lowered on purpose: each of a compound's
occurrences in a vocabulary is kept with probability `recall`, and regions are split anew.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from crepebench.graphs import ATTRIBUTE_OBJECT, OBJECT_RELATION_OBJECT
from crepebench.measures import cell_seed, write_csv
from crepebench.schema import GRAPHS, read_table
from crepebench.splits import SC, UC, decide_split, graph_keys
from crepebench.systematicity_tables import GAP_COLUMNS, KEY_COLUMNS, Queries, compared_cells, gap_row
from crepebench.vocabularies import COUNTED, read_entries

THINNED_KINDS = (ATTRIBUTE_OBJECT, OBJECT_RELATION_OBJECT)
# ASSUME: only compounds are thinned, not atoms: the paper's recall is of triplets, and a lost atom would move regions
# to UA, which is no part of the gap, rather than to UC.
COLUMNS = (*KEY_COLUMNS, "recall", "n_seen", "n_unseen", *GAP_COLUMNS[len(KEY_COLUMNS) :])


def key_share(key: tuple[str, ...], seed: int) -> float:
    """Returns a number in (0, 1) that is drawn for a compound; it depends on nothing but the compound and the seed."""
    digest = hashlib.sha256("\0".join((str(seed), *key)).encode()).digest()
    return (int.from_bytes(digest[:8], "big") // 2**12 + 0.5) / 2**52


def are_kept(
    keys: Sequence[tuple[str, ...]], counts: np.ndarray, recall: float, min_count: int, seed: int
) -> np.ndarray:
    """Returns which compounds still count as seen when each occurrence is found with probability `recall`.

    The number of occurrences found is binomial. It is drawn by inversion of one number per compound, which is the same
    for every recall: what a parser of lower recall finds, one of higher recall finds, too.

    Args:
        keys: keys of the compounds.
        counts: (n,) int64, captions that hold each.
        recall: 0-1.
        min_count: captions in which a compound must be found to count as seen.
        seed: seed of the draw.

    Returns:
        (n,) bool.
    """
    from scipy.stats import binom

    # ASSUME: misses are independent of each other; a real parser misses the same wording each time, and so loses rarer
    # compounds wholly and common ones not at all.
    shares = np.array([key_share(key, seed) for key in keys])
    return shares < binom.sf(min_count - 1, counts, recall)


def read_counts(vocabulary_path: str, keys: Iterable[tuple[str, ...]]) -> tuple[dict[tuple[str, ...], int], str]:
    """Reads the counts of some keys, and the id of the corpus.

    Raises:
        ValueError: the count of a compound is not exact.
    """
    entries = read_entries(vocabulary_path, keys)
    inexact = [row["state"] for row in entries.values() if row["kind"] in THINNED_KINDS and row["state"] != COUNTED]
    if inexact:
        raise ValueError(
            f"{vocabulary_path}: {len(inexact)} compounds are {inexact[0]!r}; a vocabulary can be thinned "
            f"only where all counts are exact (state {COUNTED!r}), that is if every caption was parsed"
        )
    corpus_ids = sorted({row["corpus_id"] for row in entries.values()})
    return {key: entries[key]["count"] for key in sorted(entries)}, " ".join(corpus_ids)


def thinned_splits(
    graphs: Sequence[dict], counts: Mapping[tuple[str, ...], int], recalls: Sequence[float], min_count: int, seed: int
) -> Iterator[tuple[float, dict[int, str]]]:
    """Yields each recall with the split of every region under the vocabulary that is thinned to it.

    Args:
        graphs: rows of table GRAPHS.
        counts: captions that hold each key.
        recalls: 0-1.
        min_count: captions in which something must be found to count as seen.
        seed: seed of the draw.
    """
    compounds = {key: count for key, count in counts.items() if key[0] in THINNED_KINDS}
    seen_atoms = {key for key, count in counts.items() if key[0] not in THINNED_KINDS and count >= min_count}
    keys, sizes = list(compounds), np.array(list(compounds.values()), np.int64)
    for recall in recalls:
        kept = are_kept(keys, sizes, recall, min_count, seed)
        seen = seen_atoms | {key for key, is_kept in zip(keys, kept, strict=True) if is_kept}
        split_of = {}
        for graph in graphs:
            split_of[graph["region_id"]], _ = decide_split(graph["atoms"], graph["compounds"], seen)
        yield recall, split_of


def gap_rows(queries: Queries, split_of: dict[int, str], key: dict, evaluation: dict) -> Iterator[dict]:
    """Yields the gap of one model for each protocol and foil_type with both SC and UC, as systematicity_gap.csv has it.

    Args:
        queries: scored queries of the model.
        split_of: split of each region.
        key: training_corpus and model.
        evaluation: n_resamples and seed of the bootstrap; matched, whether sets of SC and UC are matched.
    """
    found = compared_cells(queries, split_of, evaluation)
    cells = {(protocol, foil_type, split): rows for protocol, foil_type, split, rows in found}
    for protocol, foil_type, split in cells:
        if split == SC and (protocol, foil_type, UC) in cells:
            seen, unseen = (cells[protocol, foil_type, name] for name in (SC, UC))
            names = {"protocol": protocol, **key, "foil_type": foil_type}
            seed = cell_seed(evaluation["seed"], *(names[column] for column in KEY_COLUMNS))
            row = gap_row(seen, unseen, evaluation["n_resamples"], seed)
            yield {**names, "n_seen": len(seen), "n_unseen": len(unseen), **row}


def tabulate_thinned_gap(
    sets_paths: list[str],
    scores_paths: list[str],
    graphs_path: str,
    vocabulary_paths: list[str],
    table_path: str,
    cfg: str,
) -> None:
    """Writes the gap for vocabularies thinned to each recall.

    Args:
        sets_paths: tables RETRIEVAL_SETS.
        scores_paths: table SCORES of each model, in the order of `models`.
        graphs_path: table GRAPHS.
        vocabulary_paths: table VOCABULARY of each corpus, in the order of `corpora`.
        table_path: systematicity_gap_by_recall.csv.
        cfg: JSON of `thinning` (recalls, seed), `splits` (min_count), `evaluation` (n_resamples, seed, cross_corpus,
            matched), `corpora` (names) and `models` (pairs of name and definition).

    Raises:
        ValueError: the count of a compound is not exact.
    """
    config = json.loads(cfg)
    evaluation, thinning = config["evaluation"], config["thinning"]
    graphs = read_table(graphs_path, GRAPHS, ["region_id", "atoms", "compounds"]).to_pylist()
    keys = graph_keys(graphs)
    queries = [Queries(sets_paths, path) for path in scores_paths]
    rows = []
    for corpus, path in zip(config["corpora"], vocabulary_paths, strict=True):
        counts, corpus_id = read_counts(path, keys)
        for recall, split_of in thinned_splits(graphs, counts, min_count=config["splits"]["min_count"], **thinning):
            for (model, definition), found in zip(config["models"], queries, strict=True):
                if corpus in definition["training_data"] or evaluation["cross_corpus"]:
                    key = {"training_corpus": corpus, "model": model}
                    gaps = gap_rows(found, split_of, key, evaluation)
                    rows += [{**row, "recall": 100.0 * recall, "corpus_id": corpus_id} for row in gaps]
    write_csv(table_path, COLUMNS, rows)
