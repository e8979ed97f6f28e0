"""Draw a bounded number of each key's candidates, at random over the whole corpus.

Keys of common words that never stand together in the right way have candidates in nearly every shard, and parsing them
all costs nearly as much as parsing the corpus. With a budget, at most so many candidates of a key and tier of closeness
(`crepebench.scan`) are parsed. First each shard counts its candidates. Then the number that each shard parses is drawn
as if captions were drawn one by one from the whole corpus, without replacement. So what is not found in the sample is
rare among the candidates, by a bound that the vocabulary states (`max_rate`).
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np
import polars as pl
import pyarrow as pa

from crepebench.schema import CANDIDATE_COUNTS, read_table, write_tables
from crepebench.vocabularies import KEY_FIELDS

N_TIERS = 3
ERROR = 0.05
"""One less the confidence of the bound."""
ORDINAL_BITS = 40
"""A candidate is group << ORDINAL_BITS | its number among the candidates of its group in the shard."""


def key_generator(seed: int, *names: str | int) -> np.random.Generator:
    """Returns a generator for one key, so that its draw does not depend on other keys."""
    digest = hashlib.sha256("\0".join(map(str, names)).encode()).digest()
    return np.random.default_rng([seed, int.from_bytes(digest[:8], "big")])


def share_out(n_candidates: np.ndarray, n_drawn: int, rng: np.random.Generator) -> np.ndarray:
    """Draws captions at random from all shards, without replacement.

    Args:
        n_candidates: (n_parts,) int64, candidates of each shard.
        n_drawn: number to draw in all; fewer if there are fewer.
        rng: generator.

    Returns:
        (n_parts,) int64, number drawn from each shard.
    """
    if n_candidates.sum() <= n_drawn:
        return n_candidates.copy()
    return rng.multivariate_hypergeometric(n_candidates, n_drawn, method="marginals")


def draw(counts: pl.DataFrame, budget: int, seed: int) -> pl.DataFrame:
    """Draws the candidates to be parsed.

    Args:
        counts: rows of table CANDIDATE_COUNTS, sorted by key, tier and part.
        budget: candidates to draw for each key and tier.
        seed: seed of the draw.

    Returns:
        The same rows with `n_drawn`.
    """
    n_candidates = counts["n_candidates"].to_numpy()
    starts = np.flatnonzero(counts.select(pl.struct(*KEY_FIELDS, "tier").rle_id()).to_series().diff().fill_null(1))
    n_drawn = n_candidates.copy()
    names = counts.select(*KEY_FIELDS, "tier")
    for start, end in pairwise([*starts.tolist(), len(counts)]):
        of_group = n_candidates[start:end]
        if of_group.sum() > budget:
            n_drawn[start:end] = share_out(of_group, budget, key_generator(seed, *names.row(start)))
    return counts.with_columns(n_drawn=pl.Series(n_drawn, dtype=pl.Int64))


class Draws:
    """The candidates to be parsed of one shard: which of a key's candidates, by their order in the shard."""

    def __init__(
        self, n_candidates: np.ndarray, n_drawn: np.ndarray, generator_of: Callable[[int], np.random.Generator]
    ):
        """Chooses which.

        Args:
            n_candidates: (n_groups,) int64, candidates of each group (key and tier) in the shard.
            n_drawn: (n_groups,) int64, how many of them to draw.
            generator_of: gives the generator of a group.
        """
        chosen = [
            (group << ORDINAL_BITS) | generator_of(group).choice(n, size, replace=False, shuffle=False).astype(np.int64)
            for group, (n, size) in enumerate(zip(n_candidates.tolist(), n_drawn.tolist(), strict=True))
            if size
        ]
        self._chosen = np.sort(np.concatenate(chosen)) if chosen else np.empty(0, np.int64)
        self._n_passed = np.zeros(len(n_candidates), np.int64)

    def choose(self, rows: np.ndarray, key_ids: np.ndarray, tiers: np.ndarray) -> Iterator[tuple[int, int, list[int]]]:
        """Chooses among the next candidates of the shard.

        Args:
            rows: (n_pairs,) int64, captions, ascending.
            key_ids: (n_pairs,) int32, keys whose words they hold.
            tiers: (n_pairs,) int8, tiers of closeness, from 1.

        Yields:
            Caption, best tier, and keys for which it is drawn, captions in ascending order.
        """
        groups = key_ids.astype(np.int64) * N_TIERS + tiers - 1
        order = np.argsort(groups, kind="stable")
        of_group = groups[order]
        starts = np.flatnonzero(np.r_[True, of_group[1:] != of_group[:-1]]) if len(order) else order
        sizes = np.diff(np.r_[starts, len(order)])
        within = np.arange(len(order)) - np.repeat(starts, sizes)
        candidates = (of_group << ORDINAL_BITS) | (self._n_passed[of_group] + within)
        self._n_passed[of_group[starts]] += sizes
        place = np.minimum(np.searchsorted(self._chosen, candidates), max(len(self._chosen) - 1, 0))
        is_drawn = self._chosen[place] == candidates if len(self._chosen) else np.zeros(len(order), bool)
        found: dict[int, tuple[int, list[int]]] = {}
        for pair in np.sort(order[is_drawn]).tolist():
            row, tier = int(rows[pair]), int(tiers[pair])
            best, ids = found.get(row, (N_TIERS, []))
            found[row] = min(best, tier), [*ids, int(key_ids[pair])]
        for row, (tier, ids) in found.items():
            yield row, tier, ids


