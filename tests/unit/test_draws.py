import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

from crepebench.draws import N_TIERS, Draws, count_rows, draw, key_generator, read_draws, share_out, summarise_draws
from crepebench.schema import CANDIDATE_COUNTS, write_tables
from crepebench.vocabularies import KEY_FIELDS, atom_key

JAR, BOX = atom_key("object", "jar"), atom_key("object", "box")


def counts(*rows):
    """Rows of table CANDIDATE_COUNTS from (key, tier, part, n_candidates)."""
    found = [
        dict(zip(KEY_FIELDS, key, strict=True)) | {"tier": t, "part": p, "n_candidates": n, "n_drawn": None}
        for key, t, p, n in rows
    ]
    return pl.DataFrame(found, schema=pl.from_arrow(CANDIDATE_COUNTS.empty_table()).schema)


def test_few_candidates_are_all_drawn():
    assert share_out(np.array([3, 0, 4]), 7, np.random.default_rng(1)).tolist() == [3, 0, 4]


def test_draws_follow_the_candidates_of_the_shards():
    shares = [share_out(np.array([9_000, 1_000, 0]), 100, np.random.default_rng(seed)) for seed in range(200)]
    assert all(share.sum() == 100 for share in shares)
    assert np.mean(shares, axis=0) == pytest.approx([90, 10, 0], abs=1.0)


def test_at_most_the_budget_is_drawn_of_each_key_and_tier():
    table = counts((BOX, 1, 0, 50), (BOX, 1, 1, 50), (BOX, 2, 0, 9), (JAR, 1, 0, 4), (JAR, 1, 1, 5))
    drawn = draw(table, budget=10, seed=1)["n_drawn"].to_list()
    assert sum(drawn[:2]) == 10
    assert drawn[2:] == [9, 4, 5]


def test_the_draw_of_a_key_does_not_depend_on_other_keys():
    alone = draw(counts((JAR, 1, 0, 50), (JAR, 1, 1, 50)), 10, 1)["n_drawn"].to_list()
    beside = draw(counts((BOX, 1, 0, 90), (JAR, 1, 0, 50), (JAR, 1, 1, 50)), 10, 1)["n_drawn"].to_list()
    assert beside[1:] == alone


def choose(draws, pairs):
    columns = np.array(pairs).T if pairs else np.empty((3, 0), int)
    return list(draws.choose(columns[0], columns[1].astype(np.int32), columns[2].astype(np.int8)))


def generator_of(group):
    return key_generator(1, group)


def test_all_pairs_are_chosen_where_all_are_drawn():
    n = np.array([2, 0, 1, 0, 1, 0])
    draws = Draws(n, n, generator_of)
    assert choose(draws, [(4, 0, 1), (4, 1, 2), (6, 0, 3)]) == [(4, 1, [0, 1]), (6, 3, [0])]
    assert choose(draws, []) == []
    assert choose(draws, [(0, 0, 1)]) == [(0, 1, [0])]


def test_as_many_pairs_are_chosen_as_are_drawn_however_the_shard_is_sliced():
    n_candidates, n_drawn = np.array([1000, 0, 0]), np.array([17, 0, 0])
    pairs = [(row, 0, 1) for row in range(1000)]
    whole = [row for row, *_ in choose(Draws(n_candidates, n_drawn, generator_of), pairs)]
    sliced = Draws(n_candidates, n_drawn, generator_of)
    parts = [row for start in range(0, 1000, 7) for row, *_ in choose(sliced, pairs[start : start + 7])]
    assert whole == parts
    assert len(whole) == len(set(whole)) == 17


def test_every_candidate_is_as_likely_to_be_chosen():
    pairs = [(row, 0, 1) for row in range(10)]
    found = [
        row
        for seed in range(2000)
        for row, *_ in choose(
            Draws(np.array([10, 0, 0]), np.array([3, 0, 0]), lambda _, s=seed: key_generator(s)), pairs
        )
    ]
    shares = np.bincount(found, minlength=10) / 2000
    assert shares == pytest.approx([0.3] * 10, abs=0.04)


def test_the_draw_of_a_shard_is_read_by_key_and_tier(tmp_path):
    table = counts((BOX, 2, 0, 3), (JAR, 1, 0, 5), (JAR, 1, 1, 4)).with_columns(n_drawn=pl.col("n_candidates"))
    write_tables(str(tmp_path / "draws.parquet"), CANDIDATE_COUNTS, [table.to_arrow()])
    draws = read_draws(str(tmp_path / "draws.parquet"), 0, [BOX, JAR], 1)
    assert choose(draws, [(0, 0, 2), (1, 1, 1), (2, 1, 2)]) == [(0, 2, [0]), (1, 1, [1])]


def test_counts_are_written_by_key_and_tier():
    n = np.zeros(2 * N_TIERS, np.int64)
    n[[1, 3]] = 7, 2**40
    rows = count_rows(n, [BOX, JAR], 5).to_pylist()
    assert [(row["object"], row["tier"], row["part"], row["n_candidates"]) for row in rows] == [
        ("box", 2, 5, 7),
        ("jar", 1, 5, 2**40),
    ]
    assert count_rows(np.zeros(0, np.int64), [], 0).num_rows == 0


def max_rate(n_found, *tiers):
    rows = counts(*((JAR, tier, 0, n) for tier, n, _ in tiers)).with_columns(
        n_drawn=pl.Series([drawn for _, _, drawn in tiers], dtype=pl.Int64)
    )
    wave = rows.select(KEY_FIELDS).unique().with_columns(count=pl.lit(n_found, pl.Int64))
    return summarise_draws(rows, wave)["max_rate"].item()


def test_bound_is_near_three_in_the_number_drawn():
    assert max_rate(0, (1, 10**6, 100)) == pytest.approx(4.0 / 100, rel=0.03)  # -ln(0.05 / 3) = 4.09


def test_bound_is_exact_for_its_error():
    rate = max_rate(2, (1, 10**6, 60))
    assert binom.cdf(2, 60, rate) == pytest.approx(0.05 / 3, rel=1e-6)


def test_tiers_that_were_parsed_whole_add_nothing():
    assert max_rate(0, (1, 50, 50), (2, 950, 100)) == pytest.approx(0.95 * max_rate(0, (2, 950, 100)))
    assert max_rate(0, (1, 50, 50)) == 0.0


def test_more_found_than_drawn_bounds_nothing():
    assert max_rate(9, (1, 100, 5)) == 1.0
