import csv
import json

import numpy as np
import pytest

from crepebench.feature_index import crop_id, identity_path, text_id
from crepebench.feature_store import FeatureStore
from crepebench.schema import FEATURE_INDEX, RETRIEVAL_SETS, SCORES, read_table, write_table
from crepebench.scores import score_retrieval_sets, score_rows, truth_ranks, truth_wins


def unit(rows):
    rows = np.asarray(rows, dtype=np.float64)
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def retrieval_set(set_id, caption, foils, image_id=1, foil_type="atom"):
    foil = dict.fromkeys(("foil_id", "kind", "original", "replacement", "source"), "")
    return {
        "set_id": set_id,
        "protocol": "paper",
        "foil_type": foil_type,
        "image_id": image_id,
        "region_id": image_id,
        **dict(zip(("x", "y", "width", "height"), (0, 0, 10, 20), strict=True)),
        "complexity": 2,
        "caption": caption,
        "caption_source": "visual_genome",
        "foils": [{**foil, "text": text} for text in foils],
    }


def naive_rank(scores):
    """Sorts the candidates and takes the mean place of those that score as the truth does."""
    ordered = sorted(scores, reverse=True)
    places = [place for place, score in enumerate(ordered, start=1) if score == scores[0]]
    return sum(places) / len(places)


@pytest.mark.parametrize(
    ("scores", "rank"),
    [
        ([0.9, 0.1, 0.2], 1),
        ([0.1, 0.9, 0.2], 3),
        ([0.5, 0.5, 0.2], 1.5),
        ([0.5, 0.5, 0.5], 2),
        ([0.5, 0.9, 0.5], 2.5),
        ([0.5], 1),
    ],
)
def test_tie_takes_the_mean_rank_of_the_tied_block(scores, rank):
    assert truth_ranks(np.array([scores])).tolist() == [rank]


@pytest.mark.parametrize(("n_sets", "n_candidates"), [(11, 5), (1, 7), (103, 11)])
def test_ranks_equal_those_of_a_naive_sort(n_sets, n_candidates):
    scores = np.random.default_rng(n_sets).integers(0, 4, size=(n_sets, n_candidates)) / 7
    assert truth_ranks(scores).tolist() == [naive_rank(row.tolist()) for row in scores]


@pytest.mark.parametrize("place", [(0, 0), (1, 2), (2, 1)])
def test_nan_is_an_error(place):
    scores = np.ones((3, 4))
    scores[place] = np.nan
    with pytest.raises(ValueError, match="1 of 3 sets hold a score that is NaN"):
        truth_ranks(scores)


def test_wins_are_one_half_for_a_tie():
    assert truth_wins(np.array([[0.5, 0.1, 0.5, 0.9]])).tolist() == [[1.0, 0.5, 0.0]]


@pytest.mark.parametrize("n_foils", [4, 6, 10])
def test_wins_and_rank_agree(n_foils):
    scores = np.random.default_rng(n_foils).integers(0, 5, size=(37, n_foils + 1)) / 3
    assert np.array_equal(truth_ranks(scores), 1 + n_foils - truth_wins(scores).sum(axis=1))


def test_scores_are_cosines_of_crop_and_texts():
    texts = ["a red jar", "a blue jar", "a red box", "a green jar"]
    matrix = unit(np.random.default_rng(4).normal(size=(5, 7)))
    row_of = {("text", text_id(text)): i for i, text in enumerate(texts)}
    row_of["crop", crop_id(1, (0, 0, 10, 20))] = 4
    (row,) = score_rows([retrieval_set("s", texts[0], texts[1:])], row_of, matrix, {})
    naive = [sum(float(a) * float(b) for a, b in zip(matrix[i], matrix[4], strict=True)) for i in range(4)]
    assert row["rank"] == naive_rank(naive)
    assert row["margin"] == pytest.approx(naive[0] - max(naive[1:]), abs=1e-12)
    assert row["wins"] == [float(naive[0] > foil) for foil in naive[1:]]


def test_texts_with_equal_features_tie_exactly():
    matrix = unit(np.random.default_rng(1).normal(size=(3, 64)))
    row_of = {("text", text_id("truth")): 0, ("text", text_id("other")): 1, ("crop", crop_id(1, (0, 0, 10, 20))): 2}
    matrix[1] = matrix[0]
    (row,) = score_rows([retrieval_set("s", "truth", ["other"] * 6)], row_of, matrix, {})
    assert (row["rank"], row["margin"], row["wins"]) == (4.0, 0.0, [0.5] * 6)


def test_set_whose_crop_has_no_feature_carries_the_reason():
    row_of = {("text", text_id(text)): i for i, text in enumerate(("truth", "other"))}
    reasons = {crop_id(1, (0, 0, 10, 20)): "image_unreadable"}
    (row,) = score_rows([retrieval_set("s", "truth", ["other"])], row_of, unit(np.eye(2)), reasons)
    assert row == {
        "set_id": "s",
        "foil_type": "atom",
        "rank": None,
        "margin": None,
        "wins": None,
        "reason": "image_unreadable",
    }


def test_stage_scores_every_set_or_counts_why_not(tmp_path):
    store = FeatureStore(str(tmp_path / "store"), "model-1")
    keys = [text_id("truth"), text_id("other"), "crop"]
    store.add(keys, unit([[1, 0], [0, 1], [1, 0.1]]))
    place = store.find(keys)
    crops = [crop_id(image_id, (0, 0, 10, 20)) for image_id in (1, 2)]
    index = [{"kind": "text", "id": k, "shard": place[k][0], "row": place[k][1], "reason": ""} for k in keys[:2]]
    index.append({"kind": "crop", "id": crops[0], "shard": place["crop"][0], "row": 2, "reason": ""})
    index.append({"kind": "crop", "id": crops[1], "shard": None, "row": None, "reason": "image_missing"})
    paths = [str(tmp_path / f"{name}.parquet") for name in ("index", "sets", "scores")]
    write_table(paths[0], FEATURE_INDEX, index)
    with open(identity_path(paths[0]), "w") as file:
        json.dump({"model": "m", "identity": "model-1", "store": str(tmp_path / "store")}, file)
    sets = [retrieval_set("a", "truth", ["other"]), retrieval_set("b", "other", ["truth"], image_id=2)]
    sets.append(retrieval_set("c", "other", ["truth"]))
    write_table(paths[1], RETRIEVAL_SETS, sets)
    score_retrieval_sets([paths[1]], paths[0], paths[2], str(tmp_path / "accounting.csv"), "m", "systematicity")
    table = read_table(paths[2], SCORES)
    assert table.schema.equals(SCORES)
    assert table["rank"].to_pylist() == [1.0, None, 2.0]
    assert table["reason"].to_pylist() == ["", "image_missing", ""]
    with open(tmp_path / "accounting.csv", newline="") as file:
        counts = {row["reason"]: row["count"] for row in csv.DictReader(file)}
    assert counts == {"read": "3", "image_missing": "1", "kept": "2"}
