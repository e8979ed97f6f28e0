"""Count the atoms and compounds of a training corpus's captions, shard by shard, by parsing every caption.

The count of an entry is the number of captions that hold it at least once, in 64 bits. `crepebench.candidates` decides
what is seen with fewer parses; its vocabularies have the same columns, and say in `state` what their counts mean.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
import pyarrow as pa

from crepebench.accounting import KEPT, READ, read_accounting, write_accounting
from crepebench.corpus_ids import read_corpus_id
from crepebench.distinct import read_distinct
from crepebench.graphs import ATTRIBUTE, OBJECT, RELATION, Graph
from crepebench.merges import merge_sorted
from crepebench.parsing import load_parser, parse_texts
from crepebench.schema import COMPOUND_FIELDS, VOCABULARY, read_table, write_table

KEY_FIELDS = [name for name, _ in COMPOUND_FIELDS]
MAX_KEYS = 2_000_000
"""Entries of a shard that are counted in memory; then they are written to a temporary file and merged at the end."""

COUNTED = "counted"
"""The count is exact: no caption that could hold the entry was left out."""
REACHED = "reached"
"""The count is the minimum to be seen; no caption was looked at after it was reached."""
NOT_FOUND = "not_found"
"""The count is too small to be seen, in the captions that were drawn; `max_rate` bounds what the others may hold."""
UNDECIDED = "undecided"
"""The count is not final: a later wave goes on. Only in tables between waves."""

PARSED = "parsed_caption"
"""Unit of the accounting: usable captions that were parsed, or not and why."""
REPEATED = "repeated"
FAILED = "parse_failed"


def vocabulary_keys(graph: Graph) -> set[tuple[str, ...]]:
    """Returns the keys (kind, subject, relation, object, attribute) of a graph's atoms and compounds, each once."""
    keys = {atom_key(atom.kind, atom.text) for atom in graph.atoms}
    keys.update((c.kind, c.subject, c.relation, c.object, c.attribute) for c in graph.compounds)
    return keys


def atom_key(kind: str, text: str) -> tuple[str, ...]:
    """Returns the key of an atom: its text stands in the field of its kind.

    Raises:
        KeyError: the kind is none of object, relation, attribute.
    """
    field = {OBJECT: 3, RELATION: 2, ATTRIBUTE: 4}[kind]
    return tuple(kind if i == 0 else text if i == field else "" for i in range(len(KEY_FIELDS)))


def count_keys(
    batches: Iterable[tuple[pa.LargeStringArray, np.ndarray]], parser, attributes: str, parsed: Counter
) -> Iterator[Counter]:
    """Counts the vocabulary of captions.

    Args:
        batches: captions, and (n,) int64, how often each stands in the corpus.
        parser: what `crepebench.parsing.load_parser` returns.
        attributes: which words are attributes; see `crepebench.phrases.is_attribute`.
        parsed: counts of the captions (KEPT, FAILED) to add to.

    Yields:
        Captions per key; the sum over all is the vocabulary. More than one if there are more than MAX_KEYS keys.
    """
    vocabulary: Counter = Counter()
    for texts, weights in batches:
        graphs = parse_texts(texts.to_pylist(), parser, attributes)
        for graph, weight in zip(graphs, weights.tolist(), strict=True):
            parsed[FAILED if graph.failed else KEPT] += 1
            for key in vocabulary_keys(graph):
                vocabulary[key] += weight
            if len(vocabulary) >= MAX_KEYS:
                yield vocabulary
                vocabulary = Counter()
    yield vocabulary


