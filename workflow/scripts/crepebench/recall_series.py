"""Series of recalls at 1 over models, one for each cell: the paper's, and those of our own tables."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from crepebench.families import FOIL_TYPES, PRODUCTIVITY, SYSTEMATICITY
from crepebench.productivity_plots import complexity_rows
from crepebench.published import PAPER, read_recalls
from crepebench.splits import SC, UC

PUBLISHED, MEASURED = "published", "measured"
GAP = "gap"
"""In place of a split: R@1 on UC less R@1 on SC."""
GAP_DECIMALS = 6
"""Recalls have two; rounding makes equal gaps equal numbers, so that they tie."""
SPLITS = (SC, UC, GAP)


class Series(NamedTuple):
    """R@1 of several models in one cell: percent, or points for the gap.

    Attributes:
        recalls: PUBLISHED or MEASURED.
        split: SC, UC or GAP; "" for productivity.
        complexity: "" for systematicity.
        values: by model.
    """

    recalls: str
    protocol: str
    family: str
    foil_type: str
    split: str
    complexity: str
    values: dict[str, float]

    @property
    def key(self) -> tuple[str, ...]:
        """What names the cell."""
        return self[:-1]


def published_series(recalls_path: str) -> Iterator[Series]:
    """Yields the paper's cells, atom before comp before combined, the gap behind SC and UC.

    Args:
        recalls_path: resources/published/recalls.csv.
    """
    found: dict[tuple[str, str, str, str], dict[str, float]] = defaultdict(dict)
    for (family, model, foil_type, split, complexity), row in read_recalls(recalls_path).items():
        found[family, foil_type, split, complexity][model] = float(row["recall_at_1"])
    cells = {(PUBLISHED, PAPER, *key): values for key, values in found.items()}
    yield from _ordered(cells)


def measured_series(systematicity: Sequence[dict], productivity: Sequence[dict]) -> Iterator[Series]:
    """Yields the cells of our own tables; a model counts on the splits of the corpora that it was trained on.

    Args:
        systematicity: rows of systematicity.csv.
        productivity: rows of productivity.csv.
    """
    # ASSUME: a model with several training corpora has a recall on the splits of each; it counts once, with their mean.
    found: dict[tuple[str, ...], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in systematicity:
        if "cross_corpus" not in row["marks"].split() and row["split"] in SPLITS:
            key = (MEASURED, row["protocol"], SYSTEMATICITY, row["foil_type"], row["split"], "")
            found[key][row["model"]].append(float(row["recall_at_1"]))
    lines: dict[tuple[str, str, str], list[dict]] = defaultdict(list)
    for row in productivity:
        lines[row["protocol"], row["foil_type"], row["model"]].append(row)
    for (protocol, foil_type, model), rows in lines.items():
        for row in complexity_rows(rows):
            key = (MEASURED, protocol, PRODUCTIVITY, foil_type, "", row["complexity"])
            found[key][model].append(float(row["recall_at_1"]))
    yield from _ordered(
        {key: {model: float(np.mean(v)) for model, v in values.items()} for key, values in found.items()}
    )


def _ordered(cells: Mapping[tuple[str, ...], Mapping[str, float]]) -> Iterator[Series]:
    """Yields cells in the order of the tables, with those of the gaps."""
    full = {key: dict(values) for key, values in cells.items()}
    for *names, split, complexity in cells:
        seen, unseen = (cells.get((*names, each, complexity), {}) for each in (SC, UC))
        if split == SC and seen.keys() & unseen.keys():
            both = [model for model in seen if model in unseen]
            gaps = {model: round(unseen[model] - seen[model], GAP_DECIMALS) for model in both}
            full[*names, GAP, complexity] = gaps

    def place(key: tuple[str, ...]) -> tuple:
        protocol, family, foil_type, split, complexity = key[1:]
        splits = SPLITS.index(split) if split else 0
        types = list(FOIL_TYPES).index(family), FOIL_TYPES[family].index(foil_type)
        return protocol, *types, splits, int(complexity or 0)

    for key in sorted(full, key=place):
        yield Series(*key, full[key])
