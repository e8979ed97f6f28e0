import numpy as np
import pytest

from crepebench.layer_curves import alignments, cosines, curve_of, distances, token_distances


def features(n=6, dim=4, n_layers=3, seed=0):
    rng = np.random.default_rng(seed)
    return {layer: rng.normal(size=(n, dim)) for layer in range(1, n_layers + 1)}


def naive_cosine(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True)) / (
        np.sqrt(sum(x * x for x in a)) * np.sqrt(sum(y * y for y in b))
    )


def test_curves_equal_a_naive_loop():
    right, wrong, images = features(seed=1), features(seed=2), features(n_layers=1, seed=3)[1]
    d, a = distances(right, wrong), alignments(right, images)
    for layer in (1, 2, 3):
        for i in range(6):
            assert d[i, layer - 1] == pytest.approx(1 - naive_cosine(right[layer][i], wrong[layer][i]), abs=1e-12)
            assert a[i, layer - 1] == pytest.approx(naive_cosine(right[layer][i], images[i]), abs=1e-12)


def test_tokens_count_only_where_both_captions_have_them():
    rng = np.random.default_rng(0)
    right, wrong = {1: rng.normal(size=(2, 5, 3))}, {1: rng.normal(size=(2, 4, 3))}
    right_valid = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]], bool)
    wrong_valid = np.array([[1, 1, 1, 0], [1, 1, 1, 1]], bool)
    found = token_distances(right, wrong, right_valid, wrong_valid)
    expected = [
        np.mean([1 - naive_cosine(right[1][i, t], wrong[1][i, t]) for t in range(n)]) for i, n in ((0, 3), (1, 2))
    ]
    assert found[:, 0] == pytest.approx(expected, abs=1e-12)


def test_equal_captions_have_no_distance_at_any_layer():
    right = features()
    assert distances(right, right) == pytest.approx(np.zeros((6, 3)), abs=1e-12)


def test_interval_is_that_of_resampled_triples_and_the_same_each_time():
    values = np.random.default_rng(4).normal(size=(200, 2))
    curve, again = curve_of(values), curve_of(values)
    assert all(np.array_equal(one, other) for one, other in zip(curve, again, strict=True))
    half = 1.96 * values.std(axis=0) / np.sqrt(200)
    assert curve.mean == pytest.approx(values.mean(axis=0))
    assert curve.high - curve.mean == pytest.approx(half, rel=0.2)
    assert curve.mean - curve.low == pytest.approx(half, rel=0.2)


def test_triples_of_one_image_stand_or_fall_together():
    values = np.repeat(np.random.default_rng(4).normal(size=(50, 1)), 8, axis=0)
    clustered = curve_of(values, np.repeat(np.arange(50), 8))
    alone = curve_of(values)
    assert (clustered.high - clustered.low)[0] > 2 * (alone.high - alone.low)[0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cosines(np.ones((2, 3)), np.ones((2, 4))), r"shapes \(2, 3\) and \(2, 4\)"),
        (lambda: cosines(np.ones((2, 3)), np.zeros((2, 3))), "2 of 2 pairs of features are zero"),
        (lambda: distances({1: np.ones((1, 2)), 3: np.ones((1, 2))}, {}), r"not of \[1, 3\]"),
        (lambda: curve_of(np.zeros((0, 3))), "no triples"),
    ],
)
def test_what_cannot_be_measured_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_pair_without_a_common_position_is_named():
    one = {1: np.ones((2, 3, 2))}
    valid = np.array([[1, 1, 1], [0, 0, 1]], bool)
    with pytest.raises(ValueError, match="pair 1 has no position"):
        token_distances(one, one, valid, np.array([[1, 1, 1], [1, 1, 0]], bool))
