import numpy as np
import pytest

from crepebench import raw_retrieval
from crepebench.raw_retrieval import (
    IMAGE_TO_TEXT,
    MOST_FOLDS,
    TEXT_TO_IMAGE,
    Found,
    build_fold,
    deal_folds,
    first_true_ranks,
    is_simple,
    known_captions,
    measures_of,
    retrieval_ranks,
    search_fold,
    shows,
)

from .pair_rows import BOX, features_of, pair, random_features, random_pairs

FAR = (300, 0, 100, 100)


def found_in(pairs, features, known=None):
    return dict(search_fold(build_fold(pairs, known_captions(known or pairs)), features))


def naive_contains(crop, region):
    """Counts pixels one by one."""
    pixels = [(x, y) for x in range(region[0], region[0] + region[2]) for y in range(region[1], region[1] + region[3])]
    inside = sum(crop[0] <= x < crop[0] + crop[2] and crop[1] <= y < crop[1] + crop[3] for x, y in pixels)
    return inside >= 0.75 * len(pixels)


def naive_rank(scores, is_true):
    """Takes all true candidates but the best away, sorts the rest, and takes the mean place of those that tie."""
    best = max(score for score, true in zip(scores, is_true, strict=True) if true)
    ordered = sorted([best, *(score for score, true in zip(scores, is_true, strict=True) if not true)], reverse=True)
    places = [place for place, score in enumerate(ordered, start=1) if score == best]
    return sum(places) / len(places)


def naive_search(pairs, known, features):
    """Ranks pair by pair; returns image id and rank of each query, in both directions."""
    crops = sorted({(p.image_id, p.box) for p in pairs})
    texts = sorted({p.caption for p in pairs})

    def score(crop, text):
        rows = features.rows["crop"], features.rows["text"]
        keys = f"{crop[0]}:{','.join(map(str, crop[1]))}", raw_retrieval.text_id(text)
        vectors = [features.matrix[row[key]].astype(float) for row, key in zip(rows, keys, strict=True)]
        return round(float((vectors[0] * vectors[1]).sum()), 12)

    def is_true(crop, text):
        return any(p.image_id == crop[0] and p.caption == text and naive_contains(crop[1], p.box) for p in known)

    of_crops = [
        (c[0], naive_rank([score(c, t) for t in texts], [is_true(c, t) for t in texts]), [is_true(c, t) for t in texts])
        for c in crops
    ]
    of_texts = [
        (i, naive_rank([score(c, t) for c in crops], [is_true(c, t) for c in crops]), [is_true(c, t) for c in crops])
        for i, t in sorted({(p.image_id, p.caption) for p in pairs})
    ]
    return {IMAGE_TO_TEXT: of_crops, TEXT_TO_IMAGE: of_texts}


def test_another_true_caption_of_the_image_is_a_hit():
    pairs = [pair(1, "a"), pair(1, "b"), pair(2, "c"), pair(2, "d")]
    crops = {(1, BOX): [1, 0.1, 0, 0], (2, BOX): [0, 0, 1, 0.1]}
    texts = {"a": [0.1, 1, 0, 0], "b": [1, 0, 0, 0], "c": [0, 0, 0.1, 1], "d": [0, 0, 1, 0]}
    found = found_in(pairs, features_of(crops, texts))
    assert found[IMAGE_TO_TEXT].ranks.tolist() == [1, 1]
    assert found[TEXT_TO_IMAGE].ranks.tolist() == [1, 1, 1, 1]
    assert found[IMAGE_TO_TEXT].chances.tolist() == [0.5, 0.5]
    assert found[TEXT_TO_IMAGE].chances.tolist() == [0.5] * 4


def test_example_by_hand():
    pairs = [pair(1, "jar"), pair(2, "box"), pair(3, "key")]
    crops = {(1, BOX): [0.6, 0.8, 0], (2, BOX): [0, 1, 0], (3, BOX): [0, 0, 1]}
    texts = {"jar": [1, 0, 0], "box": [0, 1, 0], "key": [0, 0.6, 0.8]}
    # cosines by crop 1, 2, 3: jar .6, 0, 0; box .8, 1, 0; key .48, .6, .8
    found = found_in(pairs, features_of(crops, texts))
    assert (found[IMAGE_TO_TEXT].image_ids.tolist(), found[IMAGE_TO_TEXT].ranks.tolist()) == ([1, 2, 3], [2, 1, 1])
    assert (found[TEXT_TO_IMAGE].image_ids.tolist(), found[TEXT_TO_IMAGE].ranks.tolist()) == ([1, 2, 3], [1, 1, 1])
    measures = measures_of([found[IMAGE_TO_TEXT]], 100, [1])
    assert measures["recall_at_1"] == pytest.approx(200 / 3)
    assert (measures["recall_at_5"], measures["mean_rank"], measures["median_rank"]) == (100, pytest.approx(4 / 3), 1)
    assert measures["random_recall_at_1"] == pytest.approx(100 / 3)


