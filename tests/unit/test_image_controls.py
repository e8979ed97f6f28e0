from dataclasses import replace

import numpy as np
import pytest

from crepebench.image_controls import IMAGES_PERMUTED, MEAN_IMAGE, NO_TEXT_BRANCH, change_rows, control_rows, permuted
from crepebench.scores import score_by_cosine

from .benchmark_rows import features_of, make_item, rows_of

N_IMAGES, PER_IMAGE = 6, 2


@pytest.fixture
def questions():
    """Rows of questions, two of each image, and features by which each right caption is its image's."""
    items = [make_item("choose_caption", i, image=i // PER_IMAGE) for i in range(N_IMAGES * PER_IMAGE)]
    rows = rows_of(items)
    image_of = {row["captions"][0]: row["images"][0]["image_id"] for row in rows}

    def vector_of(one):
        vector = np.zeros(N_IMAGES + 2)
        owner = one if isinstance(one, int) else image_of.get(one)
        vector[-1 if owner is None else owner] = 1.0
        return vector

    return rows, features_of(rows, vector_of)


def accuracies(rows):
    found = {}
    for row in rows:
        found.setdefault(row["control"], []).append(row["strict"])
    return {control: float(np.mean(values)) for control, values in found.items()}


@pytest.mark.parametrize("n_images", [2, 3, 7, 20])
def test_no_question_keeps_its_image_and_each_image_goes_to_as_many_questions_as_before(n_images):
    images = np.repeat(np.arange(n_images), 3)
    given = images[permuted(images, 1)]
    assert (given != images).all()
    assert sorted(given) == sorted(images)
    assert not np.array_equal(permuted(np.arange(50), 1), permuted(np.arange(50), 2))


def test_what_rests_on_the_image_falls_with_other_images(questions):
    rows, features = questions
    assert accuracies(control_rows(rows, features, score_by_cosine, None, 1)) == {
        IMAGES_PERMUTED: 0.0,
        MEAN_IMAGE: 1.0,  # the mean holds a part of each image, so right captions stay above strange ones
    }


def test_what_rests_on_the_text_stays_with_other_images_and_falls_without_its_branch(questions):
    rows, features = questions
    right = {tuple(features.matrix[features.rows["text"][name]]) for name in features.rows["text"]} - {
        tuple(np.eye(N_IMAGES + 2)[-1])
    }

    def by_text(images, texts):
        return np.array([float(tuple(text) in right) for text in texts])

    found = accuracies(control_rows(rows, features, by_text, lambda images, texts: np.zeros(len(texts)), 1))
    assert found == {IMAGES_PERMUTED: 1.0, MEAN_IMAGE: 1.0, NO_TEXT_BRANCH: 0.0}


def test_tasks_without_a_choice_of_captions_have_no_controls(questions):
    _, features = questions
    assert list(control_rows(rows_of([make_item("pairs")]), features, score_by_cosine, None, 1)) == []


def test_corrections_are_measured_against_the_frozen_features(questions):
    rows, frozen = questions
    cosine, sine = 0.6, 0.8
    turned = np.roll(frozen.matrix, 1, axis=1)
    matrix = np.hstack([cosine * frozen.matrix + sine * turned, np.zeros_like(frozen.matrix)])
    matrix[list(frozen.rows["crop"].values()), : frozen.matrix.shape[1]] = frozen.matrix[
        list(frozen.rows["crop"].values())
    ]
    features = replace(frozen, matrix=matrix.astype(np.float32))
    found = list(change_rows(rows, features, frozen, lambda images, texts: score_by_cosine(images, texts) - 0.125))
    assert len(found) == sum(len(row["captions"]) for row in rows)
    assert {round(row["cosine"], 5) for row in found} == {cosine}
    assert {round(row["offset"], 5) for row in found} == {-0.125}
    assert not any(row["has_cue"] for row in found)
