"""Choose the retrieval sets that the gallery shows: few, of every sort, and those with the largest margins.

Everything is decided in the order of hashes of the sets' ids, so the choice depends on the sets, their scores and the
seed, and on no order of rows. It is not proportional: what is rare is shown as often as what is common.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import NamedTuple

import numpy as np
import polars as pl

from crepebench.families import FOIL_TYPES, SYSTEMATICITY
from crepebench.schema import RETRIEVAL_SETS, SCORES, read_table

KEY = ["set_id", "foil_type"]
MARGIN_SHARE = 0.5
"""Share of the gallery that sets of the largest margins fill at most."""


class Pool(NamedTuple):
    """The sets of a family that one model scored at least, in the order of their hashes.

    Attributes:
        family: family of the sets.
        keys: set_id and foil_type of each set.
        cells: (n_sets, n_groupings) labels that part the sets: by foil type and split of each corpus, or by foil type
            and number of atoms.
        ranks: (n_sets, n_models) ranks of the truth, NaN where the model did not score the set.
        margins: (n_sets, n_models), likewise.
        lost_kinds: places of the sets of which a foil of a kind is not beaten by the truth, by kind.
        n_sets: sets of the family, those that no model scored with them.
        pairs: places of models, and of those that were made from them by a correction or by tuning.
    """

    family: str
    keys: list[tuple[str, str]]
    cells: np.ndarray
    ranks: np.ndarray
    margins: np.ndarray
    lost_kinds: dict[str, np.ndarray]
    n_sets: int
    pairs: tuple[tuple[int, int], ...] = ()


def read_pool(
    family: str,
    sets_paths: Sequence[str],
    scores_paths: Sequence[str],
    split_of: Mapping[str, Mapping[int, str]],
    seed: int,
    pairs: Sequence[tuple[int, int]] = (),
) -> Pool:
    """Reads what the choice among the sets of a family depends on.

    Args:
        family: family of the sets.
        sets_paths: its tables RETRIEVAL_SETS.
        scores_paths: its table SCORES of each model.
        split_of: split of each region, by corpus; only systematicity.
        seed: seed of the order.
        pairs: places of models and of those made from them.

    Raises:
        ValueError: a table of scores lacks a set; names file and set.
    """
    columns = [*KEY, "region_id", "complexity", "foils"]
    kinds = pl.col("foils").list.eval(pl.element().struct.field("kind"))
    parts = [pl.from_arrow(read_table(path, RETRIEVAL_SETS, columns)) for path in sets_paths]
    sets = pl.concat([part.select(*columns[:-1], kinds=kinds) for part in parts])
    hashes = [_hash(seed, *key) for key in sets.select(KEY).iter_rows()]
    sets = sets.with_columns(hash=pl.Series(hashes, dtype=pl.Binary)).sort("hash").drop("hash")
    scores = [_read_scores(path, sets) for path in scores_paths]
    ranks, margins = (np.column_stack([found[name].to_numpy() for found in scores]) for name in ("rank", "margin"))
    is_scored = ~np.isnan(ranks).all(axis=1)
    kept = np.flatnonzero(is_scored)
    return Pool(
        family=family,
        keys=list(sets[kept].select(KEY).iter_rows()),
        cells=_cells(family, sets[kept], split_of),
        ranks=ranks[kept],
        margins=margins[kept],
        lost_kinds=_lost_kinds(sets, scores, np.cumsum(is_scored) - 1),
        n_sets=len(sets),
        pairs=tuple(map(tuple, pairs)),
    )


def _hash(seed: int, *names: str) -> bytes:
    return hashlib.sha256("\0".join((str(seed), *names)).encode()).digest()


def _read_scores(path: str, sets: pl.DataFrame) -> pl.DataFrame:
    """Returns rank and margin (NaN where there is none) and wins of each set by a model."""
    table = pl.from_arrow(read_table(path, SCORES)).with_columns(is_found=True)
    found = sets.select(KEY).join(table, on=KEY, how="left", maintain_order="left")
    if found["is_found"].null_count():
        set_id, foil_type = found.filter(pl.col("is_found").is_null()).select(KEY).row(0)
        raise ValueError(f"{path} does not speak of set {set_id} ({foil_type})")
    return found.select(pl.col("rank", "margin").fill_null(float("nan")), "wins")


def _lost_kinds(sets: pl.DataFrame, scores: Sequence[pl.DataFrame], places: np.ndarray) -> dict[str, np.ndarray]:
    """Returns `Pool.lost_kinds`.

    Args:
        sets: all sets, with the kinds of their foils.
        scores: what each model made of them.
        places: (n_sets,), place of each set in the pool; of no meaning for one that no model scored.
    """
    lost = [
        sets.select(place=pl.Series(places), kind="kinds", win=found["wins"])
        .filter(pl.col("win").list.len() > 0)
        .explode("kind", "win")
        .filter(pl.col("win") < 1)
        .select("place", "kind")
        for found in scores
    ]
    groups = pl.concat(lost).unique().sort("kind", "place").group_by("kind", maintain_order=True)
    return {kind: rows["place"].to_numpy() for (kind,), rows in groups}


def _cells(family: str, sets: pl.DataFrame, split_of: Mapping[str, Mapping[int, str]]) -> np.ndarray:
    """Returns the labels `Pool.cells`: the cells of the tables of the family."""
    foil_types = sets["foil_type"].to_list()
    if family == SYSTEMATICITY:
        regions = sets["region_id"].to_list()
        groupings = [[splits[region] for region in regions] for splits in split_of.values()] or [[""] * len(sets)]
    else:
        groupings = [sets["complexity"].to_list()]
    labels = [[f"{names[0]} {names[1]}" for names in zip(foil_types, grouping, strict=True)] for grouping in groupings]
    return np.array(labels, dtype=str).reshape(len(groupings), len(sets)).T


def restrict(pool: Pool, keys: Iterable[tuple[str, str]]) -> Pool:
    """Returns a pool of nothing but some of its sets."""
    wanted = set(keys)
    is_kept = np.array([key in wanted for key in pool.keys], bool)
    place = np.cumsum(is_kept) - 1
    return pool._replace(
        keys=[key for key in pool.keys if key in wanted],
        cells=pool.cells[is_kept],
        ranks=pool.ranks[is_kept],
        margins=pool.margins[is_kept],
        lost_kinds={kind: place[places[is_kept[places]]] for kind, places in pool.lost_kinds.items()},
    )


def choose(pools: Sequence[Pool], max_sets: int, largest_margins: int) -> list[tuple[str, str, str]]:
    """Chooses sets.

    First those with the largest margins: of each family and model the `largest_margins` that are most surely right and
    most surely wrong, the largest of all first, until half of the gallery is full. Then sets of every sort in turn: one
    of each `changes` and `sorts` that has none, then one of each that has but one, and so on. The changes of all
    families stand first, so that even a small gallery shows what a tuned model gained and lost against its base.

    Args:
        pools: the sets of each family.
        max_sets: sets to choose at most.
        largest_margins: sets of the largest margins on each side of each model and family.

    Returns:
        Family, set_id and foil_type of each chosen set, by family, foil type and hash.
    """
    sizes = [len(pool.keys) for pool in pools]
    starts = (np.cumsum(sizes) - sizes).tolist()
    chosen = np.zeros(sum(sizes), bool)
    sides = [side + start for pool, start in zip(pools, starts, strict=True) for side in _by_margin(pool)]
    most = min(max_sets, max(1, int(max_sets * MARGIN_SHARE)))
    for turn in range(largest_margins):
        for side in sides:
            if turn < len(side) and chosen.sum() < most:
                chosen[side[turn]] = True
    of_pools = list(zip(pools, starts, strict=True))
    groups = [sort + start for pool, start in of_pools for sort in changes(pool)]
    groups += [sort + start for pool, start in of_pools for sort in sorts(pool)]
    _choose_in_turn(groups, chosen, max_sets)
    found = []
    for pool, start in zip(pools, starts, strict=True):
        keys = [pool.keys[place] for place in np.flatnonzero(chosen[start : start + len(pool.keys)])]
        keys.sort(key=lambda key: FOIL_TYPES[pool.family].index(key[1]))
        found += [(pool.family, *key) for key in keys]
    return found


def _choose_in_turn(groups: list[np.ndarray], chosen: np.ndarray, max_sets: int) -> None:
    """Adds to what is chosen until each group has 1, 2, ... chosen members or all, or max_sets are chosen.

    Args:
        groups: ascending places of the members of each group; together they hold all places.
        chosen: (n_sets,) bool; it is changed.
        max_sets: bound of the number of chosen sets.
    """
    n_chosen, quota = int(chosen.sum()), 0
    while n_chosen < min(max_sets, len(chosen)):
        quota += 1
        for group in groups:
            open_ = group[~chosen[group]]
            missing = min(quota - (len(group) - len(open_)), len(open_), max_sets - n_chosen)
            if missing > 0:
                chosen[open_[:missing]] = True
                n_chosen += missing


def _by_margin(pool: Pool) -> Iterator[np.ndarray]:
    """Yields, for each model, the places of the sets that it gets right and wrong, the largest margins first."""
    for ranks, margins in zip(pool.ranks.T, pool.margins.T, strict=True):
        for places in (np.flatnonzero(ranks <= 1), np.flatnonzero(ranks > 1)):
            yield places[np.argsort(-np.abs(margins[places]), kind="stable")]


def changes(pool: Pool) -> Iterator[np.ndarray]:
    """Yields the places of the sets that the second model of each of the pool's pairs gains, and of those it loses."""
    right, wrong = pool.ranks <= 1, pool.ranks > 1
    for one, other in pool.pairs:
        yield np.flatnonzero(right[:, other] & wrong[:, one])
        yield np.flatnonzero(right[:, one] & wrong[:, other])


def sorts(pool: Pool) -> Iterator[np.ndarray]:
    """Yields the places of the sets of each sort, ascending.

    Sorts are: gained or lost between two models; a foil of a kind not beaten by a model; and in each cell of the
    family's tables (foil type and split of a corpus, or number of atoms) right or wrong by a model.
    """
    right, wrong = pool.ranks <= 1, pool.ranks > 1
    for one, other in permutations(range(right.shape[1]), 2):
        yield np.flatnonzero(right[:, other] & wrong[:, one])
    yield from pool.lost_kinds.values()
    for labels in pool.cells.T:
        for label in np.unique(labels):
            places = np.flatnonzero(labels == label)
            for results in (right, wrong):
                for of_model in results[places].T:
                    yield places[of_model]
