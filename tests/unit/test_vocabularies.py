import csv
from collections import Counter

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from crepebench import vocabularies
from crepebench.accounting import KEPT, READ, write_accounting
from crepebench.graphs import Graph
from crepebench.parsing import parse_texts
from crepebench.schema import VOCABULARY, read_table, write_table
from crepebench.vocabularies import (
    KEY_FIELDS,
    atom_key,
    count_keys,
    merge_vocabularies,
    parse_corpus,
    read_entries,
    vocabulary_keys,
    vocabulary_rows,
)

CFG = '{"definition": {"format": "cc12m"}, "spacy_model": "any", "attributes": "adjectives"}'
JAR, BOX, RED = (atom_key(*atom) for atom in (("object", "jar"), ("object", "box"), ("attribute", "red")))
RED_JAR = ("attribute_object", "", "", "jar", "red")


def batch_of(weights):
    return pa.array(list(weights), pa.large_string()), np.array(list(weights.values()))


@pytest.fixture
def record(tmp_path):
    (tmp_path / "c.json").write_text('{"corpus_id": "cc12m:1"}')
    return str(tmp_path / "c.json")


@pytest.fixture
def fast_parser(parser, monkeypatch):
    monkeypatch.setattr("crepebench.vocabularies.load_parser", lambda model: parser)
    return parser


def write_shard(path, counts, n_parsed):
    write_table(str(path), VOCABULARY, vocabulary_rows(Counter(counts), n_parsed))
    return str(path)


def write_counts(path, n_parsed, n_dropped=0):
    counts = {READ: n_parsed + n_dropped, "text_empty": n_dropped, KEPT: n_parsed}
    write_accounting(str(path), "vocabularies/c", {"caption": counts})
    return str(path)


def merged(tmp_path, *shards):
    path = str(tmp_path / "merged.parquet")
    shard_paths = [write_shard(tmp_path / f"{i}.parquet", *shard) for i, shard in enumerate(shards)]
    accounting_paths = [write_counts(tmp_path / f"{i}.csv", n, 3) for i, (_, n) in enumerate(shards)]
    (tmp_path / "c.json").write_text('{"corpus_id": "cc12m:1"}')
    merge_vocabularies(shard_paths, accounting_paths, str(tmp_path / "c.json"), path)
    return read_table(path, VOCABULARY)


@pytest.mark.parametrize(
    ("kind", "text", "key"),
    [
        ("object", "jar", ("object", "", "", "jar", "")),
        ("relation", "above", ("relation", "", "above", "", "")),
        ("attribute", "red", ("attribute", "", "", "", "red")),
    ],
)
def test_atom_stands_in_the_field_of_its_kind(kind, text, key):
    assert atom_key(kind, text) == key


def test_atom_of_unknown_kind_is_refused():
    with pytest.raises(KeyError, match="verb"):
        atom_key("verb", "run")


def test_keys_hold_atoms_and_compounds_once(parser):
    (graph,) = parse_texts(["a red jar above a red box and a red jar"], parser)
    keys = vocabulary_keys(graph)
    assert {JAR, BOX, RED, RED_JAR, ("relation", "", "above", "", "")} <= keys
    assert ("object_relation_object", "jar", "above", "box", "") in keys


def test_word_that_stands_twice_in_a_caption_counts_once_and_a_repeated_caption_each_time(parser):
    batches = [batch_of({"a red jar and a red jar": 1, "a red jar": 4}), batch_of({"a jar": 1})]
    parsed = Counter()
    (vocabulary,) = count_keys(batches, parser, "adjectives", parsed)
    assert parsed == {KEPT: 3}
    assert (vocabulary[JAR], vocabulary[RED], vocabulary[RED_JAR]) == (6, 5, 5)


def test_captions_that_cannot_be_parsed_are_counted(parser, monkeypatch):
    monkeypatch.setattr(vocabularies, "parse_texts", lambda texts, *_: [Graph(failed=text == "odd") for text in texts])
    parsed = Counter()
    assert list(count_keys([batch_of({"odd": 2, "a jar": 1})], parser, "adjectives", parsed)) == [Counter()]
    assert parsed == {"parse_failed": 1, KEPT: 1}


def test_a_large_vocabulary_is_counted_in_runs(parser, monkeypatch):
    monkeypatch.setattr(vocabularies, "MAX_KEYS", 3)
    batches = [batch_of({"a red jar": 1, "a red box": 2, "a jar": 3})]
    runs = list(count_keys(batches, parser, "adjectives", Counter()))
    assert len(runs) == 3
    assert sum(runs, Counter())[JAR] == 4


def test_counts_of_shards_are_added_up(tmp_path):
    table = merged(tmp_path, ({JAR: 2, RED: 1}, 3), ({BOX: 1, JAR: 5}, 6))
    assert table.schema.equals(VOCABULARY)
    assert set(table["corpus_id"].to_pylist()) == {"cc12m:1"}
    rows = {(row["object"], row["attribute"]): (row["count"], row["n_parsed"]) for row in table.to_pylist()}
    assert rows == {("jar", ""): (7, 9), ("box", ""): (1, 9), ("", "red"): (1, 9)}


