"""Correlate recall at 1 with what is known of models: ImageNet top-1, parameters, training pairs.

The paper (section 5.4) gives squared Pearson correlations over its seven open_clip models; the same figures follow
from its recalls and the top-1 that open_clip publishes. Seven models in two clusters say little:
the table has the number of models, the models of one corpus alone, and exact p-values of rank correlations.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import permutations
from typing import NamedTuple

import numpy as np

from crepebench.drawing import read_rows
from crepebench.measures import write_csv
from crepebench.published import PAPER, imagenet_top1, read_by_name
from crepebench.recall_series import PUBLISHED, Series, measured_series, published_series

FACTS = ("parameters", "training_pairs")
COLUMNS = (
    *("recalls", "protocol", "family", "models", "foil_type", "split", "complexity", "n_models"),
    *("pearson", "r_squared", "published_r_squared", "spearman_top1", "p_top1"),
    *("spearman_parameters", "p_parameters", "spearman_training_pairs", "p_training_pairs"),
)
SEVEN, ALL = "paper_seven", "all"
MIN_MODELS = 3
MOST_PERMUTED = 8
"""Models up to which all orders are tried: 40,320 of 8."""
TOLERANCE = 1e-9


class Model(NamedTuple):
    """What is known of a model.

    Attributes:
        imagenet_top1: percent.
        parameters: None where not known.
        training_pairs: None where not known.
        training_data: names of corpora.
        is_of_seven: whether it is one of the paper's seven open_clip models.
    """

    imagenet_top1: float
    parameters: int | None
    training_pairs: int | None
    training_data: tuple[str, ...]
    is_of_seven: bool


def pearson(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Returns Pearson's correlation, None where one side is constant."""
    if len(set(x)) < 2 or len(set(y)) < 2:
        return None
    return float(np.corrcoef(x, y)[0, 1])


@cache
def _orders(n: int) -> np.ndarray:
    return np.array(list(permutations(range(n))))


def spearman(x: Sequence[float], y: Sequence[float]) -> tuple[float | None, float | None]:
    """Returns Spearman's correlation (ties share their mean rank) and its exact two-sided p.

    The p-value is the share of all orders of y whose correlation with x is as far from 0. It is None for more than
    MOST_PERMUTED values; both are None where one side is constant.
    """
    from scipy.stats import rankdata

    ranks_x, ranks_y = (rankdata(values) - (len(values) + 1) / 2 for values in (x, y))
    rho = pearson(list(ranks_x), list(ranks_y))
    if rho is None or len(ranks_x) > MOST_PERMUTED:
        return rho, None
    scale = np.sqrt((ranks_x**2).sum() * (ranks_y**2).sum())
    permuted = ranks_y[_orders(len(ranks_y))] @ ranks_x / scale
    return rho, float(np.mean(np.abs(permuted) >= abs(rho) - TOLERANCE))


def groups_of(series: Series, models: Mapping[str, Model]) -> Iterator[tuple[str, list[str]]]:
    """Yields name and members of each group of at least MIN_MODELS models with a known top-1.

    They are the paper's seven where the recalls are the paper's, all models where these are others, and the models of
    one training corpus alone.
    """
    known = [model for model in series.values if model in models]
    seven = [model for model in known if models[model].is_of_seven]
    groups = {SEVEN: seven} if series.recalls == PUBLISHED else {}
    if known not in groups.values():
        groups[ALL] = known
    for corpus in sorted({corpus for model in known for corpus in models[model].training_data}):
        members = [name for name in known if corpus in models[name].training_data]
        if members != known:
            groups[corpus] = members
    yield from ((name, members) for name, members in groups.items() if len(members) >= MIN_MODELS)


def correlation_row(series: Series, group: str, members: Sequence[str], models: Mapping[str, Model]) -> dict:
    """Returns the correlations of one cell and group of models."""
    values = [series.values[name] for name in members]
    top1 = [models[name].imagenet_top1 for name in members]
    r = pearson(top1, values)
    rho, p = spearman(top1, values)
    row = dict(zip(COLUMNS, series.key[:3], strict=False))
    row |= dict(zip(("foil_type", "split", "complexity"), series.key[3:], strict=True))
    row |= {"models": group, "n_models": len(members), "published_r_squared": ""}
    row |= {"pearson": _text(r), "r_squared": _text(None if r is None else r**2)}
    row |= {"spearman_top1": _text(rho), "p_top1": _text(p)}
    for fact in FACTS:
        facts = [getattr(models[name], fact) for name in members]
        rho, p = (None, None) if None in facts else spearman(facts, values)
        row |= {f"spearman_{fact}": _text(rho), f"p_{fact}": _text(p)}
    return row


