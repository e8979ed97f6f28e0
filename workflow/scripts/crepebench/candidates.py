"""Decide which atoms and compounds of the test regions a corpus shows, parsing only captions that could show one.

Hundreds of millions of captions take days to parse, and nearly all of what they hold is in no test region. So the
atoms and compounds of the regions, the test keys, are looked for. A caption is a candidate for a key if it holds all
its words in any inflection (`crepebench.scan`); any other caption cannot give that key, so nothing is lost. A key that
has been found often enough to be seen is not looked for any longer.

`crepebench.waves` says in which order shards are read. With a budget the last wave parses a random sample of each key's
candidates (`crepebench.draws`).
"""

import json
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import polars as pl
import pyarrow as pa

from crepebench.accounting import KEPT, READ, write_accounting
from crepebench.distinct import read_distinct
from crepebench.draws import N_TIERS, Draws, count_rows, read_draws
from crepebench.graphs import Graph
from crepebench.parsing import load_parser, parse_texts
from crepebench.scan import CandidateIndex
from crepebench.schema import CANDIDATE_COUNTS, VOCABULARY, read_table, write_table, write_tables
from crepebench.vocabularies import FAILED, KEY_FIELDS, PARSED, REPEATED, UNDECIDED, vocabulary_keys, vocabulary_rows

logger = logging.getLogger(__name__)

SLICE_ROWS = 20_000
"""Captions that are scanned at once."""
PARSE_ROWS = 512
"""Candidates that are parsed at once; after each such batch, keys that are decided are looked for no longer."""
NO_CANDIDATE = "no_candidate"
"""Reason for which a caption is not parsed: it cannot hold any key that is still looked for."""
NOT_DRAWN = "not_drawn"
"""Reason for which a caption is not parsed: it is in no sample, or only in those of keys that were found meanwhile."""

Batches = Iterable[tuple[pa.LargeStringArray, np.ndarray]]
"""Folded captions, and (n,) int64, how often each stands in the shard."""
Parse = Callable[[list[str]], Iterable[Graph]]
"""Gives the graphs of texts, in their order."""


class OpenKeys:
    """The keys that a job still looks for, and how often it has found each.

    Attributes:
        keys: all keys.
        index: what finds the candidates of those that are still looked for.
        n_found: (n_keys,) int64, captions that hold each.
        n_failed: captions that could not be parsed.
    """

    def __init__(self, keys: Sequence[tuple[str, ...]], n_needed: Sequence[int]):
        """Takes keys and how many more captions must hold each for it to be seen."""
        self.keys = list(keys)
        self.index = CandidateIndex(self.keys)
        self.n_found = np.zeros(len(self.keys), np.int64)
        self.n_failed = 0
        self._n_needed = list(n_needed)
        self._open = {key: key_id for key_id, key in enumerate(self.keys)}

    def __len__(self) -> int:
        return len(self._open)

    def are_any_open(self, key_ids: Iterable[int]) -> bool:
        """Says whether any of some keys is still looked for."""
        return any(self.keys[key_id] in self._open for key_id in key_ids)

    def count(self, graphs: Iterable[Graph], weights: Iterable[int]) -> None:
        """Counts the keys of parsed captions, and closes those that are decided."""
        closed = []
        for graph, weight in zip(graphs, weights, strict=True):
            self.n_failed += graph.failed
            for key in vocabulary_keys(graph) & self._open.keys():
                key_id = self._open[key]
                self.n_found[key_id] += weight
                if self.n_found[key_id] >= self._n_needed[key_id]:
                    closed.append(key_id)
                    del self._open[key]
        if closed:
            self.index.drop(closed)

    def found(self) -> Counter:
        """Returns the number of captions by key, for keys that were found."""
        return Counter({key: int(n) for key, n in zip(self.keys, self.n_found, strict=True) if n})


def parse_candidates(batches: Batches, keys: OpenKeys, parse: Parse) -> int:
    """Parses the captions that hold all words of a key that is still looked for; returns their number."""
    n_parsed = 0
    for texts, weights in batches:
        for start in range(0, len(texts), SLICE_ROWS):
            rest, rest_weights = texts.slice(start, SLICE_ROWS), weights[start : start + SLICE_ROWS]
            while len(keys) and len(rest):
                is_match = keys.index.matches(rest)
                rest, rest_weights = rest.filter(pa.array(is_match)), rest_weights[is_match]
                now = rest.slice(0, PARSE_ROWS).to_pylist()
                keys.count(parse(now), rest_weights[: len(now)])
                n_parsed += len(now)
                rest, rest_weights = rest.slice(len(now)), rest_weights[len(now) :]
        if not len(keys):
            break
    return n_parsed


def parse_drawn(batches: Batches, keys: OpenKeys, draws: Draws, parse: Parse) -> int:
    """Parses the captions that were drawn, closest words first, unless all keys they were drawn for are found.

    Returns:
        Number of captions parsed.
    """
    drawn = []  # (tier, caption, its weight, keys for which it was drawn)
    for texts, weights in batches:
        for start in range(0, len(texts), SLICE_ROWS):
            now = texts.slice(start, SLICE_ROWS)
            for row, tier, key_ids in draws.choose(*keys.index.pairs(now)):
                drawn.append((tier, now[row].as_py(), weights[start + row], key_ids))
    drawn.sort(key=lambda found: found[0])  # stable: within a tier in the order of the shard
    n_parsed = 0
    for start in range(0, len(drawn), PARSE_ROWS):
        now = [(text, weight) for _, text, weight, ids in drawn[start : start + PARSE_ROWS] if keys.are_any_open(ids)]
        keys.count(parse([text for text, _ in now]), [weight for _, weight in now])
        n_parsed += len(now)
    return n_parsed


