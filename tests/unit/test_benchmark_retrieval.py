import numpy as np
import pytest

from crepebench import benchmark_retrieval
from crepebench.benchmark_recalls import chance_of_hit, hits_of, subset_rows
from crepebench.benchmark_retrieval import build_pools, pool_places, rank_pool, truths_of_captions, truths_of_images
from crepebench.scores import score_by_cosine

from .retrieval_rows import features_for, retrieval_item, unit

OPTIONS = {
    "directions": ["image_to_text", "text_to_image"],
    "ks": [1, 5, 10],
    "cue": False,
    "n_resamples": 50,
    "seed": 1,
}


def rows_of(items, features, n_lost=None, score=None, **options):
    ranks = [row for pool in build_pools(items) for row in rank_pool(pool, features, score)]
    found = subset_rows(ranks, {**OPTIONS, **options}, n_lost or {}, "model")
    return {(row["subset"], row["metric"]): row for row in found}


def random_pool(n_images, seed, levels=3):
    """Pictures with one to four captions and features that often tie."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 5, n_images)
    items = [retrieval_item(f"{i}.jpg", *(f"{i} {j}" for j in range(n))) for i, n in enumerate(counts)]
    (pool,) = build_pools(items)
    images, texts = (unit(rng.integers(1, levels, size=(n, 4))) for n in (n_images, len(pool.captions)))
    return pool, images, texts


def naive_places(scores, true):
    best = max(scores[i] for i in true)
    others = [score for i, score in enumerate(scores) if i not in true]
    tied = sum(scores[i] == best for i in true)
    return sum(score > best for score in others), sum(score == best for score in others), tied


def naive_scores(query, candidates):
    return [round(float(np.dot(query.astype(float), candidate.astype(float))), 12) for candidate in candidates]


@pytest.mark.parametrize("score", [None, score_by_cosine])
@pytest.mark.parametrize("seed", range(3))
def test_ranks_are_those_of_a_naive_search(seed, score):
    pool, images, texts = random_pool(11, seed)
    own = [{c for c, i in enumerate(pool.image_of) if i == image} for image in range(11)]
    of_images = pool_places(images, texts, truths_of_images(pool), score)
    of_captions = pool_places(texts, images, truths_of_captions(pool), score)
    expected = [naive_places(naive_scores(images[i], texts), own[i]) for i in range(11)]
    assert list(zip(*of_images, strict=True)) == expected
    expected = [
        naive_places(naive_scores(text, images), {image}) for text, image in zip(texts, pool.image_of, strict=True)
    ]
    assert list(zip(*of_captions, strict=True)) == expected


def test_ranks_do_not_depend_on_the_size_of_blocks(monkeypatch):
    pool, images, texts = random_pool(11, 3)
    for score in (None, score_by_cosine):
        whole = pool_places(images, texts, truths_of_images(pool), score)
        with monkeypatch.context() as patch:
            patch.setattr(benchmark_retrieval, "BLOCK", 50)
            patch.setattr(benchmark_retrieval, "PAIRS_PER_CALL", 7)
            in_blocks = pool_places(images, texts, truths_of_images(pool), score)
        assert all(np.array_equal(one, other) for one, other in zip(whole, in_blocks, strict=True))


def test_a_score_of_the_models_own_is_given_picture_and_caption():
    items = [retrieval_item("a.jpg", "a"), retrieval_item("b.jpg", "b")]
    features = features_for({"a.jpg": [1, 0], "b.jpg": [0, 1]}, {"a": [1, 1], "b": [1, 2]})

    def of_picture_alone(pictures, _):
        return pictures[:, 0].astype(float)

    found = rows_of(items, features, score=of_picture_alone)
    assert found["pool", "text_to_image_recall_at_1"]["value"] == 50.0
    assert found["pool", "image_to_text_recall_at_1"]["value"] == 0.0  # both captions tie


def test_any_caption_of_a_picture_is_a_hit():
    items = [retrieval_item("a.jpg", "far", "near"), retrieval_item("b.jpg", "other")]
    images = {"a.jpg": [1, 0, 0], "b.jpg": [0, 1, 0]}
    found = rows_of(items, features_for(images, {"far": [0, 0, 1], "near": [1, 0, 0], "other": [0, 1, 0]}))
    assert found["pool", "image_to_text_recall_at_1"]["value"] == 100.0


def test_recall_of_pictures_is_a_mean_over_captions():
    items = [retrieval_item("a.jpg", "a1", "a2", "a3"), retrieval_item("b.jpg", "b1")]
    texts = {"a1": [1, 0], "a2": [1, 0], "a3": [1, 0], "b1": [1, 0]}
    row = rows_of(items, features_for({"a.jpg": [1, 0], "b.jpg": [0, 1]}, texts))["pool", "text_to_image_recall_at_1"]
    assert (row["value"], row["n_items"], row["chance"]) == (75.0, 4, 50.0)


def test_a_constant_scorer_finds_nothing_and_with_ties_split_what_chance_finds():
    items = [retrieval_item(f"{i}.jpg", *(f"text {i} {j}" for j in range(1 + i % 3))) for i in range(20)]
    texts = {text: [1, 1] for item in items for text in item["captions"]}
    found = rows_of(items, features_for({f"{i}.jpg": [1, 1] for i in range(20)}, texts))
    recalls = {metric: row for (_, metric), row in found.items() if "recall" in metric}
    assert len(recalls) == 12
    for metric, row in recalls.items():
        assert row["value"] == pytest.approx(row["chance"] if metric.endswith("_ties_split") else 0.0), metric
        assert row["chance"] > 0


def test_ties_split_is_the_mean_over_random_orders():
    rng = np.random.default_rng(1)
    for n_better, n_tied, n_true_tied, k in ((0, 2, 1, 1), (2, 3, 2, 4), (6, 0, 1, 5), (3, 4, 1, 2)):
        row = {"n_better": n_better, "n_tied": n_tied, "n_true_tied": n_true_tied, "n_true": 3, "n_candidates": 30}
        orders = [rng.permutation(n_tied + n_true_tied) for _ in range(4_000)]
        drawn = np.mean([n_better + np.flatnonzero(order < n_true_tied)[0] < k for order in orders])
        hits = hits_of([row], k)
        assert hits["split"][0] == pytest.approx(drawn, abs=0.03)
        assert hits["strict"][0] == (n_better + n_tied < k)


def test_an_oracle_finds_all_and_an_anti_oracle_nothing():
    items = [retrieval_item(f"{i}.jpg", f"text {i}") for i in range(12)]
    images = {f"{i}.jpg": vector for i, vector in enumerate(np.eye(12) + 0.01)}
    texts = {f"text {i}": vector for i, vector in enumerate(np.eye(12) + 0.01)}
    found = rows_of(items, features_for(images, texts))
    assert {row["value"] for (_, metric), row in found.items() if "recall" in metric} == {100.0}
    found = rows_of(items, features_for(images, {text: -vector for text, vector in texts.items()}))
    assert {row["value"] for (_, metric), row in found.items() if "recall" in metric} == {0.0}


@pytest.mark.parametrize("score", [None, score_by_cosine])
def test_a_score_that_is_nan_is_an_error(score):
    items = [retrieval_item("a.jpg", "a"), retrieval_item("b.jpg", "b")]
    features = features_for({"a.jpg": [1, 0], "b.jpg": [0, 1]}, {"a": [1, 1], "b": [1, 2]})
    features.matrix[-1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        rows_of(items, features, score=score)


def test_chance_is_the_share_of_hits_of_random_ranks():
    rng, n_draws = np.random.default_rng(0), 4_000
    for n_true, n_candidates, k in ((3, 20, 1), (3, 20, 5), (5, 7, 5)):
        hits = [(rng.permutation(n_candidates)[:k] < n_true).any() for _ in range(n_draws)]
        assert chance_of_hit(np.array([n_true]), np.array([n_candidates]), np.array([k])) == pytest.approx(
            np.mean(hits), abs=0.03
        )
    found = chance_of_hit(np.array([1, 1, 1]), np.array([4, 20, 20]), np.array([5, 5, -1]))
    assert found.tolist() == pytest.approx([1.0, 0.25, 0.0])


def test_an_equal_caption_of_another_picture_is_true_for_the_picture_alone():
    items = [retrieval_item("a.jpg", "a dog"), retrieval_item("b.jpg", "A  dog"), retrieval_item("c.jpg", "c")]
    texts = {"a dog": [1, 0, 0], "A  dog": [1, 0, 0], "c": [0, 0, 1]}
    found = rows_of(items, features_for({"a.jpg": [1, 0, 0], "b.jpg": [1, 0.1, 0], "c.jpg": [0, 0, 1]}, texts))
    assert found["pool", "image_to_text_recall_at_1"]["value"] == 100.0
    assert found["pool", "text_to_image_recall_at_1"]["value"] == pytest.approx(200 / 3)


def test_rows_of_one_picture_are_joined():
    (pool,) = build_pools([retrieval_item("a.jpg", "one"), retrieval_item("a.jpg", "two")])
    assert (len(pool.images), pool.captions, pool.image_of.tolist()) == (1, ("one", "two"), [0, 0])


def test_captions_with_a_cue_search_the_whole_pool():
    items = [retrieval_item("a.jpg", "a cup, no dog"), retrieval_item("b.jpg", "a dog")]
    texts = {"a cup, no dog": [0, 1], "a dog": [0, 1]}
    found = rows_of(items, features_for({"a.jpg": [1, 0], "b.jpg": [0, 1]}, texts), cue=True, ks=(1, 5))
    assert found["pool", "text_to_image_recall_at_1"]["value"] == 50.0
    cue = found["pool/cue", "text_to_image_recall_at_1"]
    assert (cue["value"], cue["n_items"], cue["chance"]) == (0.0, 1, 50.0)
    assert ("pool/cue", "image_to_text_recall_at_1") not in found
    assert ("pool", "text_to_image_recall_at_10") not in found


def test_cut_captions_and_missing_pictures_are_counted():
    items = [retrieval_item(f"{name}.jpg", f"{name} 1", f"{name} 2") for name in "abc"]
    texts = {f"{name} {i}": [1, i] for name in "abc" for i in (1, 2)}
    features = features_for({"a.jpg": [1, 0], "c.jpg": [0, 1]}, texts, cut=["a 1", "b 1"], missing=["b.jpg"])
    found = rows_of(items, features, n_lost={"pool": 2, "other": 9})
    assert {row["n_missing"] for row in found.values()} == {3}
    assert found["pool", "captions_cut"]["value"] == 25.0
    assert found["pool", "text_to_image_recall_at_1"]["n_items"] == 4
    with pytest.raises(ValueError, match=r"pool: no picture has a feature.*image_missing"):
        rows_of(items, features_for({}, texts, missing=["a.jpg", "b.jpg", "c.jpg"]))


def test_a_clip_has_the_mean_feature_of_its_frames():
    items = [retrieval_item("a.mp4", "mean"), retrieval_item("b.jpg", "first frame")]
    frames = [[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0]]
    texts = {"mean": [1, 1, 0], "first frame": [1, 0, 0.2]}
    found = rows_of(items, features_for({"a.mp4": frames, "b.jpg": [1, 0, 0.1]}, texts))
    assert found["pool", "text_to_image_recall_at_1"]["value"] == 100.0


def test_intervals_resample_pictures_and_not_captions():
    items = [
        retrieval_item("a.jpg", *(f"a{i}" for i in range(50))),
        retrieval_item("b.jpg", *(f"b{i}" for i in range(50))),
    ]
    texts = {caption: [1, 0] for item in items for caption in item["captions"]}
    row = rows_of(items, features_for({"a.jpg": [1, 0], "b.jpg": [0, 1]}, texts))["pool", "text_to_image_recall_at_1"]
    assert (row["low"], row["value"], row["high"]) == (0.0, 50.0, 100.0)


def test_an_item_of_another_task_is_an_error():
    for item in (retrieval_item("a.jpg"), {**retrieval_item("a.jpg", "a"), "task": "pairs"}):
        with pytest.raises(ValueError, match=r"pool/a\.jpg"):
            build_pools([item])
