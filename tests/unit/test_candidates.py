"""Candidates must give the states that parsing everything gives."""

import csv
import json
from collections import Counter
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from crepebench import candidates
from crepebench.candidates import OpenKeys, count_candidates, parse_candidates, write_candidate_counts, write_found
from crepebench.draws import N_TIERS, write_draws
from crepebench.parsing import parse_texts
from crepebench.schema import CANDIDATE_COUNTS, VOCABULARY, read_table, write_table
from crepebench.vocabularies import KEY_FIELDS, UNDECIDED, atom_key, vocabulary_keys, vocabulary_rows

JAR, BOX, LAMP = (atom_key("object", text) for text in ("jar", "box", "lamp"))
RED_JAR = ("attribute_object", "", "", "jar", "red")
BLUE_JAR = ("attribute_object", "", "", "jar", "blue")
JAR_ON_BOX = ("object_relation_object", "jar", "on", "box", "")
KEYS = sorted([JAR, BOX, LAMP, RED_JAR, BLUE_JAR, JAR_ON_BOX])
TEXTS = [
    "a red jar on a box",
    "boxes",
    "a blue box near a jar",
    "two red jars",
    "something else",
    "a box on a jar",
    "a red jar on a box",
]
CFG = {"definition": {"format": "cc12m"}, "spacy_model": "any", "attributes": "adjectives", "min_count": 1, "seed": 1}


@pytest.fixture
def parse(parser):
    return lambda texts: parse_texts(texts, parser, "adjectives")


def batches(texts):
    weights = Counter(texts)
    yield pa.array(list(weights), pa.large_string()), pl.Series(weights.values()).to_numpy()


def counted(texts, parse):
    return Counter(key for graph in parse(texts) for key in vocabulary_keys(graph) & set(KEYS))


def open_keys(min_count):
    return OpenKeys(KEYS, [min_count] * len(KEYS))


@pytest.mark.parametrize("min_count", [1, 2, 3, 100])
@pytest.mark.parametrize("parse_rows", [1, 2, 512])
def test_keys_are_found_as_often_as_needed_or_as_they_occur(parse, monkeypatch, min_count, parse_rows):
    monkeypatch.setattr(candidates, "PARSE_ROWS", parse_rows)
    keys = open_keys(min_count)
    parse_candidates(batches(TEXTS), keys, parse)
    found, naive = keys.found(), counted(TEXTS, parse)
    assert {key: min(n, min_count) for key, n in found.items()} == {key: min(n, min_count) for key, n in naive.items()}


def test_captions_without_the_words_are_not_parsed(parse):
    parsed = []

    def parse_and_note(texts):
        parsed.extend(texts)
        return parse(texts)

    n_parsed = parse_candidates(batches(TEXTS), open_keys(100), parse_and_note)
    assert n_parsed == len(parsed)
    assert "something else" not in parsed


def test_nothing_is_parsed_once_all_keys_are_found(parse, monkeypatch):
    monkeypatch.setattr(candidates, "PARSE_ROWS", 1)
    keys = OpenKeys([RED_JAR], [1])
    assert parse_candidates(batches(TEXTS), keys, parse) == 1
    assert len(keys) == 0


def test_candidates_are_counted_by_key_and_tier():
    keys = open_keys(1)
    n = count_candidates(batches(TEXTS), keys.index, len(KEYS)).reshape(-1, N_TIERS).sum(axis=1)
    assert dict(zip(KEYS, n.tolist(), strict=True)) == {
        **{JAR: 4, BOX: 4, LAMP: 0},
        **{RED_JAR: 2, BLUE_JAR: 1, JAR_ON_BOX: 2},
    }


class Job:
    """The files of one corpus and one wave."""

    def __init__(self, folder: Path, keys):
        self.folder = folder
        (folder / "corpus.tsv").write_text("".join(f"u\t{text}\n" for text in TEXTS) + "u\t\n")
        rows = vocabulary_rows(Counter(dict.fromkeys(keys, 0)), 0, UNDECIDED)
        write_table(str(folder / "wave.parquet"), VOCABULARY, rows)

    def path(self, name):
        return str(self.folder / name)

    def find(self, draws=(), **settings):
        write_found(
            *([self.path("corpus.tsv")], self.path("wave.parquet"), list(draws), "c"),
            *(self.path("found.parquet"), self.path("a.csv"), 0, 1, json.dumps({**CFG, **settings})),
        )
        rows = read_table(self.path("found.parquet"), VOCABULARY).to_pylist()
        return {tuple(row[field] for field in KEY_FIELDS): row["count"] for row in rows}

    def accounting(self):
        with open(self.path("a.csv"), newline="") as file:
            return {(row["unit"], row["reason"]): int(row["count"]) for row in csv.DictReader(file)}


@pytest.fixture
def fast_parser(parser, monkeypatch):
    monkeypatch.setattr(candidates, "load_parser", lambda model: parser)


def test_a_shard_says_what_it_found_and_what_it_did_not_parse(tmp_path, fast_parser):
    job = Job(tmp_path, KEYS)
    assert job.find(min_count=100) == {JAR: 5, BOX: 5, RED_JAR: 3, JAR_ON_BOX: 2}
    assert job.accounting() == {
        **{("caption", "read"): 8, ("caption", "text_empty"): 1, ("caption", "kept"): 7},
        **{("parsed_caption", "read"): 7, ("parsed_caption", "repeated"): 1},
        **{("parsed_caption", "no_candidate"): 1, ("parsed_caption", "parse_failed"): 0, ("parsed_caption", "kept"): 5},
    }


def test_a_shard_is_not_read_if_nothing_is_looked_for(tmp_path):
    job = Job(tmp_path, [])
    (tmp_path / "corpus.tsv").unlink()
    assert job.find() == {}
    assert set(job.accounting().values()) == {0}


def draw_all(job, budget):
    write_candidate_counts(
        [job.path("corpus.tsv")], job.path("wave.parquet"), job.path("counts.parquet"), 0, 1, json.dumps(CFG)
    )
    write_draws([job.path("counts.parquet")], job.path("draws.parquet"), json.dumps({"budget": budget, "seed": 1}))
    return job.path("draws.parquet")


def test_a_budget_that_is_large_enough_finds_all(tmp_path, fast_parser):
    job = Job(tmp_path, KEYS)
    found = job.find([draw_all(job, 100)], min_count=100)
    assert found == {JAR: 5, BOX: 5, RED_JAR: 3, JAR_ON_BOX: 2}


def test_a_budget_of_one_parses_at_most_one_caption_of_each_key_and_tier(tmp_path, fast_parser):
    job = Job(tmp_path, [JAR])
    found = job.find([draw_all(job, 1)], min_count=100)
    drawn = read_table(job.path("draws.parquet"), CANDIDATE_COUNTS)
    assert sum(drawn["n_drawn"].to_pylist()) == 1
    assert sum(drawn["n_candidates"].to_pylist()) == 4
    assert job.accounting()["parsed_caption", "kept"] == 1
    assert job.accounting()["parsed_caption", "not_drawn"] == 5
    assert set(found) <= {JAR}


def test_counting_for_nothing_reads_nothing(tmp_path):
    job = Job(tmp_path, [])
    (tmp_path / "corpus.tsv").unlink()
    draw_all(job, 5)
    assert read_table(job.path("draws.parquet"), CANDIDATE_COUNTS).num_rows == 0