def _text(value: float | None) -> str:
    """Returns a number with three decimals; "" for None."""
    return "" if value is None else f"{round(value, 3) + 0.0:.3f}"


def correlation_rows(
    found: Sequence[Series], models: Mapping[str, Model], stated: Mapping[tuple[str, ...], str]
) -> Iterator[dict]:
    """Yields the rows of imagenet_correlation.csv.

    Args:
        found: cells of one kind of recalls.
        models: what is known of the models that have an ImageNet top-1.
        stated: the paper's squared correlations by family, foil type, split and complexity.
    """
    for series in found:
        for group, members in groups_of(series, models):
            row = correlation_row(series, group, members, models)
            if group == SEVEN:
                row["published_r_squared"] = stated.get(series.key[2:], "")
            yield row


def read_facts(
    published_path: str, known_path: str, checkpoints_path: str, definitions: Mapping[str, Mapping]
) -> dict[str, Model]:
    """Returns what is known of the paper's models and of the run's, where an ImageNet top-1 is known.

    Args:
        published_path: resources/published/models.csv.
        known_path: resources/models/models.csv.
        checkpoints_path: resources/published/checkpoints.csv.
        definitions: definitions of the run's models.
    """
    published, known = read_by_name(published_path), read_by_name(known_path, "name")
    checkpoints = read_rows(checkpoints_path)
    models = {}
    for name in (*published, *(name for name in definitions if name not in published)):
        definition, row = definitions.get(name, {}), known.get(name, {})
        top1 = imagenet_top1(name, definition, published, checkpoints)
        if top1 is not None:
            facts = [int(row.get(fact) or definition.get(fact) or 0) or None for fact in FACTS]
            corpora = (published[name]["training_corpus"],) if name in published else definition["training_data"]
            seven = name in published and published[name]["paper_seven"] == "yes"
            models[name] = Model(top1, *facts, tuple(corpora), seven)
    return models


def tabulate_imagenet_correlation(
    systematicity_path: str,
    productivity_path: str,
    published_path: str,
    recalls_path: str,
    correlations_path: str,
    checkpoints_path: str,
    known_path: str,
    table_path: str,
    cfg: str,
) -> None:
    """Writes imagenet_correlation.csv.

    Args:
        systematicity_path: systematicity.csv.
        productivity_path: productivity.csv.
        published_path: resources/published/models.csv.
        recalls_path: resources/published/recalls.csv.
        correlations_path: resources/published/correlations.csv.
        checkpoints_path: resources/published/checkpoints.csv.
        known_path: resources/models/models.csv.
        table_path: table to write.
        cfg: JSON of `models` (pairs of name and definition).
    """
    models = read_facts(published_path, known_path, checkpoints_path, dict(json.loads(cfg)["models"]))
    stated = {
        (row["family"], row["foil_type"], row["split"], row["complexity"]): row["r_squared"]
        for row in read_rows(correlations_path)
    }
    rows = list(correlation_rows(list(published_series(recalls_path)), models, stated))
    reached = {(row["family"], row["foil_type"], row["split"], row["complexity"]) for row in rows}
    for key, r_squared in stated.items():
        if key not in reached:  # the paper gives the correlation, and the recalls were not at hand
            names = dict(zip(("family", "foil_type", "split", "complexity"), key, strict=True))
            head = {"recalls": PUBLISHED, "protocol": PAPER, "models": SEVEN, "published_r_squared": r_squared}
            rows.append({**dict.fromkeys(COLUMNS, ""), **names, **head})
    measured = measured_series(read_rows(systematicity_path), read_rows(productivity_path))
    rows += correlation_rows(list(measured), models, {})
    write_csv(table_path, COLUMNS, rows)
