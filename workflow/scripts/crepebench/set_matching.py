"""Match the sets of SC and UC, so that a gap cannot come from harder sets.

Captions with unseen compounds may be longer, hold rarer words, or give other kinds of foils. Where the config says so,
both splits are cut down to sets of which the other has as many with the same length, frequency and foil kinds.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

import numpy as np

from crepebench.splits import SC, UC

N_BINS = 4
"""Bins of frequency, each with as many sets."""

Cell = tuple[str, str, str, list[dict]]
"""Protocol, foil_type, split and rows, as `crepebench.tables.Queries.cells` yields them."""


def frequencies(rows: list[dict]) -> np.ndarray:
    """Returns how common the words of each caption are: the mean logarithm of their counts in all captions."""
    counts = Counter(word for row in rows for word in row["caption"].split())
    return np.array([np.mean([np.log(counts[word]) for word in row["caption"].split()]) for row in rows])


def strata(rows: list[dict]) -> list[tuple]:
    """Returns what sets must share to match: words of the caption, bin of frequency, and number of foils by kind."""
    found = frequencies(rows)
    edges = np.quantile(found, np.linspace(0, 1, N_BINS + 1)[1:-1])
    bins = np.searchsorted(edges, found, side="right")
    return [
        (len(row["caption"].split()), int(place), tuple(sorted(Counter(foil["kind"] for foil in row["foils"]).items())))
        for row, place in zip(rows, bins, strict=True)
    ]


def match_rows(seen: list[dict], unseen: list[dict], seed: int) -> tuple[list[dict], list[dict]]:
    """Returns the sets of both splits that have a partner in the other; which of several is drawn by their ids."""
    groups: dict[tuple, tuple[list, list]] = defaultdict(lambda: ([], []))
    n_seen = len(seen)
    for i, (row, stratum) in enumerate(zip([*seen, *unseen], strata([*seen, *unseen]), strict=True)):
        groups[stratum][i >= n_seen].append(row)
    kept = set()
    for pair in groups.values():
        for rows in pair:
            drawn = sorted(rows, key=lambda row: hashlib.sha256(f"{seed} {row['set_id']}".encode()).digest())
            kept.update(row["set_id"] for row in drawn[: min(map(len, pair))])
    return [row for row in seen if row["set_id"] in kept], [row for row in unseen if row["set_id"] in kept]


def match_cells(cells: Iterable[Cell], seed: int) -> Iterator[Cell]:
    """Yields the cells of one corpus, those of SC and UC cut down to sets that match; other splits stay."""
    cells = list(cells)
    rows_of = {cell[:3]: cell[3] for cell in cells}
    for protocol, foil_type, split, rows in cells:
        if split in (SC, UC):
            pair = [rows_of.get((protocol, foil_type, name), []) for name in (SC, UC)]
            rows = match_rows(*pair, seed)[split == UC]
        if rows:
            yield protocol, foil_type, split, rows
