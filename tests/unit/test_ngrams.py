import ast
import csv
import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from crepebench.candidate_texts import CandidateSet, CandidateSets, tokenise
from crepebench.measures import recall_at
from crepebench.ngrams import CHUNK, NgramScorer
from crepebench.scores import truth_ranks

MEASURED = {"atom": 47.3, "swap": 52.9, "negate": 99.0}
"""R@1 of such a model on the released productivity files, as it was measured before this project."""


def naive_counts(captions):
    """Pairs, first and second tokens of captions."""
    pairs, firsts, seconds = Counter(), Counter(), Counter()
    for caption in captions:
        tokens = ["<s>", *tokenise(caption), "</s>"]
        pairs.update(pairwise(tokens))
        firsts.update(tokens[:-1])
        seconds.update(tokens[1:])
    return pairs, firsts, seconds


def naive_scores(sets, known):
    """The scores of each set's texts under the captions of the other images."""
    n_types = len({token for found in known for token in tokenise(found.truth)}) + 2
    scores = []
    for found in sets:
        captions = {(s.image_id, s.truth) for s in known if s.image_id != found.image_id}
        pairs, firsts, seconds = naive_counts([caption for _, caption in captions])
        total = sum(seconds.values())
        for text in (found.truth, *found.foils):
            tokens = ["<s>", *tokenise(text), "</s>"]
            score = 0.0
            for first, second in pairwise(tokens):
                of_pair = pairs[first, second] / firsts[first] if firsts[first] else 0.0
                score += math.log(0.7 * of_pair + 0.3 * (seconds[second] + 0.5) / (total + 0.5 * n_types))
            scores.append(score)
    return np.array(scores)


def random_sets(n, seed):
    rng = np.random.default_rng(seed)
    words = np.array(["a", "red", "jar", "on", "cup", "blue,", "."])

    def text():
        return " ".join(rng.choice(words, size=rng.integers(0, 6)))

    return [CandidateSet(int(rng.integers(n // 2)), text(), (text(), text() + " unknown")) for _ in range(n)]


def test_an_image_is_left_out_as_if_its_captions_had_not_been_counted():
    sets = random_sets(23, seed=1)
    np.testing.assert_allclose(NgramScorer().cross_score(sets), naive_scores(sets, sets), atol=1e-8)


def test_texts_are_scored_by_all_captions_of_the_sets_that_it_was_fitted_on():
    known, sets = random_sets(11, seed=2), [found._replace(image_id=-1) for found in random_sets(7, seed=3)]
    scorer = NgramScorer()
    scorer.fit(known)
    np.testing.assert_allclose(scorer.score(CandidateSets.of(sets).texts), naive_scores(sets, known), atol=1e-8)


def test_a_caption_counts_once_an_image():
    sets = random_sets(9, seed=4)
    first, second = NgramScorer(), NgramScorer()
    first.fit(sets)
    second.fit([*sets, *sets[:4]])
    texts = ["a red jar", "cup on cup"]
    assert first.score(texts).tolist() == second.score(texts).tolist()


def test_chunks_change_nothing(monkeypatch):
    sets = random_sets(23, seed=5)
    whole = NgramScorer().cross_score(sets)
    monkeypatch.setattr("crepebench.ngrams.CHUNK", 4)
    assert NgramScorer().cross_score(sets).tolist() == whole.tolist()
    assert CHUNK > 4


def test_a_model_of_nothing_finds_all_words_alike():
    scorer = NgramScorer()
    scorer.fit([])
    assert len(set(scorer.score(["a jar", "red cup"]))) == 1


def test_released_productivity_sets_are_solved_as_was_measured(shared_data):
    sets, kinds = [], []
    for path in sorted((shared_data / "crepe_productivity").rglob("*.csv")):
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                foils = tuple(sorted(ast.literal_eval(row["hard_negs"])))
                sets.append(CandidateSet(int(row["image_id"]), row["caption"], foils))
                kinds.append(path.parent.name)
    assert len(sets) == 39_715
    scores = NgramScorer().cross_score(sets).reshape(len(sets), 6)
    ranks = truth_ranks(scores)
    for kind, measured in MEASURED.items():
        assert recall_at(ranks[np.array(kinds) == kind], 1) == pytest.approx(measured, abs=3.0)
