import numpy as np
import pytest

from crepebench import pool_places as module
from crepebench.pool_places import Places, chance_of_hit, hit_rows, missed_rows, pool_places
from crepebench.scores import score_by_cosine

from .retrieval_rows import unit

SIZE = 11


def random_search(seed, levels=3):
    """Queries, candidates and truths, with features that often tie."""
    rng = np.random.default_rng(seed)
    queries, candidates = (unit(rng.integers(1, levels, size=(n, 4))) for n in (SIZE, 3 * SIZE))
    truths = sorted({(query, int(place)) for query in range(SIZE) for place in rng.integers(0, 3 * SIZE, 4)})
    return queries, candidates, np.array(truths)


def naive_places(query, candidates, true):
    scores = [round(float(np.dot(query.astype(float), one.astype(float))), 12) for one in candidates]
    best = max(scores[place] for place in true)
    false = [score for place, score in enumerate(scores) if place not in true]
    return sum(s > best for s in false), sum(s == best for s in false), sum(scores[place] == best for place in true)


@pytest.mark.parametrize("block", [1, 50, 10**6])
@pytest.mark.parametrize("score", [None, score_by_cosine])
@pytest.mark.parametrize("seed", range(3))
def test_places_are_those_of_a_naive_search_whatever_the_blocks(seed, score, block, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", block)
    monkeypatch.setattr(module, "PAIRS_PER_CALL", 7)
    queries, candidates, truths = random_search(seed)
    expected = [
        naive_places(query, candidates, set(truths[truths[:, 0] == number, 1].tolist()))
        for number, query in enumerate(queries)
    ]
    assert list(zip(*pool_places(queries, candidates, truths, score), strict=True)) == expected


def test_chance_is_the_share_of_hits_of_random_draws():
    rng, n_draws = np.random.default_rng(0), 4_000
    for n_true, n_candidates, k in ((3, 20, 1), (3, 20, 5), (5, 7, 5)):
        drawn = np.mean([(rng.permutation(n_candidates)[:k] < n_true).any() for _ in range(n_draws)])
        assert chance_of_hit(*np.array([[n_true], [n_candidates], [k]]))[0] == pytest.approx(drawn, abs=0.03)
    found = chance_of_hit(np.array([1, 1, 1]), np.array([4, 20, 20]), np.array([5, 5, -1]))
    assert found.tolist() == pytest.approx([1.0, 0.25, 0.0])


@pytest.mark.parametrize(
    ("n_better", "n_tied", "n_true_tied", "k"), [(0, 2, 1, 1), (2, 3, 2, 4), (6, 0, 1, 5), (3, 4, 1, 2), (0, 0, 1, 1)]
)
def test_ties_split_is_the_mean_over_random_orders(n_better, n_tied, n_true_tied, k):
    rng = np.random.default_rng(1)
    orders = [rng.permutation(n_tied + n_true_tied) for _ in range(4_000)]
    drawn = np.mean([n_better + np.flatnonzero(order < n_true_tied)[0] < k for order in orders])
    places = Places(*np.array([[n_better], [n_tied], [n_true_tied]]))
    (row,) = hit_rows(["i"], places, {"at_k": k}, [True])
    assert row["ties_split"] == pytest.approx(drawn, abs=0.03)
    assert row["strict"] == (n_better + n_tied < k)
    assert (row["item_id"], row["metric"], row["is_cut"], row["reason"]) == ("i", "at_k", True, "")


def test_rows_fit_their_table(tmp_path):
    from crepebench.schema import BENCHMARK_SCORES, read_table, write_table

    places = Places(*np.array([[0, 1], [0, 0], [1, 1]]))
    rows = [*hit_rows(["a", "b"], places, {"at_1": 1, "at_5": 5}, [False, False]), *missed_rows("c", ["at_1"], "lost")]
    write_table(str(tmp_path / "scores.parquet"), BENCHMARK_SCORES, rows)
    found = read_table(str(tmp_path / "scores.parquet"), BENCHMARK_SCORES).to_pylist()
    assert [(row["item_id"], row["metric"], row["strict"]) for row in found] == [
        ("a", "at_1", 1.0),
        ("a", "at_5", 1.0),
        ("b", "at_1", 0.0),
        ("b", "at_5", 1.0),
        ("c", "at_1", None),
    ]
