from itertools import pairwise

import numpy as np
import pytest

from crepebench.candidate_texts import (
    SURFACE,
    CandidateSet,
    CandidateSets,
    Texts,
    sum_runs,
    surface_counts,
    take_runs,
    tokenise,
)

SETS = [
    CandidateSet(7, "a red jar", ("a blue jar", "a red cup")),
    CandidateSet(3, "two cats", ("two dogs",)),
    CandidateSet(7, "a red jar", ()),
]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("A man's T-shirt, 2 sizes", ["a", "man's", "t-shirt", ",", "2", "sizes"]),
        ("dog. . There is; (no) cat!", ["dog", ".", ".", "there", "is", ";", "no", "cat"]),
        ("Café_au_lait", ["café", "au", "lait"]),
        ("", []),
    ],
)
def test_tokens_are_runs_of_letters_and_single_marks(text, tokens):
    assert tokenise(text) == tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a red jar", {"words": 3, "characters": 9}),
        ("A Red jar, 12 cups.", {"words": 5, "capitals": 2, "punctuation": 2, "digits": 2, "ends_in_mark": 1}),
        ("a owl and an cup and an owl", {"words": 8, "repeated_words": 3, "articles_off": 2}),
        ("", {"words": 0}),
    ],
)
def test_surface_is_counted(text, expected):
    found = dict(zip(SURFACE, surface_counts(text), strict=True))
    assert {name: count for name, count in found.items() if count} == {
        name: count for name, count in {"characters": len(text), **expected}.items() if count
    }


def test_runs_are_taken_and_summed():
    values, starts = np.arange(6), np.array([0, 2, 2, 3, 6])
    taken, new_starts = take_runs(values, starts, np.array([3, 1, 0]))
    assert (taken.tolist(), new_starts.tolist()) == ([3, 4, 5, 0, 1], [0, 3, 3, 5])
    assert sum_runs(values.astype(float), starts).tolist() == [1.0, 0.0, 2.0, 12.0]


def test_runs_of_the_same_values_in_another_order_have_the_same_sum():
    values = np.random.default_rng(0).normal(size=30)
    runs = np.concatenate([np.random.default_rng(i).permutation(values) for i in range(20)])
    assert len(set(sum_runs(runs, np.arange(21) * 30))) == 1


def test_sets_come_back_from_flat_arrays():
    sets = CandidateSets.of(SETS)
    assert list(sets) == SETS
    assert sets.truths.tolist() == [0, 3, 5]
    assert [places.tolist() for places in sets.pairs] == [[0, 0, 3], [1, 2, 4]]
    assert list(sets.take(np.array([2, 0]))) == [SETS[2], SETS[0]]


def test_texts_that_are_taken_keep_their_tokens():
    texts = Texts(["a red jar", "", "two red, red cats"])
    before = [tokenise(text) for text in texts]
    assert texts.surface.shape == (3, len(SURFACE))

    def tokens(some):
        vocabulary, values, starts = some.tokens
        return [[vocabulary[i] for i in values[a:b]] for a, b in pairwise(starts)]

    assert tokens(texts) == before
    taken = texts.take(np.array([2, 1]))
    assert list(taken) == ["two red, red cats", ""]
    assert tokens(taken) == [before[2], before[1]]
    assert taken.surface.tolist() == [surface_counts(text) for text in taken]
    assert taken.tokens[0] is texts.tokens[0]
