import csv
import json
from itertools import pairwise

import numpy as np
import pytest

from crepebench.schema import GRAPHS, VOCABULARY, write_table
from crepebench.splits import graph_keys
from crepebench.systematicity_tables import GAP_COLUMNS
from crepebench.thinning import (
    COLUMNS,
    are_kept,
    key_share,
    read_counts,
    tabulate_thinned_gap,
    thinned_splits,
)
from crepebench.vocabularies import KEY_FIELDS, vocabulary_rows

from .test_systematicity_tables import Run

KEYS = [("attribute_object", "", "", f"jar {i}", "red") for i in range(4000)]
RED_JAR = ("attribute_object", "", "", "jar", "red")
BLUE_JAR = ("attribute_object", "", "", "jar", "blue")


def graph(region_id, attribute):
    atom = dict.fromkeys(("surface",), "") | dict.fromkeys(("start", "end"), 0) | {"subject": -1, "object": -1}
    atoms = [{**atom, "kind": "object", "text": "jar"}, {**atom, "kind": "attribute", "text": attribute, "object": 0}]
    compound = dict(zip(KEY_FIELDS, ("attribute_object", "", "", "jar", attribute), strict=True))
    return {"region_id": region_id, "image_id": region_id % 8, "atoms": atoms, "compounds": [compound], "n_atoms": 2}


def write_vocabulary(path, state="counted", corpus_id="cc12m:1", **counts):
    """Writes atoms and compounds of jars with the counts of their attributes."""
    vocabulary = {("object", "", "", "jar", ""): 9}
    for attribute, count in counts.items():
        vocabulary |= {("attribute", "", "", "", attribute): 9, ("attribute_object", "", "", "jar", attribute): count}
    rows = [
        row | {"state": state if row["kind"] == "attribute_object" else "counted", "corpus_id": corpus_id}
        for row in vocabulary_rows(vocabulary, 9)
    ]
    write_table(str(path), VOCABULARY, rows)
    return str(path)


def test_what_is_kept_is_binomial():
    for count, min_count, recall in ((1, 1, 0.4), (3, 1, 0.4), (3, 2, 0.6)):
        kept = are_kept(KEYS, np.full(len(KEYS), count), recall, min_count, 1)
        draws = np.random.default_rng(0).binomial(count, recall, size=100_000) >= min_count
        assert kept.mean() == pytest.approx(draws.mean(), abs=0.03)


def test_what_a_lower_recall_keeps_a_higher_one_keeps():
    counts = np.arange(len(KEYS)) % 5
    kept = [are_kept(KEYS, counts, recall, 2, 1) for recall in (0.2, 0.5, 0.9, 1.0)]
    for lower, higher in pairwise(kept):
        assert not (lower & ~higher).any() and lower.sum() < higher.sum()
    assert (kept[-1] == (counts >= 2)).all()


def test_what_is_kept_depends_on_the_key_and_the_seed_alone():
    counts = np.full(len(KEYS), 1)
    kept = are_kept(KEYS, counts, 0.5, 1, 1)
    assert (are_kept(KEYS[::-1], counts, 0.5, 1, 1) == kept[::-1]).all()
    assert (are_kept(KEYS, counts, 0.5, 1, 2) != kept).any()
    assert 0 < key_share(KEYS[0], 1) < 1


def test_thinning_moves_regions_from_sc_to_uc_and_never_to_ua(tmp_path):
    graphs = [graph(1, "red"), graph(2, "blue"), graph(3, "green")]
    path = write_vocabulary(tmp_path / "vocabulary.parquet", red=1_000_000, blue=1)
    counts, _ = read_counts(path, graph_keys(graphs))
    lost = next(seed for seed in range(20) if key_share(BLUE_JAR, seed) > 0.5)
    splits = dict(thinned_splits(graphs, counts, [1.0, 0.5], 1, lost))
    assert splits == {1.0: {1: "SC", 2: "SC", 3: "UA"}, 0.5: {1: "SC", 2: "UC", 3: "UA"}}


def test_only_counts_that_the_regions_need_are_read(tmp_path):
    path = write_vocabulary(tmp_path / "vocabulary.parquet", red=3, blue=1)
    counts, corpus_id = read_counts(path, graph_keys([graph(1, "red")]))
    assert [key for key in counts if key[0] == "attribute_object"] == [RED_JAR]
    assert len(counts) == 3
    assert corpus_id == "cc12m:1"


def test_a_vocabulary_without_exact_counts_is_refused(tmp_path):
    path = write_vocabulary(tmp_path / "vocabulary.parquet", state="undecided", red=3)
    with pytest.raises(ValueError, match=r"vocabulary.parquet: 1 compounds are 'undecided'; .*state 'counted'"):
        read_counts(path, graph_keys([graph(1, "red")]))


@pytest.mark.parametrize("matched", [False, True])
def test_the_gap_of_full_recall_is_that_of_the_gap_table(tmp_path, matched):
    run = Run(tmp_path)
    run.write()
    attributes = {"SC": "red", "UC": "blue", "UA": "green"}
    rows = [graph(i, attributes[["SC", "UC", "UA"][i // 8]]) for i in range(24)]
    write_table(run.path("graphs.parquet"), GRAPHS, rows)
    vocabularies = [
        write_vocabulary(run.path(f"{corpus}.parquet"), corpus_id=f"{corpus}:1", red=10**6, blue=0) for corpus in "ab"
    ]
    _, expected, *_ = run.tabulate(matched=matched)
    cfg = {
        "thinning": {"recalls": [1.0, 0.5], "seed": 1},
        "splits": {"min_count": 1},
        "evaluation": {"n_resamples": 100, "seed": 1, "cross_corpus": False, "matched": matched},
        "corpora": ["a", "b"],
        "models": run.models,
    }
    sets = [run.path("sets-0.parquet"), run.path("sets-1.parquet")]
    scores = [run.path(f"{model}.parquet") for model, _ in run.models]
    paths = (sets, scores, run.path("graphs.parquet"), vocabularies, run.path("thinned.csv"))
    tabulate_thinned_gap(*paths, json.dumps(cfg))
    with open(run.path("thinned.csv"), newline="") as file:
        found = list(csv.DictReader(file))
    assert tuple(found[0]) == COLUMNS
    of_a = [row for row in found if row["training_corpus"] == "a"]
    assert [row["recall"] for row in of_a] == ["100.00"] * 3 + ["50.00"] * 3
    for rows in (of_a[:3], of_a[3:]):  # the only seen compound is too common to be lost
        assert [{name: row[name] for name in GAP_COLUMNS} for row in rows] == [
            r for r in expected if r["training_corpus"] == "a"
        ]
        assert {(row["n_seen"], row["n_unseen"]) for row in rows} == {("7", "7" if matched else "8")}
