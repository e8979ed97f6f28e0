import numpy as np

from crepebench.linear_probe import count_words, probe_layers, split_pairs

AFFIRMATIVE = [f"a dog and {i} cats" for i in range(60)]
NEGATED = [f"no dog and {i} cats" for i in range(60)]


def noise(seed, shift=0.0):
    return np.random.default_rng(seed).normal(size=(60, 5)) + shift


def test_layer_that_holds_the_negation_is_told_from_one_that_does_not():
    shift = np.array([4.0, 0, 0, 0, 0])
    found = probe_layers(
        {1: noise(0), 2: noise(1)}, {1: noise(2), 2: noise(3, shift)}, (AFFIRMATIVE, NEGATED), range(60), seed=0
    )
    assert found["accuracy"][1] > 90 > found["accuracy"][0]
    assert (found["best_layer"], found["n_train"], found["n_test"]) == (2, 48, 12)
    assert found["baseline"] == 100.0


def test_baseline_is_at_chance_where_no_word_negates():
    found = probe_layers({1: noise(0)}, {1: noise(1)}, (AFFIRMATIVE, AFFIRMATIVE), range(60), seed=0)
    assert found["baseline"] == 50.0


def test_pairs_of_an_image_stand_on_one_side():
    is_test = split_pairs([i // 3 for i in range(60)], seed=1)
    assert {len(set(is_test[i : i + 3])) for i in range(0, 60, 3)} == {1}
    assert is_test.sum() == 12


def test_too_few_pairs_give_a_reason_instead_of_a_probe():
    found = probe_layers({1: noise(0)[:4]}, {1: noise(1)[:4]}, (AFFIRMATIVE[:4], NEGATED[:4]), range(4), seed=0)
    assert "too few for a probe" in found["reason"] and found["accuracy"] == []


def test_words_are_counted_whole():
    (row,) = count_words(["There is no note, and it isn't a knot; not lacking."])
    assert row.sum() == 4
    assert count_words(["a treeless, unlit scene", "a non-red cup, anything but full"]).sum(axis=1).tolist() == [2, 2]
