"""Train PeakPatch from tables and cached features, and write what the family "peakpatch" loads."""

import csv
import json
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from crepebench.accounting import KEPT, READ, write_accounting
from crepebench.feature_index import CROP, TEXT, crop_id, text_id
from crepebench.feature_reader import ABSENT as NO_FEATURE
from crepebench.feature_reader import Features, read_features
from crepebench.files import atomic_path
from crepebench.models import load_model
from crepebench.peakpatch_data import ABSENT, Data, Pairs, Questions
from crepebench.peakpatch_features import RECOMPUTED, read_captions
from crepebench.peakpatch_judging import question_hits
from crepebench.peakpatch_models import VERSION
from crepebench.peakpatch_settings import fit_to_backbone, training_settings
from crepebench.peakpatch_training import Trained, train
from crepebench.schema import IMAGES, NEGATION_PAIRS, NEGATION_QUESTIONS, read_table
from crepebench.training_checkpoints import remove_checkpoints

logger = logging.getLogger(__name__)

TRAIN, VALIDATION = "train", "validation"
NEGATED = "negated"
OTHER_SPLIT = "other_split"
CURVE_COLUMNS = ("epoch", "loss", "loss_ecn", "loss_keep", "loss_scn", "accuracy")
"""First columns of the learning curve; then the accuracy of each template, and seconds."""


def train_peakpatch(
    pairs_path: str,
    questions_path: str,
    images_path: str,
    features_path: str,
    captions_path: str,
    weights_path: str,
    config_path: str,
    curve_path: str,
    accounting_path: str,
    checkpoints_folder: str,
    weights_paths: Sequence[str],
    seed: int,
    cfg: str,
) -> None:
    """Trains one variant with one seed, on the GPU if there is one, else the CPU with one thread.

    Args:
        pairs_path: table NEGATION_PAIRS.
        questions_path: table NEGATION_QUESTIONS.
        images_path: table IMAGES of both.
        features_path: table FEATURE_INDEX of the frozen model, with whole images and all captions.
        captions_path: index of `crepebench.peakpatch_features`.
        weights_path: peakpatch.safetensors to write.
        config_path: peakpatch.json to write.
        curve_path: CSV of losses and validation accuracy by epoch to write.
        accounting_path: counts to write.
        checkpoints_folder: for checkpoints, which are removed at the end.
        weights_paths: files of the frozen model's weights; used where token features were not kept.
        seed: of weights, orders and dropout.
        cfg: JSON of `model` (config entry of the frozen model) and `training` (`crepebench.peakpatch_settings`).

    Raises:
        ValueError: a setting is unknown, or nothing is left to train on.
    """
    import torch

    config = json.loads(cfg)
    settings = training_settings(config["training"])
    index = json.loads(Path(captions_path).read_text(encoding="utf-8"))
    settings = fit_to_backbone(settings, index["logit_scale"])
    if index["attends"] != settings.attends:
        raise ValueError(f"{captions_path} has positions {index['attends']!r}, not {settings.attends!r}")
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = load_model(config["model"], weights_paths) if index["tokens"] == RECOMPUTED else None
    counts: dict[str, Counter] = {}
    data = read_data([pairs_path, questions_path, images_path], features_path, captions_path, counts, model)
    deterministic = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(device == "cpu")
    try:
        trained = train(data, settings, seed, checkpoints_folder, device)
    finally:
        torch.use_deterministic_algorithms(deterministic)
    said = {"version": VERSION, "variant": settings.variant, "attends": settings.attends, "seed": seed}
    said |= {key: index[key] for key in ("peak", "anchor", "width", "dim", "n_layers")}
    said |= {"largest_offset": settings.largest_offset, "hidden": settings.hidden}
    said |= {"n_pairs": len(data.pairs), "n_questions": len(data.questions), "n_validation": len(data.validation)}
    best = max(trained.curve[1:], key=lambda row: row["accuracy"])  # the first of equal ones
    said |= {"epoch": best["epoch"], "accuracy": best["accuracy"], "training": asdict(settings)}
    said["frozen_accuracy"] = float(question_hits(data, data.validation, {}, device).mean())
    write_trained(trained, said, weights_path, config_path, curve_path)
    write_accounting(accounting_path, f"peakpatch/{settings.variant}/seed_{seed}", counts)
    remove_checkpoints([stage.checkpoint for stage in trained.stages], checkpoints_folder)