@pytest.mark.parametrize("block", [1, 7, 1_000_000])
@pytest.mark.parametrize(("n", "n_images", "n_texts", "levels"), [(40, 9, 13, None), (40, 9, 13, 3), (11, 11, 4, 2)])
def test_ranks_equal_naive_ones(monkeypatch, block, n, n_images, n_texts, levels):
    monkeypatch.setattr(raw_retrieval, "BLOCK", block)
    known = random_pairs(n, n_images, n_texts, seed=n)
    pairs, features = known[::2], random_features(known, seed=n + 1, levels=levels)
    if levels:  # products of small whole numbers are exact, so that naive scores tie exactly as well
        features.matrix = np.rint(features.matrix * 4).astype(np.float32)
    found, naive = found_in(pairs, features, known), naive_search(pairs, known, features)
    for direction, queries in naive.items():
        assert found[direction].image_ids.tolist() == [image_id for image_id, _, _ in queries]
        assert found[direction].ranks.tolist() == [rank for _, rank, _ in queries]
        np.testing.assert_allclose(found[direction].chances, [np.mean(is_true) for _, _, is_true in queries])


def test_equal_captions_are_one_candidate():
    pairs = [pair(1, "a jar"), pair(2, "a box"), pair(3, "a box"), pair(4, "a box")]
    crops = {(i, BOX): [1, 0.1 * i] for i in range(1, 5)}
    found = found_in(pairs, features_of(crops, {"a jar": [0, 1], "a box": [1, 0]}))
    assert found[IMAGE_TO_TEXT].ranks.tolist() == [2, 1, 1, 1]
    assert found[TEXT_TO_IMAGE].image_ids.tolist() == [1, 2, 3, 4]
    assert found[TEXT_TO_IMAGE].chances.tolist() == [0.25, 0.75, 0.75, 0.75]


def test_caption_of_another_fold_that_is_known_to_be_true_is_a_hit():
    pairs, known = [pair(1, "a"), pair(2, "b")], [pair(1, "a"), pair(2, "b"), pair(1, "b")]
    features = features_of({(1, BOX): [0, 1], (2, BOX): [0, 1]}, {"a": [1, 0], "b": [0, 1]})
    assert found_in(pairs, features)[IMAGE_TO_TEXT].ranks.tolist() == [2, 1]
    assert found_in(pairs, features, known)[IMAGE_TO_TEXT].ranks.tolist() == [1, 1]


def test_caption_of_another_part_of_the_image_is_no_hit():
    pairs = [pair(1, "a"), pair(1, "b", FAR)]
    features = features_of({(1, BOX): [0, 1], (1, FAR): [0, 1]}, {"a": [1, 0], "b": [0, 1]})
    assert found_in(pairs, features)[IMAGE_TO_TEXT].ranks.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("crop", "region", "is_shown"),
    [
        (BOX, BOX, True),
        (BOX, (20, 20, 10, 10), True),  # within
        ((20, 20, 10, 10), BOX, False),  # a small part of what the caption is of
        (BOX, (25, 0, 100, 100), True),  # three quarters
        (BOX, (26, 0, 100, 100), False),
        (BOX, FAR, False),
    ],
)
def test_crop_shows_what_three_quarters_of_are_in_it(crop, region, is_shown):
    assert shows(crop, region) == is_shown == naive_contains(crop, region)


def test_texts_that_the_model_reads_as_one_tie():
    pairs = [pair(1, "a jar"), pair(2, "A jar"), pair(3, "a box")]
    crops = {(i, BOX): [1, 0.2 * i] for i in (1, 2, 3)}
    features = features_of(crops, {"a jar": [1, 0], "A jar": [1, 1e-6], "a box": [0, 1]}, {"a jar": 5, "A jar": 5})
    assert found_in(pairs, features)[IMAGE_TO_TEXT].ranks.tolist() == [1.5, 1.5, 3.0]