def parse_corpus(
    corpus_paths: list[str],
    corpus: str,
    vocabulary_path: str,
    accounting_path: str,
    shard: int,
    n_shards: int,
    cfg: str,
) -> None:
    """Parses one shard of a corpus and writes its vocabulary.

    Args:
        corpus_paths: files of the corpus, or folders of them, in a fixed order.
        corpus: name of the corpus.
        vocabulary_path: table VOCABULARY to write, sorted by key; without the corpus's id.
        accounting_path: counts to write.
        shard: index of the shard, from 0.
        n_shards: number of shards.
        cfg: JSON of `definition` (of the corpus), `spacy_model` and `attributes`.
    """
    config = json.loads(cfg)
    captions = read_distinct(corpus_paths, config["definition"], shard, n_shards)
    n_usable = captions.counts[KEPT]
    parsed = Counter({READ: n_usable, REPEATED: n_usable - captions.n_distinct, KEPT: 0})
    parser = load_parser(config["spacy_model"])
    with TemporaryDirectory() as folder:
        runs = []
        for vocabulary in count_keys(captions.batches(), parser, config["attributes"], parsed):
            runs.append(str(Path(folder) / f"{len(runs)}.parquet"))
            write_table(runs[-1], VOCABULARY, vocabulary_rows(vocabulary, n_usable))
        merge_sorted(runs, VOCABULARY, KEY_FIELDS, vocabulary_path, add_counts)
    write_accounting(accounting_path, f"vocabularies/{corpus}", {"caption": captions.counts, PARSED: parsed})


def vocabulary_rows(vocabulary: Counter, n_parsed: int, state: str = COUNTED) -> Iterable[dict]:
    """Yields rows of table VOCABULARY, sorted by key, without the corpus's id."""
    for key in sorted(vocabulary):
        yield {
            **dict(zip(KEY_FIELDS, key, strict=True)),
            "count": vocabulary[key],
            "state": state,
            "n_candidates": None,
            "n_drawn": None,
            "max_rate": None,
            "n_parsed": n_parsed,
            "corpus_id": "",
        }


def add_counts(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds up the counts of equal keys; `n_parsed` is left as it is in one of them."""
    others = [name for name in VOCABULARY.names if name not in (*KEY_FIELDS, "count")]
    return rows.group_by(KEY_FIELDS).agg(pl.col("count").sum(), pl.col(others).first())


def merge_vocabularies(
    shard_paths: list[str], accounting_paths: list[str], record_path: str, vocabulary_path: str
) -> None:
    """Adds up the vocabularies of all shards of a corpus, in memory that does not grow with their size.

    Args:
        shard_paths: tables VOCABULARY of all shards.
        accounting_paths: counts of all shards; they say how many captions were parsed, with atoms or without.
        record_path: record of the corpus.
        vocabulary_path: table VOCABULARY to write, sorted by key.

    Raises:
        ValueError: no caption of the corpus could be parsed.
    """
    n_parsed = count_usable(accounting_paths)
    if n_parsed == 0:
        raise ValueError(f"{vocabulary_path}: the corpus holds no usable caption; see its accounting.csv")
    total = pl.lit(n_parsed, dtype=pl.Int64).alias("n_parsed"), pl.lit(read_corpus_id(record_path)).alias("corpus_id")
    merge_sorted(
        shard_paths, VOCABULARY, KEY_FIELDS, vocabulary_path, lambda rows: add_counts(rows).with_columns(*total)
    )


def count_usable(accounting_paths: list[str]) -> int:
    """Returns the number of usable captions of all shards, repeated ones counted each time."""
    rows = read_accounting(accounting_paths)
    return sum(row["count"] for row in rows if (row["unit"], row["reason"]) == ("caption", KEPT))


def read_entries(vocabulary_path: str, keys: Iterable[tuple[str, ...]]) -> dict[tuple[str, ...], dict]:
    """Reads the entries of some keys; the rest of the vocabulary, which may be large, never stands in memory.

    Returns:
        Row of table VOCABULARY by key; keys that the vocabulary lacks are left out.
    """
    wanted = pl.DataFrame(sorted(set(keys)), schema=dict.fromkeys(KEY_FIELDS, pl.String), orient="row")
    read_table(vocabulary_path, VOCABULARY, [])  # refuses a file of another version
    found = pl.scan_parquet(vocabulary_path).join(wanted.lazy(), on=KEY_FIELDS, how="semi").collect(engine="streaming")
    return {tuple(row[field] for field in KEY_FIELDS): row for row in found.iter_rows(named=True)}