def test_order_of_shards_does_not_matter(tmp_path):
    shards = [({JAR: 2, RED: 1, RED_JAR: 1}, 3), ({BOX: 1, JAR: 5}, 6), ({RED: 4}, 4)]
    (tmp_path / "b").mkdir()
    assert merged(tmp_path, *shards).equals(merged(tmp_path / "b", *shards[::-1]))


def test_counts_go_beyond_32_bits(tmp_path):
    table = merged(tmp_path, ({JAR: 2**31}, 2**31), ({JAR: 2**31}, 2**31))
    assert table["count"].to_pylist() == [2**32]
    assert table["n_parsed"].to_pylist() == [2**32]


def test_shard_without_rows_adds_nothing(tmp_path, fast_parser, record):
    (tmp_path / "corpus.tsv").write_text("u\ta red jar\nu\t\n")
    paths = [str(tmp_path / f"shard-{shard}.parquet") for shard in range(2)]
    accounting = [str(tmp_path / f"{shard}.csv") for shard in range(2)]
    for shard, path in enumerate(paths):
        parse_corpus([str(tmp_path / "corpus.tsv")], "cc12m", path, accounting[shard], shard, 2, CFG)
    assert read_table(paths[1], VOCABULARY).num_rows == 0
    with open(accounting[1], newline="") as file:
        assert {row["count"] for row in csv.DictReader(file)} == {"0"}
    merge_vocabularies(paths, accounting, record, str(tmp_path / "merged.parquet"))
    tables = [pl.read_parquet(path).drop("corpus_id") for path in (tmp_path / "merged.parquet", paths[0])]
    assert tables[0].equals(tables[1])


def test_captions_without_any_atom_are_parsed_captions_too(tmp_path):
    table = merged(tmp_path, ({JAR: 1}, 2), ({}, 5))
    assert table["n_parsed"].to_pylist() == [7]


def test_corpus_without_a_usable_caption_is_refused(tmp_path, fast_parser, record):
    (tmp_path / "corpus.tsv").write_text("u\t\nu\nu\t  \n")
    shard = str(tmp_path / "shard.parquet")
    parse_corpus([str(tmp_path / "corpus.tsv")], "cc12m", shard, str(tmp_path / "a.csv"), 0, 1, CFG)
    with pytest.raises(ValueError, match=r"merged\.parquet: the corpus holds no usable caption; see its accounting"):
        merge_vocabularies([shard], [str(tmp_path / "a.csv")], record, str(tmp_path / "merged.parquet"))
    assert not (tmp_path / "merged.parquet").exists()


@pytest.mark.parametrize("n_shards", [1, 2, 3])
def test_number_of_shards_does_not_change_the_vocabulary(tmp_path, fast_parser, monkeypatch, record, n_shards):
    monkeypatch.setattr("crepebench.line_files.BLOCK_BYTES", 20)
    texts = ["a red jar", "a jar", "a red box above a jar", "", "a blue jar", "boxes", "a red jar"]
    (tmp_path / "corpus.tsv").write_text("".join(f"u\t{text}\n" for text in texts))
    paths = [str(tmp_path / f"shard-{shard}.parquet") for shard in range(n_shards)]
    accounting = [str(tmp_path / f"shard-{shard}.csv") for shard in range(n_shards)]
    for shard, path in enumerate(paths):
        parse_corpus([str(tmp_path / "corpus.tsv")], "c", path, accounting[shard], shard, n_shards, CFG)
    merge_vocabularies(paths, accounting, record, str(tmp_path / "merged.parquet"))
    rows = read_table(str(tmp_path / "merged.parquet"), VOCABULARY).to_pylist()
    naive = Counter(key for graph in parse_texts(filter(None, texts), fast_parser) for key in vocabulary_keys(graph))
    assert {tuple(row[field] for field in KEY_FIELDS): row["count"] for row in rows} == naive
    assert {row["n_parsed"] for row in rows} == {6}


def test_repeated_captions_are_parsed_once_and_accounted_for(tmp_path, fast_parser):
    (tmp_path / "corpus.tsv").write_text("u\ta red jar\nu\tA red JAR\nu\ta jar\nu\t\n")
    paths = [str(tmp_path / name) for name in ("corpus.tsv", "shard.parquet", "a.csv")]
    parse_corpus([paths[0]], "c", paths[1], paths[2], 0, 1, CFG)
    rows = {row["object"] + row["attribute"]: row for row in read_table(paths[1], VOCABULARY).to_pylist()}
    assert {name: row["count"] for name, row in rows.items()} == {"jar": 3, "red": 2, "jarred": 2}
    with open(paths[2], newline="") as file:
        found = {(row["unit"], row["reason"]): int(row["count"]) for row in csv.DictReader(file)}
    assert found == {
        **{("caption", "read"): 4, ("caption", "text_empty"): 1, ("caption", "kept"): 3},
        **{("parsed_caption", "read"): 3, ("parsed_caption", "repeated"): 1, ("parsed_caption", "kept"): 2},
    }


def test_entries_are_read_by_key_and_no_others(tmp_path):
    path = write_shard(tmp_path / "v.parquet", {JAR: 3, RED: 2, RED_JAR: 1}, 5)
    entries = read_entries(path, [JAR, BOX, RED_JAR])
    assert {key: row["count"] for key, row in entries.items()} == {JAR: 3, RED_JAR: 1}
    assert read_entries(path, []) == {}
