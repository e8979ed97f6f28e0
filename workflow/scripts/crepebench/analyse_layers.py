"""Analyse the layers of a frozen text tower: curves, chosen layers, control experiment and linear probe.

Source: paper "PeakPatch" (arXiv 2607.23271), layer analysis and appendix D. Triples come from the validation split of
table NEGATION_PAIRS; image features from the model's index of features; what layers say of texts is computed here.
"""

import json
import logging
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from crepebench.accounting import KEPT, READ, write_accounting
from crepebench.aliases import read_aliases
from crepebench.feature_index import CROP, TEXT, crop_id, text_id
from crepebench.feature_reader import ABSENT, Features, read_features
from crepebench.files import atomic_path
from crepebench.layer_choice import choose_layers
from crepebench.layer_curves import cosines, curve_of
from crepebench.layer_reading import LayerReader, Triples
from crepebench.linear_probe import probe_layers
from crepebench.measures import write_csv
from crepebench.models import load_model
from crepebench.negation_controls import build_conditions, describe_conditions
from crepebench.paraphrases import read_rules
from crepebench.schema import IMAGES, NEGATION_PAIRS, read_table

logger = logging.getLogger(__name__)

SPLIT, AFFIRMATIVE = "validation", "affirmative"
OTHER_SPLIT, RIGHT_IS_NEGATED, NO_FEATURE, NOT_DRAWN = (
    "not_of_the_validation_split",
    "right_caption_is_negated",
    "image_without_a_feature",
    "not_drawn",
)
CURVE_COLUMNS = ("curve", "layer", "value", "low", "high", "n", "role")
MOST_DEVIATION = 0.02
"""Cosine distance of the last layer from the stored text feature that rounding, even to float16, cannot make."""


def analyse_layers(
    pairs_path: str,
    images_path: str,
    index_path: str,
    paraphrases_path: str,
    aliases_path: str,
    weights_paths: Sequence[str],
    layers_path: str,
    curves_path: str,
    accounting_path: str,
    model: str,
    cfg: str,
) -> None:
    """Writes the analysis of a model's text layers.

    Args:
        pairs_path: table NEGATION_PAIRS.
        images_path: table IMAGES of the pairs.
        index_path: table FEATURE_INDEX of the model's features of the pairs' images and texts.
        paraphrases_path: resources/negation/paraphrases.yaml.
        aliases_path: Visual Genome's object_alias.txt, or "".
        weights_paths: files of the model's weights.
        layers_path: JSON to write: see docs.
        curves_path: CSV of all curves to write (CURVE_COLUMNS).
        accounting_path: counts to write.
        model: name of the model.
        cfg: JSON of `model` (config entry), `n_triples`, `n_controls`, `batch_size` (pairs), `seed`, and `peak` and
            `anchor` (a layer, or null for the rule's).

    Raises:
        ValueError: there is no triple, the text tower has fewer than two layers or is not readable, or the index is of
            another model.
    """
    import torch

    from crepebench.text_layers import TextLayers

    torch.set_num_threads(1)
    config = json.loads(cfg)
    features = read_features(index_path)
    counts: Counter = Counter()
    rows = draw_rows(pairs_path, images_path, features, config["seed"], counts)
    triples_rows = rows[: config["n_triples"]]
    if not triples_rows:
        raise ValueError(f"{pairs_path}: no pair of the split {SPLIT} can be analysed: {dict(counts)}")
    counts[KEPT] = len(triples_rows)
    if len(rows) > len(triples_rows):
        counts[NOT_DRAWN] = len(rows) - len(triples_rows)
    encoder = load_model(config["model"], weights_paths)
    reader = LayerReader(TextLayers(encoder.model), lambda texts: encoder.tokenise(texts).ids, config["batch_size"])
    right, wrong = ([row[name] for row in triples_rows] for name in ("caption", "negated"))
    triples = reader.triples(right, wrong, features.matrix[[row["feature"] for row in triples_rows]])
    deviation = _deviation(features, right, triples.last, index_path)
    rules = read_rules(paraphrases_path, read_aliases(aliases_path) if aliases_path else None)
    pairs, condition_counts = build_conditions(rows, rules, config["n_controls"], config["seed"])
    of_conditions = {
        name: reader.pair_distances([pair.one for pair in found], [pair.other for pair in found], name)
        for name, found in pairs.items()
    }
    report = describe(triples, triples_rows, config)
    report["deviation_of_last_layer"] = deviation
    report["controls"] = describe_conditions(pairs, of_conditions, condition_counts)
    report = {"model": model, **report}
    for warning in report["warnings"]:
        logger.warning("%s: %s", model, warning)
    logger.info("%s: peak %d, anchor %d, %s", model, report["peak"], report["anchor"], report["controls"]["verdict"])
    with atomic_path(layers_path) as partial, open(partial, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=2)
        file.write("\n")
    write_csv(curves_path, CURVE_COLUMNS, curve_rows(report))
    units = {f"control_{name}": found for name, found in condition_counts.items()}
    write_accounting(accounting_path, f"layers/{model}", {"pair": counts, **units})