def count_candidates(batches: Batches, index: CandidateIndex, n_keys: int) -> np.ndarray:
    """Counts the captions that hold all words of a key.

    Args:
        batches: folded captions, and how often each stands in the shard.
        index: index of the keys.
        n_keys: number of keys.

    Returns:
        (n_keys * N_TIERS,) int64, captions by key and tier.
    """
    n_candidates = np.zeros(n_keys * N_TIERS, np.int64)
    for texts, _ in batches:
        for start in range(0, len(texts), SLICE_ROWS):
            _, key_ids, tiers = index.pairs(texts.slice(start, SLICE_ROWS))
            groups = key_ids.astype(np.int64) * N_TIERS + tiers - 1
            n_candidates += np.bincount(groups, minlength=len(n_candidates))
    return n_candidates


def read_open_keys(wave_path: str, min_count: int) -> tuple[list[tuple[str, ...]], list[int]]:
    """Reads the undecided keys of a wave's table, and how many more captions must hold each for it to be seen."""
    wave = pl.from_arrow(read_table(wave_path, VOCABULARY, [*KEY_FIELDS, "count", "state"]))
    rows = wave.filter(pl.col("state") == UNDECIDED)
    return list(rows.select(KEY_FIELDS).iter_rows()), [min_count - count for count in rows["count"]]


def write_candidate_counts(
    corpus_paths: list[str], wave_path: str, counts_path: str, part: int, n_parts: int, cfg: str
) -> None:
    """Counts the candidates of one shard for the keys that the wave looks for.

    Args:
        corpus_paths: files of the corpus.
        wave_path: table VOCABULARY of the wave.
        counts_path: table CANDIDATE_COUNTS to write, sorted by key and tier.
        part: index of the shard, from 0.
        n_parts: number of shards.
        cfg: JSON of `definition` (of the corpus) and `min_count`.
    """
    config = json.loads(cfg)
    keys, _ = read_open_keys(wave_path, config["min_count"])
    n_candidates = np.zeros(0, np.int64)
    if keys:
        captions = read_distinct(corpus_paths, config["definition"], part, n_parts)
        n_candidates = count_candidates(captions.batches(), CandidateIndex(keys), len(keys))
    write_tables(counts_path, CANDIDATE_COUNTS, [count_rows(n_candidates, keys, part)])


def write_found(
    corpus_paths: list[str],
    wave_path: str,
    draws_paths: list[str],
    corpus: str,
    found_path: str,
    accounting_path: str,
    part: int,
    n_parts: int,
    cfg: str,
) -> None:
    """Parses the candidates of one shard and writes what they hold of the keys that the wave looks for.

    Args:
        corpus_paths: files of the corpus.
        wave_path: table VOCABULARY of the wave.
        draws_paths: table CANDIDATE_COUNTS of the draw; empty if all candidates are parsed.
        corpus: name of the corpus.
        found_path: table VOCABULARY to write, sorted by key; only keys that were found.
        accounting_path: counts to write.
        part: index of the shard, from 0.
        n_parts: number of shards.
        cfg: JSON of `definition` (of the corpus), `spacy_model`, `attributes`, `min_count` and `seed`.
    """
    config = json.loads(cfg)
    keys = OpenKeys(*read_open_keys(wave_path, config["min_count"]))
    usable, parsed = Counter({READ: 0, KEPT: 0}), Counter({READ: 0, KEPT: 0})
    if len(keys):  # else nothing is left to look for, and the shard is not read
        parser = load_parser(config["spacy_model"])
        captions = read_distinct(corpus_paths, config["definition"], part, n_parts)
        n_open = len(keys)

        def parse(texts: list[str]) -> Iterator[Graph]:
            return parse_texts(texts, parser, config["attributes"])

        if draws_paths:
            draws = read_draws(draws_paths[0], part, keys.keys, config["seed"])
            n_parsed = parse_drawn(captions.batches(), keys, draws, parse)
        else:
            n_parsed = parse_candidates(captions.batches(), keys, parse)
        usable = captions.counts
        parsed = Counter(
            {
                READ: usable[KEPT],
                REPEATED: usable[KEPT] - captions.n_distinct,
                NOT_DRAWN if draws_paths else NO_CANDIDATE: captions.n_distinct - n_parsed,
                FAILED: keys.n_failed,
                KEPT: n_parsed - keys.n_failed,
            }
        )
        logger.info("%d of %d distinct captions parsed for %d keys", n_parsed, captions.n_distinct, n_open)
    found = keys.found()
    write_table(found_path, VOCABULARY, vocabulary_rows(found, parsed[KEPT], UNDECIDED))
    write_accounting(accounting_path, f"vocabularies/{corpus}", {"caption": usable, PARSED: parsed})
