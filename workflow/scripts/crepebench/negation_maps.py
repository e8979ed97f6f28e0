"""Map the texts of ten categories, affirmed and denied, before and after a correction.

Source: paper "PeakPatch" (arXiv 2607.23271), its t-SNE figure of 10 categories with 5 affirmative and 5 negated
templates each; neither is published, ours are committed in resources/negation/map_templates.yaml. A map of t-SNE keeps
neighbours and no distances, so the cosines stand beside it in a table.
"""

import csv
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from crepebench.attention_by_type import NEGATION_WORDS, word_spans
from crepebench.files import atomic_path

AFFIRMATIVE, NEGATED = POLARITIES = ("affirmative", "negated")
BEFORE, AFTER = STATES = ("before", "after")
PERPLEXITY = 15.0
COLUMNS = ("state", "relation", "polarity", "cosine", "n_pairs")
POINT_COLUMNS = ("state", "category", "polarity", "text", "x", "y")


class MapText(NamedTuple):
    """A text of the map."""

    text: str
    category: str
    polarity: str


def read_texts(path: str) -> list[MapText]:
    """Reads categories and templates and returns every category in every template.

    Raises:
        ValueError: the file lacks one of its lists, a template has no place for a category, or a template's polarity is
            not that of its words; names it.
    """
    import yaml

    document = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    lists = ("categories", *POLARITIES)
    if not isinstance(document, Mapping) or set(document) != set(lists) or not all(document[name] for name in lists):
        raise ValueError(f"{path}: needs the lists {', '.join(lists)}, and no other")
    for polarity in POLARITIES:
        for template in document[polarity]:
            words = {template[start:end].lower() for start, end in word_spans(template)}
            if template.count("{}") != 1 or bool(words & NEGATION_WORDS) != (polarity == NEGATED):
                raise ValueError(f"{path}: {template!r} is no {polarity} template with one {{}}")
    return [
        MapText(template.format(category), category, polarity)
        for category in document["categories"]
        for polarity in POLARITIES
        for template in document[polarity]
    ]


def mean_cosines(texts: Sequence[MapText], features: np.ndarray) -> list[dict]:
    """Returns the mean cosine of two different texts, within a category and between categories.

    For each relation ("within", "between") there is one row for two affirmative texts, two negated ones, and one of
    each ("mixed"): a correction that tells negation apart lowers "within mixed", and should leave the others.

    Args:
        texts: the n texts.
        features: (n, dim), unit rows.

    Returns:
        Rows with relation, polarity, cosine (None where there is no pair) and n_pairs.
    """
    cosines = np.asarray(features, np.float64) @ np.asarray(features, np.float64).T
    categories = np.array([text.category for text in texts])
    polarities = np.array([text.polarity for text in texts])
    first, second = np.triu_indices(len(texts), k=1)
    is_within = categories[first] == categories[second]
    kinds = np.where(polarities[first] == polarities[second], polarities[first], "mixed")
    rows = []
    for relation, polarity in product(("within", "between"), (*POLARITIES, "mixed")):
        chosen = (is_within == (relation == "within")) & (kinds == polarity)
        values = cosines[first[chosen], second[chosen]]
        mean = float(values.mean()) if len(values) else None
        rows.append({"relation": relation, "polarity": polarity, "cosine": mean, "n_pairs": len(values)})
    return rows


def place_texts(features: np.ndarray, seed: int) -> np.ndarray:
    """Returns the place of each text on a map of t-SNE by cosine distance, (n, 2) float64.

    # ASSUME: the map's t-SNE has perplexity 15 and starts from principal components; the paper names no setting.

    Args:
        features: (n, dim), unit rows, n at least 5.
        seed: seed of t-SNE.
    """
    from sklearn.manifold import TSNE

    perplexity = min(PERPLEXITY, (len(features) - 1) / 3)
    tsne = TSNE(2, perplexity=perplexity, metric="euclidean", init="pca", random_state=seed, n_jobs=1)
    return tsne.fit_transform(np.asarray(features, np.float64)).astype(np.float64)  # of unit rows: cosines' order


def write_maps(
    templates_path: str,
    encoders: Mapping[str, Callable[[list[str]], np.ndarray]],
    points_path: str,
    cosines_path: str,
    seed: int = 0,
) -> None:
    """Writes the map and the cosines of texts before and after a correction.

    Args:
        templates_path: map_templates.yaml.
        encoders: what encodes texts into (n, dim) unit rows, for BEFORE and AFTER.
        points_path: CSV of places to write (POINT_COLUMNS).
        cosines_path: CSV of mean cosines to write (COLUMNS).
        seed: seed of t-SNE.
    """
    texts = read_texts(templates_path)
    points, cosines = [], []
    for state in STATES:
        features = encoders[state]([text.text for text in texts])
        for text, (x, y) in zip(texts, place_texts(features, seed), strict=True):
            points.append((state, text.category, text.polarity, text.text, f"{x:.4f}", f"{y:.4f}"))
        for row in mean_cosines(texts, features):
            cosine = "" if row["cosine"] is None else f"{row['cosine']:.4f}"
            cosines.append((state, row["relation"], row["polarity"], cosine, row["n_pairs"]))
    for path, columns, rows in ((points_path, POINT_COLUMNS, points), (cosines_path, COLUMNS, cosines)):
        with atomic_path(path) as partial, open(partial, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(rows)
