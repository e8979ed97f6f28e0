import csv
import json

import numpy as np
import pyarrow as pa
import pytest

from crepebench.feature_index import crop_id, identity_path, text_id
from crepebench.feature_reader import Features
from crepebench.feature_store import FeatureStore
from crepebench.models import Model
from crepebench.schema import FEATURE_INDEX, RETRIEVAL_SETS, SCORES, read_table, write_table
from crepebench.scores import score_by_cosine, score_retrieval_sets, score_sets, truth_ranks, truth_wins

BOX = (0, 0, 10, 20)


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
        "subgraph_id": None,
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


def features_of(texts, matrix, image_ids=(1,), tokens=None, cut=(), reasons=None):
    """Features of texts, then of the crops of images, in the order of the matrix."""
    n_crops = len(image_ids)
    return Features(
        rows={
            "text": {text_id(text): i for i, text in enumerate(texts)},
            "crop": {crop_id(image_id, BOX): len(texts) + i for i, image_id in enumerate(image_ids)},
        },
        matrix=matrix,
        tokens=np.array([*(tokens or range(len(texts))), *[-1] * n_crops]),
        is_cut=np.array([text in cut for text in texts] + [False] * n_crops),
        reasons=reasons or {},
    )


def score(sets, features, **options):
    return list(score_sets(pa.Table.from_pylist(sets, RETRIEVAL_SETS), features, **options))


def score_one_by_one(row, features):
    """Scores one set alone, candidate after candidate."""
    crop = features.matrix[features.rows["crop"][crop_id(row["image_id"], BOX)]].astype(np.float64)
    texts = [row["caption"], *(foil["text"] for foil in row["foils"])]
    scores = [
        float((features.matrix[features.rows["text"][text_id(text)]].astype(np.float64) * crop).sum()) for text in texts
    ]
    return {
        "set_id": row["set_id"],
        "foil_type": row["foil_type"],
        "rank": naive_rank(scores),
        "margin": scores[0] - max(scores[1:]),
        "wins": [1.0 if scores[0] > other else 0.5 if scores[0] == other else 0.0 for other in scores[1:]],
        "reason": "",
    }


def test_scores_are_cosines_of_crop_and_texts():
    texts = ["a red jar", "a blue jar", "a red box", "a green jar"]
    matrix = unit(np.random.default_rng(4).normal(size=(5, 7)))
    (row,) = score([retrieval_set("s", texts[0], texts[1:])], features_of(texts, matrix))
    naive = [sum(float(a) * float(b) for a, b in zip(matrix[i], matrix[4], strict=True)) for i in range(4)]
    assert row["rank"] == naive_rank(naive)
    assert row["margin"] == pytest.approx(naive[0] - max(naive[1:]), abs=1e-12)
    assert row["wins"] == [float(naive[0] > foil) for foil in naive[1:]]


@pytest.mark.parametrize(("batch", "pairs"), [(2_000, 4_096), (7, 11), (1, 1)])
@pytest.mark.parametrize("dim", [3, 512, 1_000])
def test_sets_of_all_sizes_score_together_as_each_does_alone(monkeypatch, batch, pairs, dim):
    monkeypatch.setattr("crepebench.scores.SETS_PER_BATCH", batch)
    monkeypatch.setattr("crepebench.scores.PAIRS_PER_CALL", pairs)
    rng = np.random.default_rng(dim)
    texts = [f"text {i}" for i in range(30)]
    matrix = unit(rng.normal(size=(33, dim)))
    matrix[5] = matrix[6]
    features = features_of(texts, matrix, image_ids=(1, 2, 3))
    sets = []
    for i in range(40):
        chosen = rng.permutation(30)[: rng.choice([5, 7, 11, 16])]
        sets.append(retrieval_set(f"s{i}", texts[chosen[0]], [texts[j] for j in chosen[1:]], 1 + i % 3))
    assert score(sets, features) == [score_one_by_one(row, features) for row in sets]


def test_texts_with_equal_features_tie_exactly():
    matrix = unit(np.random.default_rng(1).normal(size=(3, 64)))
    matrix[1] = matrix[0]
    (row,) = score([retrieval_set("s", "truth", ["other"] * 6)], features_of(["truth", "other"], matrix))
    assert (row["rank"], row["margin"], row["wins"]) == (4.0, 0.0, [0.5] * 6)


def unscored(reason):
    return {"set_id": "s", "foil_type": "atom", "rank": None, "margin": None, "wins": None, "reason": reason}


def test_set_whose_crop_has_no_feature_carries_the_reason():
    reasons = {crop_id(1, BOX): "image_unreadable"}
    features = features_of(["truth", "other"], unit(np.eye(2)), image_ids=(), reasons=reasons)
    assert score([retrieval_set("s", "truth", ["other"])], features) == [unscored("image_unreadable")]


