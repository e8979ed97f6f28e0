"""Classify pictures by the names of classes: each class is the mean of what prompts with its name give.

The feature of a class is the mean of the unit features of its prompts, of length one; a picture is given the class
whose feature is nearest. Source: CLIP (Radford et al. 2021), section 3.1.4, with its 80 prompts for ImageNet, which
open_clip ships. Items are of two tasks: CLASS has the prompts of a class and no picture, CLASSIFY one picture and its
class.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from crepebench.benchmark_recalls import TIES_SPLIT, hits_of, recall_rows
from crepebench.benchmark_retrieval import BOX_KEYS, place_rows, pool_places, unranked_row
from crepebench.feature_index import TEXT, crop_id, text_id
from crepebench.feature_reader import Features
from crepebench.measures import cell_seed
from crepebench.pooled_features import pool_features, unit_mean
from crepebench.scores import Scorer

CLASS, CLASSIFY = "class", "classify"
CLASS_TAG = "class"
"""Tag of both tasks: number and name of the class, as `class_tag` writes it."""
IMAGE_TO_CLASS = "image_to_class"
IMAGENET_80, SIMPLE_7 = "imagenet_80", "simple_7"
KS = (1, 5)
PER_CLASS = "mean_per_class_accuracy"


def class_tag(number: int, name: str) -> str:
    """Returns the tag of a class; two classes of one name, as ImageNet has, differ by their number."""
    return f"{number:04d} {name}"


def prompts_of(name: str, templates: str | Sequence[str]) -> tuple[str, ...]:
    """Returns the prompts of a class.

    # ASSUME: a set without templates of its own takes ImageNet's 80; CLIP wrote other ones for each set, which no
    library ships.

    Args:
        name: what the class is called.
        templates: IMAGENET_80 or SIMPLE_7 (the 7 that CLIP's authors found to do nearly as well), or texts with {} in
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


def rank_classes(rows: Sequence[Mapping], features: Features, score: Scorer | None = None) -> Iterator[dict]:
    """Yields rows of table BENCHMARK_RANKS, one for each picture; `caption` is the tag of its class.

    # ASSUME: a model with a score of its own is given the mean feature of the prompts, as others are.

    Args:
        rows: rows of table BENCHMARK_ITEMS of both tasks that can be used.
        features: features of their texts and crops.
        score: scores pairs (picture, class), if the model has a score of its own.

    Raises:
        ValueError: a picture is of a class that is not among the classes, or a score is NaN; names the item or subset.
    """
    by_subset: dict[str, dict[str, list[Mapping]]] = defaultdict(lambda: {CLASS: [], CLASSIFY: []})
    for row in rows:
        by_subset[row["subset"]][row["task"]].append(row)
    for subset in sorted(by_subset):
        yield from _rank_subset(subset, by_subset[subset][CLASS], by_subset[subset][CLASSIFY], features, score)


def _rank_subset(
    subset: str, classes: Sequence[Mapping], pictures: Sequence[Mapping], features: Features, score: Scorer | None
) -> Iterator[dict]:
    places = {_class_of(row): place for place, row in enumerate(classes)}
    for row in pictures:
        if _class_of(row) not in places:
            raise ValueError(f"item {row['item_id']!r}: {subset} has no class {_class_of(row)!r}")
    crops = [
        tuple(crop_id(i["image_id"], tuple(i[key] for key in BOX_KEYS)) for i in row["images"]) for row in pictures
    ]
    pooled = pool_features(crops, features)
    kept = [place for place, reason in enumerate(pooled.reasons) if not reason]
    for ids, reason in zip(crops, pooled.reasons, strict=True):
        if reason:
            yield unranked_row(subset, IMAGE_TO_CLASS, ids[0], reason)
    if not kept:
        return
    truths = np.array([(query, places[_class_of(pictures[place])]) for query, place in enumerate(kept)], np.int64)
    found = pool_places(pooled.matrix[kept], class_features(classes, features), truths, score)
    for place, row in zip(kept, place_rows(found, np.ones(len(kept), np.int64), len(classes)), strict=True):
        query = unranked_row(subset, IMAGE_TO_CLASS, crops[place][0])
        yield {**query, **row, "caption": _class_of(pictures[place])}


def _class_of(row: Mapping) -> str:
    """Returns the tag of a row's class."""
    return next(tag["value"] for tag in row["tags"] if tag["name"] == CLASS_TAG)


def accuracy_rows(
    ranks: Sequence[Mapping], n_lost: Mapping[str, int], n_resamples: int, seed: int, name: str
) -> Iterator[dict]:
    """Yields the rows of benchmarks.csv that a model gets: `top_1_accuracy`, `top_5_accuracy`, mean over classes.

    The mean over classes of the accuracy in each is what CLIP's tables have for aircraft, pets, Caltech-101 and
    flowers; it has no interval, as a resample may leave classes empty. Each stands strict and with ties split: two
    classes of one name always tie.

    Args:
        ranks: what `rank_classes` yields.
        n_lost: by subset, pictures that never came to the model.
        n_resamples: bootstrap resamples.
        seed: seed of the bootstrap.
        name: of the model and benchmark, for the seed.

    Raises:
        ValueError: no picture of a subset has a feature; names the subset and the reasons.
    """
    by_subset: dict[str, list[Mapping]] = defaultdict(list)
    for row in ranks:
        by_subset[row["subset"]].append(row)
    for subset, rows in by_subset.items():
        ranked = [row for row in rows if not row["reason"]]
        if not ranked:
            raise ValueError(f"{subset}: no picture has a feature: {sorted({row['reason'] for row in rows})}")
        shared = {"subset": subset, "n_missing": n_lost.get(subset, 0) + len(rows) - len(ranked)}
        for k in KS:
            found = recall_rows(ranked, f"top_{k}_accuracy", k, n_resamples, cell_seed(seed, name, subset, str(k)))
            yield from ({**row, **shared} for row in found)
        classes, hits = np.array([row["caption"] for row in ranked]), hits_of(ranked, 1)
        for kind, end in (("strict", ""), ("split", TIES_SPLIT)):
            value = float(np.mean([hits[kind][classes == one].mean() for one in np.unique(classes)]))
            none = {"low": None, "high": None, "chance": 100.0 * float(hits["chance"].mean())}
            yield {"metric": PER_CLASS + end, "value": 100.0 * value, **none, "n_items": len(ranked), **shared}
