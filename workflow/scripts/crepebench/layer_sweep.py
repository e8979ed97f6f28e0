"""Train PeakPatch at other pairs of layers than the chosen one, and compare. Source: paper, appendix."""

import json
from collections.abc import Sequence
from pathlib import Path

from crepebench.correction_plots import CHOSEN, SWEEP_COLUMNS
from crepebench.files import atomic_path
from crepebench.measures import write_csv


def set_layers(layers_path: str, peak: int, anchor: int) -> None:
    """Writes a pair of layers in the form in which the analysis of layers names its own.

    Args:
        layers_path: JSON to write.
        peak: layer that the correction reads.
        anchor: layer that it keeps to.
    """
    with atomic_path(layers_path) as partial:
        Path(partial).write_text(json.dumps({"peak": peak, "anchor": anchor, "chosen_by": "sweep"}), encoding="utf-8")


def sweep_row(model: str, config_path: str, chosen: dict) -> dict:
    """Returns the row of a training: SWEEP_COLUMNS.

    Args:
        model: name of the frozen model.
        config_path: peakpatch.json of the training.
        chosen: `peak` and `anchor` of the analysis of layers.
    """
    said = json.loads(Path(config_path).read_text(encoding="utf-8"))
    is_chosen = all(said[key] == chosen[key] for key in ("peak", "anchor"))
    return {
        **{"model": model, "peak": said["peak"], "anchor": said["anchor"]},
        **{"accuracy": 100.0 * said["accuracy"], "frozen": 100.0 * said["frozen_accuracy"]},
        "chosen": CHOSEN if is_chosen else "",
    }


def tabulate_sweep(
    layers_paths: Sequence[str], configs_paths: Sequence[str], table_path: str, models: Sequence[str]
) -> None:
    """Writes the table of a sweep: accuracy on validation questions by model and layers.

    Args:
        layers_paths: analysis of layers of each model.
        configs_paths: peakpatch.json of each training, model by model, as many of each.
        table_path: CSV to write.
        models: names of the models.
    """
    rows, n_each = [], len(configs_paths) // max(len(models), 1)
    for number, (model, layers_path) in enumerate(zip(models, layers_paths, strict=True)):
        chosen = json.loads(Path(layers_path).read_text(encoding="utf-8"))
        part = slice(number * n_each, (number + 1) * n_each)
        rows += [sweep_row(model, config_path, chosen) for config_path in configs_paths[part]]
    write_csv(table_path, SWEEP_COLUMNS, rows)