@pytest.mark.parametrize(
    ("tokens", "cut", "reason"),
    [
        ([1, 2, 3], ["truth", "foil"], ""),
        ([1, 1, 2], ["truth", "foil"], "equal_after_truncation"),
        ([1, 1, 2], ["foil"], "equal_after_truncation"),
        ([1, 1, 2], [], "equal_tokens"),
        ([1, 2, 2], ["truth", "foil"], ""),
        ([2, 1, 2], ["truth"], "equal_after_truncation"),
    ],
)
def test_set_whose_truth_and_foil_are_one_to_the_model_is_not_scored(tokens, cut, reason):
    texts = ["truth", "foil", "second foil"]
    features = features_of(texts, unit(np.eye(4)), tokens=tokens, cut=cut)
    (row,) = score([retrieval_set("s", texts[0], texts[1:])], features)
    assert row["reason"] == reason
    assert (row["rank"] is None) == bool(reason)


def test_text_that_is_not_in_the_index_is_an_error():
    with pytest.raises(KeyError):
        score([retrieval_set("s", "truth", ["unknown"])], features_of(["truth", "other"], unit(np.eye(3))))


def test_score_that_is_no_number_is_an_error():
    matrix = unit(np.eye(3))
    matrix[1, 0] = np.nan
    with pytest.raises(ValueError, match="1 of 1 sets hold a score that is NaN"):
        score([retrieval_set("s", "truth", ["other"])], features_of(["truth", "other"], matrix))


class Contrary(Model):
    """Scores pairs by minus the cosine."""

    identity = "contrary"
    tokenise = encode_images = encode_tokens = None

    def score(self, images, texts):
        return -super().score(images, texts)


def test_score_of_the_model_decides():
    texts, matrix = ["truth", "other"], unit([[1, 0], [0, 1], [1, 0.1]])
    sets = [retrieval_set("s", "truth", ["other"])]
    assert [row["rank"] for row in score(sets, features_of(texts, matrix))] == [1.0]
    assert [row["rank"] for row in score(sets, features_of(texts, matrix), score=Contrary().score)] == [2.0]


@pytest.mark.parametrize("dim", [1, 5, 129, 1_024])
def test_cosine_is_summed_row_by_row_in_float64(dim):
    images, texts = (unit(np.random.default_rng(seed).normal(size=(9, dim))) for seed in (1, 2))
    expected = [(a.astype(np.float64) * b.astype(np.float64)).sum() for a, b in zip(images, texts, strict=True)]
    assert score_by_cosine(images, texts).tolist() == expected


@pytest.fixture
def stage(tmp_path):
    """A function that scores three sets, one without an image; returns the table and the counts."""

    def run(own_score, **options):
        store = FeatureStore(str(tmp_path / "store"), "model-1")
        keys = [text_id("truth"), text_id("other"), "crop"]
        store.add(keys, unit([[1, 0], [0, 1], [1, 0.1]]))
        place = store.find(keys)
        crops = [crop_id(image_id, BOX) for image_id in (1, 2)]
        tokens, no_tokens = {"n_tokens": 3, "is_cut": False}, dict.fromkeys(("tokens_id", "n_tokens", "is_cut"))
        index = [
            {"kind": "text", "id": k, "shard": place[k][0], "row": place[k][1], "reason": "", "tokens_id": k, **tokens}
            for k in keys[:2]
        ]
        index.append({"kind": "crop", "id": crops[0], "shard": place["crop"][0], "row": 2, "reason": "", **no_tokens})
        missing = {"shard": None, "row": None, "reason": "image_missing"}
        index.append({"kind": "crop", "id": crops[1], **missing, **no_tokens})
        paths = [str(tmp_path / f"{name}.parquet") for name in ("index", "sets", "scores")]
        write_table(paths[0], FEATURE_INDEX, index)
        origin = {"model": "m", "identity": "model-1", "store": str(tmp_path / "store"), "own_score": own_score}
        with open(identity_path(paths[0]), "w") as file:
            json.dump(origin, file)
        sets = [retrieval_set("a", "truth", ["other"]), retrieval_set("b", "other", ["truth"], image_id=2)]
        sets.append(retrieval_set("c", "other", ["truth"]))
        write_table(paths[1], RETRIEVAL_SETS, sets)
        accounting = str(tmp_path / "accounting.csv")
        score_retrieval_sets([paths[1]], paths[0], paths[2], accounting, "m", "systematicity", **options)
        with open(accounting, newline="") as file:
            return read_table(paths[2], SCORES), {row["reason"]: row["count"] for row in csv.DictReader(file)}

    return run


def test_stage_scores_every_set_or_counts_why_not(stage):
    table, counts = stage(own_score=False)
    assert table.schema.equals(SCORES)
    assert table["rank"].to_pylist() == [1.0, None, 2.0]
    assert table["reason"].to_pylist() == ["", "image_missing", ""]
    assert counts == {"read": "3", "image_missing": "1", "kept": "2"}


def test_stage_loads_a_model_that_has_a_score_of_its_own(stage, monkeypatch):
    asked = []

    def load(definition, weights):
        asked.append((definition, weights))
        return Contrary()

    monkeypatch.setattr("crepebench.scores.load_model", load)
    table, _ = stage(own_score=True, cfg=json.dumps({"model": {"family": "f"}}), weights_paths=["w"])
    assert table["rank"].to_pylist() == [2.0, None, 1.0]
    assert asked == [({"family": "f"}, ["w"])]
