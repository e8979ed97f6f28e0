import numpy as np
import pytest

from crepebench.benchmark_items import PAIRS, TASKS, TEXT_ONLY, Item, check_items
from crepebench.benchmark_results import chance, judge, n_scores_of, result_rows
from crepebench.benchmark_scores import NO_TEXT_SIMILARITY, score_items

from .benchmark_rows import SIZES, features_of, make_item, rows_of

RIGHT = {
    "choose_caption": [0.9, 0.1, 0.2, 0.3],
    "choose_image": [0.9, 0.1],
    "pairs": [0.9, 0.1, 0.2, 0.8],
    "pairs_image": [0.9, 0.1, 0.2, 0.8],
    "two_captions": [0.9, 0.8, 0.1],
    "text_only": [0.9, 0.1, 0.2],
}
"""Scores that solve an item of each task."""
CHANCE = {
    "choose_caption": {"accuracy": 1 / 4},
    "choose_image": {"accuracy": 1 / 2},
    "pairs": {"text": 1 / 4, "image": 1 / 4, "group": 1 / 6},
    "pairs_image": {"image": 1 / 4},
    "two_captions": {"itt": 1 / 3},
    "text_only": {"tot": 1 / 3},
}


def results(scores, task):
    found = judge(np.array([scores], dtype=np.float64), task)
    return {metric: (float(strict[0]), float(split[0])) for metric, (strict, split) in found.items()}


@pytest.mark.parametrize("task", TASKS)
def test_an_oracle_has_all_right_and_its_reverse_nothing(task):
    assert set(results(RIGHT[task], task).values()) == {(1.0, 1.0)}
    assert set(results([-score for score in RIGHT[task]], task).values()) == {(0.0, 0.0)}


@pytest.mark.parametrize("task", TASKS)
def test_a_constant_score_is_at_chance_where_ties_are_split_and_nothing_where_they_are_not(task):
    found = results([0.5] * len(RIGHT[task]), task)
    assert {metric: strict for metric, (strict, _) in found.items()} == dict.fromkeys(CHANCE[task], 0.0)
    assert {metric: split for metric, (_, split) in found.items()} == pytest.approx(CHANCE[task])


@pytest.mark.parametrize("task", TASKS)
def test_random_scores_come_to_the_chance_that_is_stated(task):
    scores = np.random.default_rng(1).random((20_000, len(RIGHT[task])))
    means = {metric: strict.mean() for metric, (strict, _) in judge(scores, task).items()}
    assert means == pytest.approx(CHANCE[task], abs=0.015)
    assert chance(task, len(RIGHT[task])) == pytest.approx(CHANCE[task])


@pytest.mark.parametrize("task", TASKS)
def test_a_score_that_is_nan_raises_and_names_the_item(task):
    (row,) = rows_of([make_item(task)])
    with pytest.raises(ValueError, match=f"item '{task}0': 1 of 1 items hold a score that is NaN"):
        result_rows(row, np.full(n_scores_of(row), np.nan), is_cut=False)


def test_a_tie_of_two_of_four_is_a_half():
    assert results([0.5, 0.5, 0.1, 0.2], "choose_caption") == {"accuracy": (0.0, 0.5)}
    assert results([0.5, 0.9, 0.5, 0.2], "choose_caption") == {"accuracy": (0.0, 0.0)}


def test_a_pair_that_is_right_on_one_side_alone_has_no_group():
    found = results([0.9, 0.1, 0.95, 0.97], PAIRS)  # each picture prefers its caption; caption 0 prefers picture 1
    assert found == {"text": (1.0, 1.0), "image": (0.0, 0.0), "group": (0.0, 0.0)}


def oracle(rows):
    """Gives pictures and captions that belong together one vector, and others one of their own."""
    vectors = {}
    for row in rows:
        n = 6 * len(vectors)
        images, captions = [image["image_id"] for image in row["images"]], row["captions"]
        groups = {"pairs": [(0, 0), (1, 1)], "pairs_image": [(0, 0), (1, 1)]}.get(row["task"], [(0, 0)])
        for image, caption in groups:
            vectors[captions[caption]] = n + caption
            if images:
                vectors[images[image]] = n + caption
        if row["task"] in ("two_captions", TEXT_ONLY):
            vectors[captions[1]] = n
    return lambda one: np.eye(1, 200, vectors.get(one, 199 if isinstance(one, str) else 198)).ravel()


@pytest.mark.parametrize("task", TASKS)
def test_items_are_scored_from_the_features_of_their_pictures_and_captions(task):
    rows = rows_of([make_item(task, 0), make_item(task, 1)])
    found = list(score_items(rows, features_of(rows, oracle(rows))))
    assert {(row["item_id"], row["metric"]) for row in found} == {
        (f"{task}{number}", metric) for number in (0, 1) for metric in CHANCE[task]
    }
    assert [row["strict"] for row in found] == [1.0] * len(found)
    assert {len(row["scores"]) for row in found} == {max(SIZES[task][0] * SIZES[task][1], 3 * (task == TEXT_ONLY))}


def test_captions_that_are_one_to_the_model_tie_whatever_their_features():
    rows = rows_of([make_item("choose_caption")])
    noisy = iter(np.random.default_rng(1).random((9, 4)))
    (found,) = score_items(rows, features_of(rows, lambda _: next(noisy), tokens_of=lambda _: "same"))
    assert (found["strict"], found["ties_split"]) == (0.0, 0.25)


def test_an_item_whose_picture_has_no_feature_carries_the_reason():
    rows = rows_of([make_item("choose_image", 0), make_item("choose_image", 1)])
    lost, kept = score_items(rows, features_of(rows, lambda one: np.ones(3), reasons=(2,)))
    assert (lost["reason"], lost["strict"], kept["reason"], kept["ties_split"]) == ("image_unreadable", None, "", 0.5)


def test_a_models_own_score_is_asked_for_pictures_and_texts_and_not_for_texts_alone():
    rows = rows_of([make_item("choose_caption"), make_item(TEXT_ONLY)])
    features = features_of(rows, lambda one: np.ones(3), own_score=True)
    asked = []

    def score(images, texts):
        asked.append(len(images))
        return np.array([4.0, 3.0, 2.0, 1.0])

    chosen, alone = score_items(rows, features, score)
    assert asked == [4]
    assert (chosen["strict"], chosen["scores"], alone["reason"]) == (1.0, [4.0, 3.0, 2.0, 1.0], NO_TEXT_SIMILARITY)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"task": "guess"}, "task 'guess' is none of"),
        ({"captions": ("a",)}, "1 captions, which task choose_caption does not have"),
        ({"images": ()}, "0 images, which task"),
        ({"captions": ("a", " ")}, "a caption is empty"),
        ({"subset": ""}, "id or subset is empty"),
    ],
)
def test_a_wrong_item_is_named(change, message):
    item = Item(**{**vars(make_item("choose_caption")), **change})
    with pytest.raises(ValueError, match=f"b, item 'choose_caption0': {message}"):
        list(check_items([item], "b"))


def test_an_id_that_repeats_is_refused():
    with pytest.raises(ValueError, match="an earlier item has this id"):
        list(check_items([make_item("pairs"), make_item("pairs")], "b"))