def draw_rows(
    pairs_path: str, images_path: str, features: Features, seed: int, counts: Counter | None = None
) -> list[dict]:
    """Returns the usable pairs of the validation split in a drawn order, with `feature`, the row of their image.

    # ASSUME: only pairs whose right caption is affirmative are analysed: of a true negation, D would measure the same,
    but A the fit of a negated caption.

    Args:
        pairs_path: table NEGATION_PAIRS.
        images_path: table IMAGES.
        features: of the images.
        seed: seed of the order, which does not depend on that of the table.
        counts: takes what is read and left out, and why; not what is kept.
    """
    counts = Counter() if counts is None else counts
    sizes = {row["image_id"]: (row["width"], row["height"]) for row in read_table(images_path, IMAGES).to_pylist()}
    found = []
    for row in read_table(pairs_path, NEGATION_PAIRS).to_pylist():
        counts[READ] += 1
        if row["split"] != SPLIT:
            counts[OTHER_SPLIT] += 1
        elif row["polarity"] != AFFIRMATIVE:
            counts[RIGHT_IS_NEGATED] += 1
        else:
            if row["image_id"] not in sizes:
                raise ValueError(
                    f"{pairs_path}: pair {row['pair_id']}: image {row['image_id']} is not in {images_path}"
                )
            found.append(row)
    ids = [crop_id(row["image_id"], (0, 0, *sizes[row["image_id"]])) for row in found]
    for row, place in zip(found, features.rows_of(CROP, ids), strict=True):
        row["feature"] = int(place)
    usable = sorted((row for row in found if row["feature"] != ABSENT), key=lambda row: row["pair_id"])
    if len(found) > len(usable):
        counts[NO_FEATURE] = len(found) - len(usable)
    return [usable[i] for i in np.random.default_rng(seed).permutation(len(usable))]


def describe(triples: Triples, rows: Sequence[Mapping], config: Mapping) -> dict:
    """Returns what layers.json says of the curves, the chosen layers and the probe."""
    ids = [row["image_id"] for row in rows]
    curves = {name: curve_of(getattr(triples, name), ids) for name in ("distance", "alignment", "token_distance")}
    choice = choose_layers(
        curves["distance"].mean, curves["alignment"].mean, {name: config[name] for name in ("peak", "anchor")}
    )
    fall = curve_of(triples.distance[:, [choice["peak"] - 1]] - triples.distance[:, [-1]], ids)
    if choice["collapse"] and fall.low[0] <= 0:
        choice["warnings"].append("the fall of D behind the peak is no more than chance: its interval holds 0")
    report = {**choice, "n_triples": len(rows), "n_images": len(set(ids))}
    for name, curve in curves.items():
        report |= {name: curve.mean.tolist(), f"{name}_low": curve.low.tolist(), f"{name}_high": curve.high.tolist()}
    report["fall"] = dict(zip(("value", "low", "high"), (float(each[0]) for each in fall), strict=True))
    report["token_peak"] = 1 + int(np.argmax(curves["token_distance"].mean))
    captions = [row["caption"] for row in rows], [row["negated"] for row in rows]
    report["probe"] = probe_layers(triples.right_ends, triples.wrong_ends, captions, ids, config["seed"])
    return report


def curve_rows(report: Mapping) -> list[dict]:
    """Returns the rows of the CSV: a row a curve and layer; numbers have six decimals."""
    roles: dict[int, list[str]] = {}
    for role in ("peak", "onset", "anchor"):
        roles.setdefault(report[role], []).append(role)
    curves = [
        (name, report[name], report[f"{name}_low"], report[f"{name}_high"], report["n_triples"])
        for name in ("distance", "alignment", "token_distance")
    ]
    for name, found in report["controls"]["conditions"].items():
        if found["n"]:
            curves.append((f"control_{name}", found["distance"], found["low"], found["high"], found["n"]))
    probe = report["probe"]
    if not probe["reason"]:
        none = [None] * len(probe["accuracy"])
        curves.append(("probe_accuracy", probe["accuracy"], none, none, 2 * probe["n_test"]))
    return [
        {
            "curve": name,
            "layer": i + 1,
            **{
                key: "" if number is None else f"{number:.6f}"
                for key, number in zip(("value", "low", "high"), numbers, strict=True)
            },
            "n": n,
            "role": " ".join(roles.get(i + 1, [])),
        }
        for name, means, lows, highs, n in curves
        for i, numbers in enumerate(zip(means, lows, highs, strict=True))
    ]


def _deviation(features: Features, texts: Sequence[str], last: np.ndarray, index_path: str) -> float:
    """Returns the greatest cosine distance of the last layer from the stored text features.

    Raises:
        ValueError: it is so great that the index is of another model.
    """
    stored = features.matrix[features.rows_of(TEXT, [text_id(text) for text in texts])]
    deviation = float(np.max(1.0 - cosines(stored, last)))
    if deviation > MOST_DEVIATION:
        raise ValueError(
            f"{index_path}: the text features are not those of the model's last layer: they lie up to {deviation:.4f} "
            f"(cosine distance) from it, and at most {MOST_DEVIATION} comes from rounding"
        )
    return deviation
