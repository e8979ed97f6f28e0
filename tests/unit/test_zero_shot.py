import numpy as np
import pytest

from crepebench.benchmark_items import ImageRef, Item
from crepebench.benchmark_pools import pool_chances, score_pools
from crepebench.scores import score_by_cosine
from crepebench.zero_shot import IMAGENET_80, SIMPLE_7, class_tag, prompts_of

from .retrieval_rows import features_for, means_of, rows_of

CLASSES = ("dog", "cat", "bird", "fox", "owl", "ant")
TEMPLATES = ("a {}", "the {}.")


def zero_shot_rows(pictures, classes=CLASSES):
    """Items of classes and of pictures, which are given by name with the number of their class."""
    tags = [{"class": class_tag(number, name)} for number, name in enumerate(classes)]
    items = [
        Item(f"class/{number}", "set", "class", (), prompts_of(name, TEMPLATES), tags[number])
        for number, name in enumerate(classes)
    ]
    for name, number in pictures.items():
        prompt = prompts_of(classes[number], TEMPLATES)[:1]
        items.append(Item(name, "set", "classify", (ImageRef("root", name),), prompt, tags[number]))
    return rows_of(items)


def texts_for(vectors, classes=CLASSES):
    """The same vector for each prompt of a class."""
    return {text: vector for name, vector in zip(classes, vectors, strict=True) for text in prompts_of(name, TEMPLATES)}


def test_prompts_of_imagenet_are_80_and_the_simple_ones_7():
    assert (len(set(prompts_of("dog", IMAGENET_80))), len(set(prompts_of("dog", SIMPLE_7)))) == (80, 7)
    assert all("red fox" in prompt for prompt in prompts_of("red fox", IMAGENET_80))
    assert prompts_of("a{}b", ["the {}."]) == ("the a{}b.",)


@pytest.mark.parametrize("templates", ["imagenet_7", [], ["a photo"], ["{} {}"], [7]])
def test_templates_that_are_none_are_an_error(templates):
    with pytest.raises(ValueError, match="templates"):
        prompts_of("dog", templates)


@pytest.mark.parametrize("score", [None, score_by_cosine])
def test_a_picture_is_given_the_class_whose_mean_of_prompts_is_nearest(score):
    texts = texts_for(np.eye(6))
    texts["a dog"], texts["the dog."] = [1, 0, 0, 0, 0, 0.1], [0, 1, 0, 0, 0, 0.1]  # their mean is between
    pictures = {"between.png": 0, "second.png": 1}
    images = {"between.png": [1, 1.1, 0, 0, 0, 0], "second.png": [0, 1, 0, 0, 0, 0]}
    scored = list(score_pools(zero_shot_rows(pictures), features_for(images, texts), score))
    assert {(row["item_id"], row["metric"], row["strict"]) for row in scored} == {
        ("between.png", "top_1_accuracy", 1.0),
        ("between.png", "top_5_accuracy", 1.0),
        ("second.png", "top_1_accuracy", 1.0),
        ("second.png", "top_5_accuracy", 1.0),
    }


def test_the_feature_of_a_class_is_that_of_a_naive_mean():
    from crepebench.zero_shot import class_features

    rng = np.random.default_rng(4)
    texts = {text: rng.normal(size=5) for text in texts_for(np.eye(6))}
    rows = zero_shot_rows({})
    found = class_features(rows, features_for({}, texts))
    for vector, row in zip(found, rows, strict=True):
        means = np.mean([np.array(texts[text]) / np.linalg.norm(texts[text]) for text in row["captions"]], axis=0)
        assert vector == pytest.approx(means / np.linalg.norm(means), abs=1e-6)


def test_an_oracle_is_right_an_anti_oracle_wrong_and_a_constant_scorer_at_chance():
    pictures = {f"{number}.png": number for number in range(6)}
    images = {name: np.eye(6)[number] + 0.01 for name, number in pictures.items()}
    rows = zero_shot_rows(pictures)
    oracle = list(score_pools(rows, features_for(images, texts_for(np.eye(6) + 0.01))))
    assert set(means_of(oracle).values()) == {100.0}
    turned = list(score_pools(rows, features_for(images, texts_for(-np.eye(6) - 0.01))))
    assert set(means_of(turned).values()) == {0.0}
    constant = list(score_pools(rows, features_for(images, texts_for(np.ones((6, 6))))))
    assert set(means_of(constant).values()) == {0.0}
    assert means_of(constant, "ties_split") == pytest.approx({"top_1_accuracy": 100 / 6, "top_5_accuracy": 500 / 6})
    chances = pool_chances(rows)
    assert {chances[row["item_id"], row["metric"]] == pytest.approx(row["ties_split"]) for row in constant} == {True}


def test_two_classes_of_one_name_share_their_hits():
    classes = ("missile", "missile", "cat")
    texts = texts_for([[1, 0], [1, 0], [0, 1]], classes)
    rows = zero_shot_rows({"a.png": 1}, classes)
    scored = [row for row in score_pools(rows, features_for({"a.png": [1, 0]}, texts)) if "top_1" in row["metric"]]
    assert [(row["strict"], row["ties_split"]) for row in scored] == [(0.0, 0.5)]


def test_a_picture_without_a_feature_is_not_scored():
    rows = zero_shot_rows({"a.png": 0, "lost.png": 1})
    features = features_for({"a.png": np.eye(6)[0]}, texts_for(np.eye(6)), missing=["lost.png"])
    scored = list(score_pools(rows, features))
    assert {(row["item_id"], row["reason"]) for row in scored} == {("a.png", ""), ("lost.png", "image_missing")}


def test_a_picture_of_no_class_and_a_score_that_is_nan_are_errors():
    rows = [row for row in zero_shot_rows({"a.png": 0, "b.png": 1}) if row["item_id"] != "class/1"]
    features = features_for({"a.png": np.eye(6)[0], "b.png": np.eye(6)[1]}, texts_for(np.eye(6)))
    with pytest.raises(ValueError, match=r"item 'b\.png': set has no class '0001 cat'"):
        list(score_pools(rows, features))
    features.matrix[-1] = np.nan
    with pytest.raises(ValueError, match="classify, subset set: 1 of 2 queries have a score NaN"):
        list(score_pools(zero_shot_rows({"a.png": 0, "b.png": 1}), features))