def summarise_draws(draws: pl.DataFrame, wave: pl.DataFrame) -> pl.DataFrame:
    """Returns what was drawn for each key, and what that says of the candidates that were not.

    Args:
        draws: rows of table CANDIDATE_COUNTS with `n_drawn`.
        wave: rows of table VOCABULARY: how often each key was found.

    Returns:
        KEY_FIELDS, n_candidates, n_drawn, max_rate (0-1): with 95% confidence no greater share of all candidates
        holds the key. Per tier it is the exact binomial (Clopper-Pearson) bound, the error shared out evenly among
        the tiers; it counts everything that was found for each tier, so it is never too small.
    """
    from scipy.stats import beta

    by_tier = draws.group_by(*KEY_FIELDS, "tier").agg(pl.col("n_candidates", "n_drawn").sum())
    by_tier = by_tier.join(wave.select(*KEY_FIELDS, "count"), on=KEY_FIELDS)
    n, size, found = (by_tier[name].to_numpy() for name in ("n_candidates", "n_drawn", "count"))
    most = np.where(found < size, beta.ppf(1 - ERROR / N_TIERS, found + 1, np.maximum(size - found, 1)), 1.0) * n
    most = np.where(size == n, np.minimum(found, n), most)
    by_tier = by_tier.with_columns(most=pl.Series(most))
    total = by_tier.group_by(KEY_FIELDS).agg(pl.col("n_candidates", "n_drawn", "most").sum())
    rate = (pl.col("most") / pl.col("n_candidates")).clip(0.0, 1.0)
    return total.select(*KEY_FIELDS, "n_candidates", "n_drawn", max_rate=rate)


def read_draws(draws_path: str, part: int, keys: Sequence[tuple[str, ...]], seed: int) -> Draws:
    """Reads the draw of one shard.

    Args:
        draws_path: table CANDIDATE_COUNTS with `n_drawn`.
        part: index of the shard.
        keys: keys, in the order of the scan's key ids.
        seed: seed of the draw.
    """
    rows = pl.from_arrow(read_table(draws_path, CANDIDATE_COUNTS)).filter(pl.col("part") == part)
    id_of = {key: key_id for key_id, key in enumerate(keys)}
    n_candidates, n_drawn = (np.zeros(len(keys) * N_TIERS, np.int64) for _ in range(2))
    for row in rows.iter_rows(named=True):
        group = id_of[tuple(row[field] for field in KEY_FIELDS)] * N_TIERS + row["tier"] - 1
        n_candidates[group], n_drawn[group] = row["n_candidates"], row["n_drawn"]

    def generator_of(group: int) -> np.random.Generator:
        return key_generator(seed, *keys[group // N_TIERS], group % N_TIERS + 1, part)

    return Draws(n_candidates, n_drawn, generator_of)


def count_rows(n_candidates: np.ndarray, keys: Sequence[tuple[str, ...]], part: int) -> pa.Table:
    """Returns rows of table CANDIDATE_COUNTS, sorted by key and tier.

    Args:
        n_candidates: (n_keys * N_TIERS,) int64, candidates of each key and tier.
        keys: sorted keys.
        part: index of the shard.
    """
    groups = np.flatnonzero(n_candidates)
    fields = zip(*(keys[group // N_TIERS] for group in groups), strict=True) if len(groups) else [()] * len(KEY_FIELDS)
    columns = {field: list(values) for field, values in zip(KEY_FIELDS, fields, strict=True)}
    columns |= {"tier": groups % N_TIERS + 1, "part": np.full(len(groups), part), "n_candidates": n_candidates[groups]}
    return pa.table({**columns, "n_drawn": pa.nulls(len(groups), pa.int64())}, schema=CANDIDATE_COUNTS)


def write_draws(count_paths: list[str], draws_path: str, cfg: str) -> None:
    """Draws the candidates to be parsed of all shards.

    Args:
        count_paths: tables CANDIDATE_COUNTS of all shards.
        draws_path: table CANDIDATE_COUNTS to write, sorted by key, tier and part.
        cfg: JSON of `budget` and `seed`.
    """
    config = json.loads(cfg)
    counts = pl.concat([pl.from_arrow(read_table(path, CANDIDATE_COUNTS)) for path in count_paths])
    counts = counts.sort(*KEY_FIELDS, "tier", "part")
    write_tables(draws_path, CANDIDATE_COUNTS, [draw(counts, config["budget"], config["seed"]).to_arrow()])
