import ast
import csv

import pytest

from crepebench.negation_cues import has_cue

SAMPLES = "benchmarks/negbench"


@pytest.mark.parametrize(
    "text",
    [
        "No car is present.",
        "a table WITHOUT a cup",
        "there isn't a dog",
        "there isn’t a dog",
        "a cup is noticeably absent",
        "a street devoid of people",
        "the room lacks a bed",
        "empty of people",
    ],
)
def test_a_caption_that_denies_something_has_a_cue(text):
    assert has_cue(text)


@pytest.mark.parametrize(
    "text", ["a notable knot", "a nose, a north wall", "an empty street", "absentminded", "a black sea"]
)
def test_a_word_that_only_looks_like_one_is_no_cue(text):
    assert not has_cue(text)


def test_negated_captions_of_the_samples_nearly_all_have_a_cue(shared_data):
    def captions(name):
        with open(shared_data / SAMPLES / f"{name}.sample.csv", newline="", encoding="utf-8") as file:
            return [caption for row in csv.DictReader(file) for caption in ast.literal_eval(row["captions"])]

    negated = captions("COCO_val_negated_retrieval_llama3.1_rephrased_affneg_true")
    assert sum(map(has_cue, negated)) / len(negated) > 0.9
    assert sum(map(has_cue, captions("COCO_val_retrieval"))) <= 1
    with open(shared_data / SAMPLES / "synthetic_retrieval_v2.sample.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [has_cue(ast.literal_eval(row["captions"])[0]) for row in rows] == [
        "/negative/" in row["filepath"] for row in rows
    ]
