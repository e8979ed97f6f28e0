"""Which items make a cell of benchmarks.csv, and how they are averaged: over all items, or over groups of them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from crepebench.benchmark_items import IMAGE_TAG

ALL = "all"
MACRO = "macro"
MOST_VALUES = 100
"""Values of a tag up to which each has a row of its own, unless the manifest asks for them."""


class Cell(NamedTuple):
    """Items that one row averages.

    Attributes:
        subset: what the row calls them.
        average: "" where all items count alike; else what the metric's name ends in: groups count alike.
        groups: places of the items, group by group.
    """

    subset: str
    average: str
    groups: list[np.ndarray]


def cells_of(items: Sequence[Mapping], macros: Mapping[str, Mapping]) -> Iterator[Cell]:
    """Yields the cells of items that share a metric.

    First all items, then each subset, then each value of each tag as `<tag>=<value>`. Where items of several subsets
    are together, `macro` averages the subsets. `macro_<tag>` averages the values of a tag, of all items and of each
    subset that has several values.

    Args:
        items: rows of table BENCHMARK_ITEMS.
        macros: by tag, `least`: items that a value needs to count in its average (1), and `rows`: whether each value
            has a row (up to MOST_VALUES values).
    """
    everything = np.arange(len(items))
    subsets = _split([item["subset"] for item in items], everything)
    tags = [{tag["name"]: tag["value"] for tag in item["tags"]} for item in items]
    names = sorted({name for found in tags for name in found} - {IMAGE_TAG})
    yield from _with_macro(ALL, everything, subsets)
    parts = {ALL: everything, **(subsets if len(subsets) > 1 else {})}
    for subset, places in subsets.items():
        if subset != ALL:
            yield Cell(subset, "", [places])
    for name in names:
        least = macros.get(name, {}).get("least", 1)
        values = [found.get(name) for found in tags]
        for subset, places in parts.items():
            groups = [group for group in _split(values, places).values() if len(group) >= least]
            if len(groups) > 1:
                yield Cell(subset, f"{MACRO}_{name}", groups)
    for name in names:
        found = _split([tag.get(name) for tag in tags], everything)
        if macros.get(name, {}).get("rows", len(found) <= MOST_VALUES):
            for value, places in found.items():
                within = {subset: np.intersect1d(group, places) for subset, group in subsets.items()}
                yield from _with_macro(f"{name}={value}", places, {k: v for k, v in within.items() if len(v)})


def _with_macro(name: str, places: np.ndarray, subsets: Mapping[str, np.ndarray]) -> Iterator[Cell]:
    yield Cell(name, "", [places])
    if len(subsets) > 1:
        yield Cell(name, MACRO, list(subsets.values()))


def _split(values: Sequence[str | None], places: np.ndarray) -> dict[str, np.ndarray]:
    """Returns places by value, sorted by value; places without a value are in none."""
    found: dict[str, list[int]] = {}
    for place in places.tolist():
        if values[place] is not None:
            found.setdefault(values[place], []).append(place)
    return {value: np.array(found[value]) for value in sorted(found)}
