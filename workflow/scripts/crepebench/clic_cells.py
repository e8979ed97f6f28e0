"""Rows of clic.csv about one model: what it makes of a benchmark or of CREPE's sets, and what it gains over its base.

Values and their intervals are those of benchmarks.csv, systematicity.csv, systematicity_gap.csv and productivity.csv,
to the last digit: the same functions give them with the same seeds. Gains are differences to the base item by item, so
their intervals are narrower than those of the values that they compare.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from crepebench.benchmark_blind import image_numbers
from crepebench.benchmark_cells import cells_of
from crepebench.benchmark_choices import CHOSEN
from crepebench.benchmark_tables import STRICT, TIES_SPLIT, benchmark_rows, mean_of_groups, metrics_of, results_of
from crepebench.measures import bootstrap_means, by_kind_rows, cell_seed, interval, measures_row
from crepebench.negation_cells import Bootstrap, mean_of
from crepebench.negation_tables import GAIN
from crepebench.productivity_tables import ALL, productivity_cells
from crepebench.splits import SC, UC
from crepebench.systematicity_tables import Queries, compared_cells, gap_row

RECALL, PAIRWISE, GAP = "recall_at_1", "pairwise_accuracy", "gap"
Rows = Sequence[Mapping]
Cells = dict[tuple[str, ...], list[dict]]
"""Scored queries by protocol, foil type and split, or number of atoms."""


def benchmark_values(
    model: str, benchmark: str, items: Rows, scores: Rows, manifest: Mapping, draw: Bootstrap
) -> Iterator[dict]:
    """Yields the rows of benchmarks.csv of a model and benchmark, but those with ties split.

    Args:
        model: name of the model.
        benchmark: name of the benchmark.
        items: rows of table BENCHMARK_ITEMS.
        scores: rows of table BENCHMARK_SCORES of the model.
        manifest: of the reader.
        draw: how intervals are drawn.
    """
    options = {"n_resamples": draw.n_resamples, "seed": draw.seed, "seen_images": [], "manifest": manifest}
    for row in benchmark_rows(model, benchmark, items, scores, [], options):
        if not row["metric"].endswith(TIES_SPLIT):
            yield {key: row[key] for key in ("subset", "metric", "value", "low", "high")}


def benchmark_gains(items: Rows, scores: Rows, before: Rows, macros: Mapping, draw: Bootstrap) -> Iterator[dict]:
    """Yields what a model gains over its base, cell by cell, macro averages with them.

    Args:
        items: rows of table BENCHMARK_ITEMS.
        scores: rows of table BENCHMARK_SCORES of the model.
        before: likewise of its base.
        macros: of the reader's manifest.
        draw: how intervals are drawn.
    """
    for metric, members in metrics_of(items).items():
        if metric.startswith(CHOSEN):
            continue
        now, then = (results_of(members, rows, metric).values[STRICT] for rows in (scores, before))
        change, images = now - then, image_numbers(members)
        for cell in cells_of(members, macros):
            groups = [group[~np.isnan(change[group])] for group in cell.groups]
            groups = [group for group in groups if len(group)]
            if groups:
                name = "_".join(filter(None, (metric, cell.average))) + GAIN
                seed = cell_seed(draw.seed, *draw.names, cell.subset, name)
                means = bootstrap_means([(images[group], change[group]) for group in groups], draw.n_resamples, seed)
                low, high = interval(100.0 * mean_of_groups(means))
                value = 100.0 * float(np.mean([change[group].mean() for group in groups]))
                yield {"subset": cell.subset, "metric": name, "value": value, "low": low, "high": high}


def systematicity_rows(
    model: str, own: Queries, before: Queries | None, corpus: str, split_of: Mapping, config: Mapping
) -> Iterator[dict]:
    """Yields R@1 and pairwise accuracy of each split by a corpus, the gap of SC and UC, and what is gained of each.

    Args:
        model: name of the model.
        own: its scored queries.
        before: those of its base; None for the base itself.
        corpus: name of the corpus.
        split_of: split of each region by it.
        config: `n_resamples`, `seed` and `matched`.
    """
    draw = Bootstrap(config["n_resamples"], config["seed"], (model, "systematicity"))
    cells, of_base = (
        {cell[:3]: cell[3] for cell in compared_cells(each, split_of, config)} if each else {} for each in (own, before)
    )
    name_of = _namer(own.rows)
    for (protocol, foil_type, split), rows in cells.items():
        name = name_of(protocol, corpus, foil_type, split)
        yield from set_values(rows, name, (protocol, corpus, model, foil_type, split), draw)
        yield from by_kind_values(rows, name, (protocol, corpus, model, foil_type, split), draw)
        yield from set_gains(_pairs(rows, of_base.get((protocol, foil_type, split), [])), name, draw)
    for protocol, foil_type in dict.fromkeys(key[:2] for key in cells):
        seen, unseen = (cells.get((protocol, foil_type, split)) for split in (SC, UC))
        if seen and unseen:
            name, seed = name_of(protocol, corpus, foil_type), cell_seed(draw.seed, protocol, corpus, model, foil_type)
            row = gap_row(seen, unseen, draw.n_resamples, seed)
            yield {"subset": name, "metric": GAP, "value": row[GAP], "low": row["gap_low"], "high": row["gap_high"]}
            both = [_pairs(cells[protocol, foil_type, s], of_base.get((protocol, foil_type, s), [])) for s in (SC, UC)]
            if all(both):
                yield gap_gain(*both, name, draw)


def productivity_rows(model: str, own: list[dict], before: list[dict] | None, config: Mapping) -> Iterator[dict]:
    """Yields R@1 and pairwise accuracy by foil type and number of atoms, and what is gained of each.

    Args:
        model: name of the model.
        own: its scored queries.
        before: those of its base; None for the base itself.
        config: `n_resamples` and `seed`.
    """
    draw = Bootstrap(config["n_resamples"], config["seed"], (model, "productivity"))
    # of several sources of captions the last cell pools all
    cells, of_base = (
        {key[:3]: (key[3], rows) for key, rows in productivity_cells(each or [])} for each in (own, before)
    )
    name_of = _namer(own)
    for (protocol, foil_type, complexity), (source, rows) in cells.items():
        name = name_of(protocol, foil_type, *([] if complexity == ALL else [f"n={complexity}"]))
        yield from set_values(rows, name, (protocol, model, foil_type, complexity, source), draw)
        if complexity == ALL:
            yield from by_kind_values(rows, name, (protocol, model, foil_type), draw)
        pairs = _pairs(rows, of_base.get((protocol, foil_type, complexity), ("", []))[1])
        yield from set_gains(pairs, name, draw, by_kind=complexity == ALL)


def set_values(rows: list[dict], subset: str, cell: tuple[str, ...], draw: Bootstrap) -> Iterator[dict]:
    """Yields R@1 and pairwise accuracy of queries; `cell` names them in the table that has them too."""
    measures = measures_row(rows, draw.n_resamples, cell_seed(draw.seed, *cell))
    for metric in (RECALL, PAIRWISE):
        low, high = measures[f"{metric}_low"], measures[f"{metric}_high"]
        yield {"subset": subset, "metric": metric, "value": measures[metric], "low": low, "high": high}


def by_kind_values(rows: list[dict], subset: str, cell: tuple[str, ...], draw: Bootstrap) -> Iterator[dict]:
    """Yields the pairwise accuracy of queries by kind of foil."""
    for row in by_kind_rows(rows, draw.n_resamples, draw.seed, cell):
        low, high = row[f"{PAIRWISE}_low"], row[f"{PAIRWISE}_high"]
        name = f"{subset}/{row['foil_kind']}"
        yield {"subset": name, "metric": PAIRWISE, "value": row[PAIRWISE], "low": low, "high": high}


def set_gains(pairs: list[tuple[dict, dict]], subset: str, draw: Bootstrap, by_kind: bool = True) -> Iterator[dict]:
    """Yields what is gained of R@1 and of pairwise accuracy, of this by kind of foil too.

    Args:
        pairs: queries as the model and as its base scored them; none for the base itself.
        subset: name of the cell.
        draw: how intervals are drawn.
        by_kind: whether kinds have rows.
    """
    if not pairs:
        return
    changes: dict = defaultdict(list)
    for now, then in pairs:
        image = now["image_id"]
        changes[subset, RECALL].append((image, float(now["rank"] <= 1) - float(then["rank"] <= 1)))
        changes[subset, PAIRWISE].append((image, float(np.mean(now["wins"]) - np.mean(then["wins"]))))
        for foil, win, before in zip(now["foils"], now["wins"], then["wins"], strict=True):
            if by_kind:
                changes[f"{subset}/{foil['kind']}", PAIRWISE].append((image, win - before))
    for (name, metric), found in changes.items():
        images, values = map(np.array, zip(*found, strict=True))
        yield mean_of(values, images, metric + GAIN, name, draw)


def gap_gain(seen: list[tuple[dict, dict]], unseen: list[tuple[dict, dict]], subset: str, draw: Bootstrap) -> dict:
    """Returns the gap of a model less that of its base; both splits are resampled with the same images."""
    groups = []
    for pairs in (seen, unseen):
        images = np.array([now["image_id"] for now, _ in pairs])
        groups.append((images, np.array([float(now["rank"] <= 1) - float(then["rank"] <= 1) for now, then in pairs])))
    seed = cell_seed(draw.seed, *draw.names, subset, GAP + GAIN)
    means = 100.0 * bootstrap_means(groups, draw.n_resamples, seed)
    low, high = interval(means[1] - means[0])
    value = 100.0 * float(groups[1][1].mean() - groups[0][1].mean())
    return {"subset": subset, "metric": GAP + GAIN, "value": value, "low": low, "high": high}


def _pairs(rows: list[dict], before: list[dict]) -> list[tuple[dict, dict]]:
    """Returns the queries that model and base both scored, each with the base's."""
    known = {row["set_id"]: row for row in before}
    return [(row, known[row["set_id"]]) for row in rows if row["set_id"] in known]


def _namer(rows: Rows) -> Callable[..., str]:
    """Returns what names a subset by protocol and other parts; one protocol alone is not named."""
    has_several = len({row["protocol"] for row in rows}) > 1
    return lambda protocol, *parts: "/".join((protocol, *parts) if has_several else parts)