@pytest.mark.parametrize("n_candidates", [5, 17, 301])
def test_equal_features_tie_exactly(n_candidates):
    rng = np.random.default_rng(n_candidates)
    candidates = rng.normal(size=(1, 512)).repeat(n_candidates, axis=0).astype(np.float32)
    queries = rng.normal(size=(7, 512)).astype(np.float32)
    truths = np.array([(i, i % n_candidates) for i in range(7)])
    assert retrieval_ranks(queries, candidates, truths).tolist() == [(n_candidates + 1) / 2] * 7


def test_true_candidates_that_tie_take_no_rank_from_each_other():
    scores, truths = np.array([[0.5, 0.5, 0.5, 0.1]]), np.array([[True, True, False, False]])
    assert first_true_ranks(scores, truths).tolist() == [1.5]
    assert first_true_ranks(scores[:, :2], truths[:, :2]).tolist() == [1.0]


def test_nan_is_an_error():
    with pytest.raises(ValueError, match="1 of 2 sets hold a score that is NaN"):
        first_true_ranks(np.array([[np.nan, 1], [0, 1]]), np.ones((2, 2), bool))


def test_query_without_a_true_candidate_is_an_error():
    with pytest.raises(ValueError, match="1 of 2 queries have no true candidate"):
        first_true_ranks(np.ones((2, 2)), np.array([[True, False], [False, False]]))


@pytest.mark.parametrize(
    ("n", "size", "n_folds", "fold_size"),
    [
        (103, 10, 10, 10),
        (103, 103, 1, 103),
        (103, 104, 1, 103),
        (500, 10, MOST_FOLDS, 10),
        (1, 8, 1, 1),
        (19, 10, 1, 10),
    ],
)
def test_folds_hold_each_pair_at_most_once(n, size, n_folds, fold_size):
    pairs = [pair(i, "a") for i in range(n)]
    folds = deal_folds(pairs, size, seed=1)
    assert [len(fold) for fold in folds] == [fold_size] * n_folds
    dealt = [p for fold in folds for p in fold]
    assert len(set(dealt)) == len(dealt)
    assert set(dealt) <= set(pairs)


def test_folds_depend_on_ids_and_seed_and_not_on_order():
    pairs = [pair(i, "a") for i in range(60)]
    folds = deal_folds(pairs, 20, seed=1)
    assert deal_folds(pairs[::-1], 20, seed=1) == folds
    assert deal_folds(pairs, 20, seed=2) != folds
    assert folds[0] != pairs[:20]


def found(image_ids, ranks):
    return Found(np.array(image_ids), np.array(ranks, float), np.full(len(ranks), 0.1))


def test_measures_are_means_over_folds():
    folds = [found([1, 2], [1, 3]), found([3, 4, 5, 6], [1, 6, 11, 12])]
    measures = measures_of(folds, 200, [1])
    assert measures["n_queries"] == 6
    assert measures["recall_at_1"] == pytest.approx((50 + 25) / 2)
    assert measures["recall_at_5"] == pytest.approx((100 + 25) / 2)
    assert measures["recall_at_10"] == pytest.approx((100 + 50) / 2)
    assert measures["mean_rank"] == pytest.approx((2 + 7.5) / 2)
    assert measures["median_rank"] == pytest.approx((2 + 8.5) / 2)
    assert measures["random_recall_at_1"] == pytest.approx(10)
    assert measures["recall_at_1_low"] <= measures["recall_at_1"] <= measures["recall_at_1_high"]


def test_interval_of_one_fold_is_that_of_its_hits():
    rng = np.random.default_rng(5)
    fold = found(rng.integers(0, 20, size=70), rng.integers(1, 4, size=70))
    measures = measures_of([fold], 300, [4])
    means = raw_retrieval.bootstrap_means([(fold.image_ids, (fold.ranks <= 1).astype(float))], 300, [4])[0]
    assert (measures["recall_at_1_low"], measures["recall_at_1_high"]) == raw_retrieval.interval(100 * means)


def test_queries_of_an_image_stand_or_fall_together_over_all_folds():
    folds = [found([1] * 5 + [2] * 5, [1] * 5 + [9] * 5) for _ in range(3)]
    measures = measures_of(folds, 300, [1])
    assert (measures["recall_at_1_low"], measures["recall_at_1_high"]) == (0, 100)


@pytest.mark.parametrize(("atoms", "simple"), [([2, 3, 9], True), ([5, 6], True), ([5, 6, 7], False), ([6], False)])
def test_captions_are_simple_if_half_have_few_atoms(atoms, simple):
    assert is_simple([pair(i, "a", n_atoms=n) for i, n in enumerate(atoms)]) == simple
