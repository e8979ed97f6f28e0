from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from crepebench.blind_scorers import WordScorer, cross_fit, pairwise_accuracy
from crepebench.candidate_texts import CandidateSet, CandidateSets
from crepebench.refinement import choose_foils, choose_randomly, count_differences, draw_ranks, even_out

COLOURS = "red blue green yellow purple black".split()
KINDS = "jar cup box hat pen bell".split()
N_SETS = 3000


def biased_sets(n_sets=N_SETS, seed=1):
    """Sets in which some words are truths more often than foils, with all other words as candidates."""
    rng = np.random.default_rng(seed)
    weights = np.array([4.0, 2.0, 1.0, 1.0, 1.0, 1.0])
    sets = []
    for i in range(n_sets):
        colour, kind = (words[rng.choice(6, p=weights / weights.sum())] for words in (COLOURS, KINDS))
        foils = [f"a {other} {kind}" for other in COLOURS if other != colour]
        foils += [f"a {colour} {other}" for other in KINDS if other != kind]
        sets.append(CandidateSet(i // 3, f"a {colour} {kind}", tuple(foils[j] for j in rng.permutation(10))))
    return CandidateSets.of(sets)


def chosen_sets(sets, choice):
    return CandidateSets.of(
        [
            CandidateSet(found.image_id, found.truth, tuple(found.foils[j] for j in choice.taken[i]))
            for i, found in enumerate(sets)
            if choice.is_kept[i]
        ]
    )


def accuracy(sets):
    return pairwise_accuracy(cross_fit(WordScorer, sets, 5, 1), sets)


def test_choice_hides_what_a_random_choice_shows():
    sets = biased_sets()
    choice = choose_foils(sets, None, 4, 0.3, seed=1)
    first = CandidateSets.of([CandidateSet(found.image_id, found.truth, found.foils[:4]) for found in sets])
    assert accuracy(first) > 0.6
    assert accuracy(chosen_sets(sets, choice)) < 0.55
    assert choice.is_kept.mean() >= 0.7


def test_differences_of_chance_are_left_alone():
    rng = np.random.default_rng(3)
    sets = []
    for i in range(N_SETS):
        colour, kind = (words[rng.integers(6)] for words in (COLOURS, KINDS))
        foils = [f"a {other} {kind}" for other in COLOURS if other != colour]
        foils += [f"a {colour} {other}" for other in KINDS if other != kind]
        sets.append(CandidateSet(i, f"a {colour} {kind}", tuple(foils[j] for j in rng.permutation(10))))
    sets = CandidateSets.of(sets)
    choice = choose_foils(sets, None, 4, 0.3, seed=1)
    assert choice.is_kept.all()
    assert 0.47 < accuracy(chosen_sets(sets, choice)) < 0.53


def test_each_set_has_distinct_candidates_of_its_own():
    choice = choose_foils(biased_sets(200), None, 4, 0.3, seed=1)
    assert all(len(set(row)) == 4 for row in choice.taken.tolist())
    assert choice.taken.min() >= 0 and choice.taken.max() < 10


def test_truth_has_each_rank_by_likelihood_equally_often():
    sets = biased_sets(500)
    scores = np.random.default_rng(2).normal(size=len(sets.texts))
    choice = choose_foils(sets, scores, 4, 0.0, seed=1)
    by_set = scores.reshape(len(sets), 11)
    above = [(row[1:][taken] > row[0]).sum() for row, taken in zip(by_set, choice.taken, strict=True)]
    counts = Counter(above)
    assert set(counts) == set(range(5))
    assert max(counts.values()) - min(counts.values()) < 60


def test_choice_depends_on_the_seed_and_nothing_else():
    sets = biased_sets(300)
    one, again, other = (choose_foils(sets, None, 4, 0.3, seed) for seed in (1, 1, 2))
    assert np.array_equal(one.taken, again.taken)
    assert not np.array_equal(one.taken, other.taken)


def test_word_that_no_foil_can_hold_costs_sets_but_no_more_than_allowed():
    sets = [CandidateSet(i, "a red jar", tuple(f"a blue {kind}" for kind in KINDS)) for i in range(100)]
    sets += list(biased_sets(300))
    most = int(0.2 * 400)
    choice = choose_foils(CandidateSets.of(sets), None, 4, 0.2, seed=1)
    assert 0 < (~choice.is_kept).sum() <= most
    assert (~choice.is_kept)[:100].sum() > 0.7 * (~choice.is_kept).sum()


def test_no_set_makes_no_choice():
    choice = choose_foils(CandidateSets.of([]), None, 4, 0.3, 1)
    assert choice.taken.shape == (0, 4)


def test_differences_count_words_neighbours_and_lengths():
    sets = CandidateSets.of([CandidateSet(1, "a red jar", ("an orange jar", "a red cup"))])
    found = count_differences(sets)
    sizes = np.diff(found.starts)
    assert sizes.tolist() == [14, 8]
    assert all(found.values[a:b].sum() == 0 for a, b in pairwise(found.starts))


@pytest.mark.parametrize(
    ("n_above", "n_below", "ranks"),
    [([4, 4, 4], [4, 4, 4], [0, 1, 2]), ([0, 4, 4], [4, 0, 4], [0, 2, 1]), ([1, 1, 4], [9, 9, 9], [0, 1, 2])],
)
def test_ranks_are_spread_as_far_as_candidates_allow(n_above, n_below, ranks):
    found = draw_ranks(np.array(n_above), np.array(n_below), 2, np.arange(3))
    assert found.tolist() == ranks


def test_random_choice_takes_as_many_likelier_foils_as_asked():
    first, above = np.array([0, 4, 8]), np.array([1, 0, 1, 0, 0, 0, 1, 1], bool)
    taken = choose_randomly(first, above, np.array([2, 1]), 3, np.random.default_rng(1))
    assert above[taken].sum(axis=1).tolist() == [2, 1]
    assert all(len(set(row)) == 3 for row in taken.tolist())


def test_sets_of_the_commonest_rank_are_lost_first():
    ranks = np.repeat([0, 1, 2], [60, 20, 20])
    kept = even_out(ranks, 2, 40, np.arange(100))
    assert np.bincount(ranks[kept]).tolist() == [44, 20, 20]
    assert even_out(ranks, 2, 10, np.arange(100)).sum() == 90
    assert even_out(ranks, 2, 0, np.arange(100)).all()


def test_ranks_that_differ_by_chance_cost_no_set():
    assert even_out(np.repeat([0, 1, 2], [40, 30, 30]), 2, 50, np.arange(100)).all()