def read_data(
    tables: Sequence[str], features_path: str, captions_path: str, counts: dict[str, Counter], model=None
) -> Data:
    """Reads what is trained on; what has no image feature is counted by the feature's reason.

    Args:
        tables: paths of NEGATION_PAIRS, NEGATION_QUESTIONS and IMAGES.
        features_path: table FEATURE_INDEX of the frozen model.
        captions_path: index of `crepebench.peakpatch_features`.
        counts: for each unit (pair, question, validation_question) its counts, to be filled.
        model: the frozen model, where token features were not kept.
    """
    features = read_features(features_path)
    crops = {
        row["image_id"]: crop_id(row["image_id"], (0, 0, row["width"], row["height"]))
        for row in read_table(tables[2], IMAGES, ["image_id", "width", "height"]).to_pylist()
    }
    pairs = read_table(tables[0], NEGATION_PAIRS).to_pylist()
    questions = read_table(tables[1], NEGATION_QUESTIONS).to_pylist()
    pairs = _usable(pairs, TRAIN, crops, features, counts.setdefault("pair", Counter()))
    asked = [
        _usable(questions, split, crops, features, counts.setdefault(unit, Counter()))
        for split, unit in ((TRAIN, "question"), (VALIDATION, "validation_question"))
    ]
    texts = {text for row in pairs for text in (row["caption"], row["negated"])}
    texts |= {text for rows in asked for row in rows for text in row["captions"]}
    place = {text: i for i, text in enumerate(sorted(texts))}
    final = features.matrix[features.rows_of(TEXT, [text_id(text) for text in place])]
    used = sorted({row["image_id"] for rows in (pairs, *asked) for row in rows})
    images = features.matrix[features.rows_of(CROP, [crops[image_id] for image_id in used])]
    row_of = {image_id: i for i, image_id in enumerate(used)}
    of_pairs = Pairs(
        _integers(row_of[row["image_id"]] for row in pairs),
        _integers(place[row["caption"]] for row in pairs),
        _integers(place[row["negated"]] for row in pairs),
        np.array([row["polarity"] == NEGATED for row in pairs], bool),
    )
    return Data(
        read_captions(captions_path, list(place), final, model),
        images,
        of_pairs,
        *(_questions(rows, row_of, place) for rows in asked),
    )


def write_trained(trained: Trained, said: dict, weights_path: str, config_path: str, curve_path: str) -> None:
    """Writes weights, what is said of them, and the learning curve."""
    from safetensors.torch import save_file

    tensors = {name: tensor.cpu().contiguous() for name, tensor in trained.networks.state_dict().items()}
    with atomic_path(weights_path) as partial:
        save_file(tensors, partial)
    with atomic_path(config_path) as partial:
        Path(partial).write_text(json.dumps(said, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    templates = sorted({name for row in trained.curve for name in row if name.startswith("accuracy_")})
    with atomic_path(curve_path) as partial, open(partial, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*CURVE_COLUMNS, *templates, "seconds"], restval="", lineterminator="\n")
        writer.writeheader()
        for row in trained.curve:
            writer.writerow({key: round(value, 5) if isinstance(value, float) else value for key, value in row.items()})


def _usable(rows: list[dict], split: str, crops: dict, features: Features, counts: Counter) -> list[dict]:
    """Returns the rows of a split whose image has a feature, and counts all."""
    counts.update({READ: len(rows), KEPT: 0})
    mine = [row for row in rows if row["split"] == split]
    found = features.rows_of(CROP, [crops[row["image_id"]] for row in mine])
    for row, at in zip(mine, found.tolist(), strict=True):
        counts[features.reasons.get(crops[row["image_id"]], "no_feature") if at == NO_FEATURE else KEPT] += 1
    if len(mine) < len(rows):
        counts[OTHER_SPLIT] = len(rows) - len(mine)
    return [row for row, at in zip(mine, found.tolist(), strict=True) if at != NO_FEATURE]


def _questions(rows: list[dict], row_of: dict[int, int], place: dict[str, int]) -> Questions:
    options = np.full((len(rows), max((len(row["captions"]) for row in rows), default=1)), ABSENT, np.int64)
    for i, row in enumerate(rows):
        options[i, : len(row["captions"])] = [place[text] for text in row["captions"]]
    images = _integers(row_of[row["image_id"]] for row in rows)
    return Questions(images, options, np.array([row["template"] for row in rows], str))


def _integers(values) -> np.ndarray:
    return np.fromiter(values, np.int64)
