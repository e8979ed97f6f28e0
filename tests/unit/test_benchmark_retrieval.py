import numpy as np
import pytest

from crepebench.benchmark_pools import POOL_METRICS, POOL_SHAPES, pool_chances, score_pools
from crepebench.scores import score_by_cosine

from .retrieval_rows import features_for, means_of, rows_of_pictures

I_TO_T, T_TO_I = "image_to_text_recall_at_1", "text_to_image_recall_at_1"


def means(captions_of, features, score=None, rule="strict"):
    return means_of(score_pools(rows_of_pictures(captions_of), features, score), rule)


def test_any_caption_of_a_picture_is_a_hit():
    images = {"a.jpg": [1, 0, 0], "b.jpg": [0, 1, 0]}
    texts = {"far": [0, 0, 1], "near": [1, 0, 0], "other": [0, 1, 0]}
    assert means({"a.jpg": ["far", "near"], "b.jpg": ["other"]}, features_for(images, texts))[I_TO_T] == 100.0


def test_recall_of_pictures_is_a_mean_over_captions():
    texts = {"a1": [1, 0], "a2": [1, 0], "a3": [1, 0], "b1": [1, 0]}
    features = features_for({"a.jpg": [1, 0], "b.jpg": [0, 1]}, texts)
    assert means({"a.jpg": ["a1", "a2", "a3"], "b.jpg": ["b1"]}, features)[T_TO_I] == 75.0


def test_each_query_is_scored_by_each_metric_once():
    rows = rows_of_pictures({"a.jpg": ["a1", "a2"], "b.jpg": ["b1"]})
    features = features_for({"a.jpg": [1, 0], "b.jpg": [0, 1]}, {"a1": [1, 0], "a2": [1, 1], "b1": [0, 1]})
    scored = list(score_pools(rows, features))
    found = {(row["item_id"], row["metric"]) for row in scored}
    assert found == {(row["item_id"], metric) for row in rows for metric in POOL_METRICS[row["task"]]}
    assert len(found) == len(scored) == len(pool_chances(rows)) == 5 * 3
    assert POOL_METRICS.keys() == POOL_SHAPES.keys()


@pytest.mark.parametrize("score", [None, score_by_cosine])
def test_a_constant_scorer_is_at_chance_with_ties_split_and_at_0_without(score):
    captions_of = {f"{i}.jpg": [f"text {i} {j}" for j in range(1 + i % 3)] for i in range(20)}
    texts = {text: [1, 1] for captions in captions_of.values() for text in captions}
    features = features_for({f"{i}.jpg": [1, 1] for i in range(20)}, texts)
    rows = rows_of_pictures(captions_of)
    scored, chances = list(score_pools(rows, features, score)), pool_chances(rows)
    for row in scored:
        assert row["ties_split"] == pytest.approx(chances[row["item_id"], row["metric"]])
        assert row["strict"] == 0.0
    assert {metric for _, metric in chances} == {
        metric for task in POOL_METRICS for metric in POOL_METRICS[task][:3]
    } - {
        "top_1_accuracy",
        "top_5_accuracy",
    }


def test_an_oracle_finds_all_and_an_anti_oracle_nothing():
    captions_of = {f"{i}.jpg": [f"text {i}"] for i in range(12)}
    images = {f"{i}.jpg": vector for i, vector in enumerate(np.eye(12) + 0.01)}
    texts = {f"text {i}": vector for i, vector in enumerate(np.eye(12) + 0.01)}
    assert set(means(captions_of, features_for(images, texts)).values()) == {100.0}
    turned = {text: -vector for text, vector in texts.items()}
    assert set(means(captions_of, features_for(images, turned)).values()) == {0.0}


@pytest.mark.parametrize("score", [None, score_by_cosine])
def test_a_score_that_is_nan_is_an_error(score):
    features = features_for({"a.jpg": [1, 0], "b.jpg": [0, 1]}, {"a": [1, 1], "b": [1, 2]})
    features.matrix[-1] = np.nan
    with pytest.raises(ValueError, match="retrieve_caption, subset pool: 1 of 2 queries have a score NaN"):
        means({"a.jpg": ["a"], "b.jpg": ["b"]}, features, score)


def test_a_score_of_the_models_own_is_given_picture_and_caption():
    features = features_for({"a.jpg": [1, 0], "b.jpg": [0, 1]}, {"a": [1, 1], "b": [1, 2]})
    found = means({"a.jpg": ["a"], "b.jpg": ["b"]}, features, lambda pictures, _: pictures[:, 0].astype(float))
    assert (found[T_TO_I], found[I_TO_T]) == (50.0, 0.0)  # both captions tie for a picture


def test_an_equal_caption_of_another_picture_is_true_for_the_picture_alone():
    captions_of = {"a.jpg": ["a dog"], "b.jpg": ["A  dog"], "c.jpg": ["c"]}
    texts = {"a dog": [1, 0, 0], "A  dog": [1, 0, 0], "c": [0, 0, 1]}
    found = means(captions_of, features_for({"a.jpg": [1, 0, 0], "b.jpg": [1, 0.1, 0], "c.jpg": [0, 0, 1]}, texts))
    assert found[I_TO_T] == 100.0
    assert found[T_TO_I] == pytest.approx(200 / 3)


def test_texts_that_are_one_to_the_model_tie():
    features = features_for({"a.jpg": [1, 0], "b.jpg": [1, 0.1]}, {"x": [1, 0], "y": [1, 0.1]})
    features.tokens[1] = features.tokens[0]
    found = means({"a.jpg": ["x"], "b.jpg": ["y"]}, features, rule="ties_split")
    assert found[I_TO_T] == 50.0


def test_captions_with_a_cue_are_tagged_with_their_subset():
    rows = rows_of_pictures({"a.jpg": ["a cup, no dog", "a dog"]}, cues=True)
    assert [row["tags"] for row in rows] == [[], [{"name": "with_cue", "value": "pool"}], []]


def test_a_picture_without_a_feature_leaves_the_pool_with_its_captions():
    captions_of = {f"{name}.jpg": [f"{name} 1", f"{name} 2"] for name in "abc"}
    texts = {"a 1": [1, 0], "a 2": [1, 0], "b 1": [1, 0], "b 2": [1, 0], "c 1": [0, 1], "c 2": [0, 1]}
    features = features_for({"a.jpg": [1, 0], "c.jpg": [0, 1]}, texts, cut=["a 1"], missing=["b.jpg"])
    scored = list(score_pools(rows_of_pictures(captions_of), features))
    assert {row["item_id"]: row["reason"] for row in scored if row["reason"]} == {
        "b.jpg/captions": "image_missing",
        "b.jpg/image/0": "image_missing",
        "b.jpg/image/1": "image_missing",
    }
    assert set(means_of(scored).values()) == {100.0}
    assert {row["item_id"] for row in scored if row["is_cut"]} == {"a.jpg/captions", "a.jpg/image/0"}
    nothing = features_for({}, texts, missing=["a.jpg", "b.jpg", "c.jpg"])
    assert all(row["reason"] for row in score_pools(rows_of_pictures(captions_of), nothing))


def test_items_of_other_tasks_are_passed_over():
    rows = rows_of_pictures({"a.jpg": ["a"], "b.jpg": ["b"]})
    features = features_for({"a.jpg": [1, 0], "b.jpg": [0, 1]}, {"a": [1, 0], "b": [0, 1]})
    other = {**rows[0], "task": "choose_caption"}
    assert list(score_pools([*rows, other], features)) == list(score_pools(rows, features))
    assert pool_chances([*rows, other]) == pool_chances(rows)
