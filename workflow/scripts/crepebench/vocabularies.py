"""Count the atoms and compounds of a training corpus's captions, shard by shard.

The count of an entry is the number of captions that hold it at least once, in 64 bits.
"""

import json
from collections import Counter
from collections.abc import Iterable

import polars as pl

from crepebench.accounting import KEPT, READ, read_accounting, write_accounting
from crepebench.corpora import CorpusRow, list_files, read_rows
from crepebench.graphs import ATTRIBUTE, OBJECT, RELATION, Graph, load_parser, parse_texts
from crepebench.phrases import PAPER_RULE
from crepebench.schema import COMPOUND_FIELDS, VOCABULARY, read_table, write_table

KEY_FIELDS = [name for name, _ in COMPOUND_FIELDS]
COUNTED = "counted"
"""State of an entry whose count is exact, since every caption was parsed."""


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


def count_captions(rows: Iterable[CorpusRow], parser, attributes: str = PAPER_RULE) -> tuple[Counter, Counter]:
    """Counts the vocabulary of captions.

    Args:
        rows: rows of a corpus, unusable ones included.
        parser: what `crepebench.graphs.load_parser` returns.
        attributes: which words are attributes; see `crepebench.phrases.is_attribute`.

    Returns:
        Captions per key, and accounting counts of the rows.
    """
    accounting: Counter = Counter({READ: 0, KEPT: 0})

    def usable_texts():
        for row in rows:
            accounting[READ] += 1
            accounting[row.reason or KEPT] += 1
            if not row.reason:
                yield row.text

    vocabulary: Counter = Counter()
    for graph in parse_texts(usable_texts(), parser, attributes):
        vocabulary.update(vocabulary_keys(graph))
    return vocabulary, accounting


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
        vocabulary_path: table VOCABULARY to write.
        accounting_path: counts to write.
        shard: index of the shard, from 0.
        n_shards: number of shards.
        cfg: JSON of `format`, `spacy_model` and `attributes`.
    """
    config = json.loads(cfg)
    rows = read_rows(list_files(corpus_paths), config["format"], shard, n_shards)
    vocabulary, accounting = count_captions(rows, load_parser(config["spacy_model"]), config["attributes"])
    write_table(vocabulary_path, VOCABULARY, vocabulary_rows(vocabulary, accounting[KEPT]))
    write_accounting(accounting_path, f"vocabularies/{corpus}", {"caption": accounting})


def vocabulary_rows(vocabulary: Counter, n_parsed: int) -> Iterable[dict]:
    """Yields rows of table VOCABULARY, sorted by key."""
    for key in sorted(vocabulary):
        yield {
            **dict(zip(KEY_FIELDS, key, strict=True)),
            "count": vocabulary[key],
            "state": COUNTED,
            "n_parsed": n_parsed,
        }


def merge_vocabularies(shard_paths: list[str], accounting_paths: list[str], vocabulary_path: str) -> None:
    """Adds up the vocabularies of all shards of a corpus.

    Args:
        shard_paths: tables VOCABULARY of all shards.
        accounting_paths: counts of all shards; they say how many captions were parsed, with atoms or without.
        vocabulary_path: table VOCABULARY to write, sorted by key.

    Raises:
        ValueError: no caption of the corpus could be parsed.
    """
    shards = [pl.from_arrow(read_table(path, VOCABULARY)) for path in shard_paths]
    n_parsed = sum(row["count"] for row in read_accounting(accounting_paths) if row["reason"] == KEPT)
    if n_parsed == 0:
        raise ValueError(f"{vocabulary_path}: the corpus holds no usable caption; see its accounting.csv")
    merged = pl.concat(shards).group_by(*KEY_FIELDS, "state").agg(pl.col("count").sum()).sort(KEY_FIELDS)
    merged = merged.with_columns(n_parsed=pl.lit(n_parsed, dtype=pl.Int64)).select(VOCABULARY.names)
    write_table(vocabulary_path, VOCABULARY, merged.iter_rows(named=True))


def read_seen(vocabulary_path: str, min_count: int) -> set[tuple[str, ...]]:
    """Reads the keys that occur in at least `min_count` captions."""
    table = pl.from_arrow(read_table(vocabulary_path, VOCABULARY))
    return set(table.filter(pl.col("count") >= min_count).select(KEY_FIELDS).iter_rows())
