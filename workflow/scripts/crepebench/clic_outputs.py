"""What a CLIC training leaves: its tensors, its learning curve, counts, and what kept features have saved."""

import csv
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from crepebench.accounting import KEPT, READ
from crepebench.clic_loading import NO_NEGATIVE
from crepebench.clic_settings import JOINED, PLAIN, SINGLE, TEXT, Training, Variant
from crepebench.clic_training import CURVE_COLUMNS, TRAIN, VALIDATION, Trained
from crepebench.clic_vision import FrozenVision
from crepebench.files import atomic_path

OTHER_SPLIT, BATCH_INCOMPLETE = "other_split", "batch_incomplete"


def counts_of(rows: Counter, sound: Mapping[str, int], trained: Trained, settings: Training) -> dict[str, Counter]:
    """Returns counts: rows, uses of rows, joined items by what is missing, and by what else was counted of them.

    Args:
        rows: counts of all rows.
        sound: rows whose image can be used, by split.
        trained: what the training gave.
        settings: of the training.
    """
    n_train, n_validation, size = sound[TRAIN], sound[VALIDATION], trained.size
    counts = {"row": rows, "training_row": Counter({READ: n_train + n_validation, KEPT: n_train})}
    if n_validation:
        counts["training_row"][OTHER_SPLIT] = n_validation
    used, offered = n_train // size * size * settings.epochs, n_train * settings.epochs
    counts["use_of_row"] = Counter({READ: offered, KEPT: used})
    if offered > used:
        counts["use_of_row"][BATCH_INCOMPLETE] = offered - used
    joined, lacking = trained.counts[JOINED], trained.counts[NO_NEGATIVE]
    counts["joined_item"] = Counter({READ: joined, KEPT: joined - lacking})
    if lacking:
        counts["joined_item"][NO_NEGATIVE] = lacking
    for reason in sorted(set(trained.counts) - {JOINED, NO_NEGATIVE}):
        counts[reason] = Counter({READ: trained.counts[reason], KEPT: trained.counts[reason]})
    return counts


def rates_of(trained: Trained) -> dict:
    """Returns seconds of all steps, and images a second by kind of step."""
    found: dict = {"seconds": round(trained.seconds, 3)}
    for kind in (JOINED, PLAIN):
        rates = [row["images_per_second"] for row in trained.curve if row["split"] == TRAIN and row["kind"] == kind]
        if rates:
            found[f"{kind}_per_second"] = round(float(np.median(rates)), 3)
    return found


def saving_of(trained: Trained, vision: FrozenVision | None, variant: Variant) -> dict | None:
    """Returns what the kept features of single images have saved: seconds of one training with and without them.

    Making them once serves all variants and seeds. What steps would have taken to read and encode the same images is
    reckoned from how long that took.
    """
    if vision is None or variant.tower != TEXT:
        return None
    steps = [row for row in trained.curve if row["split"] == TRAIN]
    uses = [row for row in steps if row["kind"] == PLAIN or variant.pictures == SINGLE]
    n_images, each = len(uses) * trained.size, vision.seconds / max(1, len(vision.ids))
    found = {"images": len(vision.ids), "seconds_to_make": vision.seconds, "device": vision.device, "uses": n_images}
    return found | {"seconds_with": trained.seconds, "seconds_without": trained.seconds + n_images * each}


def write_trained(trained: Trained, said: Mapping, weights_path: str, config_path: str, curve_path: str) -> None:
    """Writes the trained tensors, what is said of them, and the learning curve."""
    from safetensors.torch import save_file

    with atomic_path(weights_path) as partial:
        save_file(trained.tensors, partial)
    with atomic_path(config_path) as partial:
        Path(partial).write_text(json.dumps(said, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    with atomic_path(curve_path) as partial, open(partial, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, CURVE_COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        for row in trained.curve:
            writer.writerow({key: f"{value:.6g}" if isinstance(value, float) else value for key, value in row.items()})
