"""Classify pictures by the names of classes: each class is the mean of what prompts with its name give.

The feature of a class is the mean of the unit features of its prompts, of length one; a picture is given the class
whose feature is nearest. Source: CLIP (Radford et al. 2021), section 3.1.4, with its 80 prompts for ImageNet, which
open_clip ships. Items are of two tasks: CLASS has the prompts of a class and no picture, CLASSIFY one picture and its
class.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from crepebench.benchmark_retrieval import pools_of, split_missing
from crepebench.feature_index import TEXT, text_id
from crepebench.feature_reader import Features
from crepebench.pool_places import hit_rows, pool_places
from crepebench.pooled_features import unit_mean
from crepebench.scores import Scorer

CLASS, CLASSIFY = "class", "classify"
CLASS_TAG = "class"
"""Tag of both tasks: number and name of the class, as `class_tag` writes it."""
IMAGENET_80, SIMPLE_7 = "imagenet_80", "simple_7"
METRICS = {"top_1_accuracy": 1, "top_5_accuracy": 5}
"""How far down a hit of each metric may stand. The macro average over CLASS_TAG is the mean of the classes' accuracies,
which CLIP's tables have for aircraft, pets, Caltech-101 and flowers."""


def class_tag(number: int, name: str) -> str:
    """Returns the tag of a class; two classes of one name, as ImageNet has, differ by their number."""
    return f"{number:04d} {name}"


def prompts_of(name: str, templates: str | Sequence[str]) -> tuple[str, ...]:
    """Returns the prompts of a class.

    # ASSUME: a set without templates of its own takes ImageNet's 80; CLIP wrote other ones for each set, which the
    libraries used here do not ship.

    Args:
        name: what the class is called.
        templates: IMAGENET_80 or SIMPLE_7 (a short list by the same authors), or texts with {} in
            place of the name.

    Raises:
        ValueError: the templates are unknown, none, or one lacks the {}.
    """
    if isinstance(templates, str):
        import open_clip

        shipped = {
            IMAGENET_80: open_clip.OPENAI_IMAGENET_TEMPLATES,
            SIMPLE_7: open_clip.SIMPLE_IMAGENET_TEMPLATES,
        }
        if templates not in shipped:
            raise ValueError(f"unknown templates {templates!r}: use {IMAGENET_80}, {SIMPLE_7} or a list of texts")
        return tuple(template(name) for template in shipped[templates])
    if not templates or not all(isinstance(text, str) and text.count("{}") == 1 for text in templates):
        raise ValueError(f"templates are texts with one {{}} in place of the class: {templates!r:.200}")
    return tuple(text.replace("{}", name) for text in templates)


def class_features(rows: Sequence[Mapping], features: Features) -> np.ndarray:
    """Returns the feature of each class, (n_classes, dim) float32, unit rows.

    Args:
        rows: rows of table BENCHMARK_ITEMS of task CLASS.
        features: features of their prompts.
    """
    prompts = [features.rows_of(TEXT, [text_id(text) for text in row["captions"]]) for row in rows]
    return np.stack([unit_mean(features.matrix[found]) for found in prompts])


def score_classes(rows: Sequence[Mapping], features: Features, score: Scorer | None = None) -> Iterator[dict]:
    """Yields the rows of table BENCHMARK_SCORES of pictures; items of other tasks are passed over.

    # ASSUME: a model with a score of its own is given the mean feature of the prompts, as others are.

    Args:
        rows: rows of table BENCHMARK_ITEMS that can be used.
        features: features of their texts and crops.
        score: scores pairs (picture, class), if the model has a score of its own.

    Raises:
        ValueError: a picture is of a class that is not among the classes, or a score is NaN; names the item or subset.
    """
    classes = pools_of(rows, CLASS)
    for subset, items in pools_of(rows, CLASSIFY).items():
        known = classes.get(subset, [])
        places = {_class_of(row): place for place, row in enumerate(known)}
        if strange := next((row for row in items if _class_of(row) not in places), None):
            raise ValueError(f"item {strange['item_id']!r}: {subset} has no class {_class_of(strange)!r}")
        kept, pictures = yield from split_missing(items, features, list(METRICS))
        if not kept:
            continue
        truths = np.array([(query, places[_class_of(row)]) for query, row in enumerate(kept)], np.int64)
        try:
            found = pool_places(pictures, class_features(known, features), truths, score)
        except ValueError as error:
            raise ValueError(f"{CLASSIFY}, subset {subset}: {error}") from error
        yield from hit_rows([row["item_id"] for row in kept], found, METRICS, [False] * len(kept))


def _class_of(row: Mapping) -> str:
    """Returns the tag of a row's class."""
    return next(tag["value"] for tag in row["tags"] if tag["name"] == CLASS_TAG)


def class_chances(rows: Sequence[Mapping]) -> dict[tuple[str, str], float]:
    """Returns the chance of a hit, 0-1, by item and metric, for items of task CLASSIFY.

    Args:
        rows: rows of table BENCHMARK_ITEMS that can be used.
    """
    n_classes = {subset: len(found) for subset, found in pools_of(rows, CLASS).items()}
    return {
        (row["item_id"], metric): min(1.0, k / n_classes[subset])
        for subset, items in pools_of(rows, CLASSIFY).items()
        for row in items
        for metric, k in METRICS.items()
    }
