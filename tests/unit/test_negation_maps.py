import numpy as np
import pytest

from crepebench.drawing import read_rows
from crepebench.negation_maps import MapText, mean_cosines, place_texts, read_texts, write_maps


@pytest.fixture
def committed(repository):
    return str(repository / "resources" / "negation" / "map_templates.yaml")


def encode(texts, gap=0.0):
    """Gives each ten texts, those of a category, one direction, and the last five of them a second, `gap` long."""
    features = np.random.default_rng(0).normal(0, 0.05, size=(len(texts), 12))
    for i in range(len(texts)):
        features[i, i // 10] += 1.0
        features[i, 11] += gap * (i % 10 >= 5)
    return features / np.linalg.norm(features, axis=1, keepdims=True)


def test_committed_texts_are_ten_categories_in_five_templates_of_each_polarity(committed):
    texts = read_texts(committed)
    assert len({text.text for text in texts}) == 100
    assert len({text.category for text in texts}) == 10
    assert sum(text.polarity == "negated" for text in texts) == 50


def test_mean_cosines_equal_a_naive_loop():
    texts = [MapText(str(i), "ab"[i // 4], ("affirmative", "negated")[i % 2]) for i in range(8)]
    features = np.random.default_rng(0).normal(size=(8, 3))
    for row in mean_cosines(texts, features):
        values = []
        for i in range(8):
            for j in range(i):
                same = "within" if texts[i].category == texts[j].category else "between"
                kind = texts[i].polarity if texts[i].polarity == texts[j].polarity else "mixed"
                if (same, kind) == (row["relation"], row["polarity"]):
                    values.append(float(features[i] @ features[j]))
        assert row["cosine"] == pytest.approx(np.mean(values))
        assert row["n_pairs"] == len(values)


def test_correction_that_moves_negations_shows_in_the_mixed_cosines(tmp_path, committed):
    paths = [str(tmp_path / name) for name in ("points.csv", "cosines.csv")]
    write_maps(committed, {"before": encode, "after": lambda texts: encode(texts, gap=2.0)}, *paths)
    points, cosines = map(read_rows, paths)
    found = {(row["state"], row["relation"], row["polarity"]): float(row["cosine"]) for row in cosines}
    assert found["after", "within", "mixed"] < found["before", "within", "mixed"] - 0.3
    assert found["after", "within", "affirmative"] == pytest.approx(found["before", "within", "affirmative"], abs=1e-3)
    assert len(points) == 200 and len(cosines) == 12


def test_map_is_the_same_each_time_and_keeps_categories_together():
    features = encode([""] * 100)
    places = place_texts(features, seed=0)
    assert np.array_equal(places, place_texts(features, seed=0))
    distance = np.linalg.norm(places[:, None] - places[None], axis=-1) + 1e9 * np.eye(100)
    assert np.mean(distance.argmin(axis=1) // 10 == np.arange(100) // 10) > 0.95


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("categories: [dog]\naffirmative: ['a {}']\n", "needs the lists categories, affirmative, negated"),
        ("categories: [dog]\naffirmative: ['no {}']\nnegated: ['no {}']\n", "'no {}' is no affirmative template"),
        ("categories: [dog]\naffirmative: ['a {}']\nnegated: ['a {}']\n", "'a {}' is no negated template"),
        ("categories: [dog]\naffirmative: ['a dog']\nnegated: ['no {}']\n", "'a dog' is no affirmative template"),
    ],
)
def test_template_that_is_wrong_is_named(tmp_path, text, message):
    path = tmp_path / "templates.yaml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_texts(str(path))
