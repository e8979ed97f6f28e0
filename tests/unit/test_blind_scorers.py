import numpy as np
import pytest

from crepebench.blind_scorers import (
    CombinationScorer,
    CountScorer,
    RandomWordScorer,
    Scorer,
    SurfaceScorer,
    WordScorer,
    count_differences,
    cross_fit,
    fit_pairs,
    folds_of,
    pairwise_accuracy,
)
from crepebench.candidate_texts import CandidateSet, CandidateSets
from crepebench.ngrams import NgramScorer

COLOURS, KINDS = ("red", "blue", "green", "white"), ("jar", "cup", "owl", "box")
PARTS = [lambda: CountScorer("fewest_words"), SurfaceScorer, lambda: RandomWordScorer(1), WordScorer, NgramScorer]


def noise_sets(n, seed, n_images=40):
    """Sets whose truth is drawn as its foils are."""
    rng = np.random.default_rng(seed)

    def text():
        return f"a {rng.choice(COLOURS)} {rng.choice(KINDS)}"

    return [CandidateSet(int(rng.integers(n_images)), text(), (text(), text(), text())) for _ in range(n)]


def change_foils(sets, change):
    return [found._replace(foils=tuple(map(change, found.foils))) for found in sets]


def accuracy(make, sets):
    return pairwise_accuracy(cross_fit(make, sets, 5, 1), CandidateSets.of(sets))


@pytest.mark.parametrize("make", [*PARTS, lambda: CombinationScorer(PARTS, 1)])
def test_no_scorer_tells_truth_from_foil_where_both_are_drawn_alike(make):
    assert accuracy(make, noise_sets(1500, seed=1)) == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize(
    ("change", "solvers"),
    [
        (lambda text: f"{text} here", {"fewest_words", "surface", "words", "ngram", "combination"}),
        (lambda text: text.capitalize(), {"surface", "combination"}),
        (lambda text: text.replace("a ", "an ", 1), {"surface", "words", "ngram", "combination"}),
        (lambda text: " ".join(text.split()[::-1]), {"ngram", "combination"}),
    ],
    ids=["one word more", "capital", "article", "order"],
)
def test_a_leak_is_found_by_the_scorers_that_can_see_it(change, solvers):
    sets = change_foils(noise_sets(600, seed=2), change)
    found = {make().name: accuracy(make, sets) for make in [*PARTS, lambda: CombinationScorer(PARTS, 1)]}
    assert {name for name, value in found.items() if value > 0.9} - {"random_words"} == solvers


def test_logistic_regression_is_at_its_optimum():
    rng = np.random.default_rng(3)
    differences = rng.normal(size=(200, 5)) + np.array([1.0, 0, 0, -0.5, 0])
    weights = fit_pairs(differences)
    wins = 1 / (1 + np.exp(differences @ weights))
    np.testing.assert_allclose(weights, differences.T @ wins, atol=0.05)  # gradient of the penalty and of the loss
    assert fit_pairs(np.empty((0, 3))).tolist() == [0.0, 0.0, 0.0]


def test_differences_are_counted_pair_by_pair():
    sets = CandidateSets.of([CandidateSet(1, "a red jar", ("a a jar", "jar red a")), CandidateSet(2, "b", ("b c",))])
    vocabulary, values, starts = sets.texts.tokens
    assert vocabulary == ["a", "red", "jar", "b", "c"]
    found = count_differences(values, starts, len(vocabulary), sets).toarray()
    assert found.tolist() == [[-1, 1, 0, 0, 0], [0, 0, 0, 0, -1]]  # the second pair has the same words


def test_words_that_were_not_learned_weigh_nothing():
    scorer = WordScorer()
    scorer.fit([CandidateSet(1, "a jar", ("a cup",))] * 9)
    jar, cup, owl, both = scorer.score(["a jar", "cup", "an owl", "cup jar"])
    assert jar > owl == 0.0 > cup
    assert both == pytest.approx(jar + cup)


def test_random_weights_depend_on_the_word_and_the_seed_alone():
    texts = ["red jar", "jar red", "cup"]
    first, second = RandomWordScorer(1).score(texts), RandomWordScorer(2).score(texts)
    assert first[0] == first[1] != second[0]
    assert RandomWordScorer(1).score(texts[2:]).tolist() == first[2:].tolist()


def test_random_words_put_the_truth_of_a_star_first_less_often_than_chance():
    rng = np.random.default_rng(4)
    wins = []
    for i in range(2000):
        words = [f"{i}x{j}" for j in range(4)]
        foils = [" ".join([*words[:j], f"{i}y{rng.integers(1000)}", *words[j + 1 :]]) for j in range(4)]
        truth, *others = RandomWordScorer(1).score([" ".join(words), *foils])
        wins.append(truth > max(others))
    assert np.mean(wins) == pytest.approx(1 / 16, abs=0.02)


class ImageScorer(Scorer):
    """Knows the truths that it was fitted on, as a leak between folds would."""

    name = "leak"
    learns = True

    def fit(self, sets):
        self._known = {found.truth for found in sets}

    def score(self, texts):
        return np.array([float(text in self._known) for text in texts])


def test_no_set_is_scored_by_a_model_that_has_seen_its_image():
    sets = [CandidateSet(i % 11, f"truth of {i % 11}", (f"foil of {i}",)) for i in range(50)]
    assert not cross_fit(ImageScorer, sets, 4, 1).any()


def test_folds_depend_on_the_images_alone():
    ids = np.array([5, 9, 5, 2, 7, 9, 1])
    folds = folds_of(ids, 3, 1)
    assert folds[0] == folds[2] and folds[1] == folds[5]
    assert folds_of(ids[::-1], 3, 1).tolist() == folds[::-1].tolist()
    assert sorted(np.bincount(folds_of(np.arange(20), 3, 1))) == [6, 7, 7]


def test_scores_do_not_depend_on_how_sets_are_given():
    sets = noise_sets(60, seed=5, n_images=9)
    flat = CandidateSets.of(sets)
    assert flat.texts.tokens  # read before the folds
    for make in (WordScorer, SurfaceScorer, lambda: CombinationScorer(PARTS, 1)):
        np.testing.assert_allclose(cross_fit(make, sets, 3, 1), cross_fit(make, flat, 3, 1), atol=1e-6)


def test_combination_knows_how_well_each_part_did_on_sets_that_it_had_not_seen():
    sets = change_foils(noise_sets(300, seed=6), lambda text: f"{text} here")
    combination = CombinationScorer(PARTS, 1)
    combination.fit(sets)
    assert list(combination.accuracies) == ["fewest_words", "surface", "random_words", "words", "ngram", "combination"]
    assert combination.accuracies["fewest_words"] == 1.0
    assert combination.accuracies["words"] == accuracy(WordScorer, sets)
    found = combination.score_all(["a red jar", "a red jar here"])
    assert found["combination"][0] > found["combination"][1]
    assert found["combination"].tolist() == combination.score(["a red jar", "a red jar here"]).tolist()


def test_scorers_that_have_learned_nothing_call_everything_a_tie():
    for make in (SurfaceScorer, WordScorer, lambda: CombinationScorer([WordScorer], 1)):
        scorer = make()
        scorer.fit([])
        assert scorer.score(["a jar", "two red cups"]).tolist() == [0.0, 0.0]
