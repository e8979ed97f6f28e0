"""Fine-tune a model by CLIC, so that a killed training goes on and ends with the very same weights on a CPU.

Source: paper "CLIC, arXiv 2505.24424", and its code. All that is drawn is a function of seed, epoch and row; so trained
weights, optimiser and the number of the step are all that the next step needs.
"""

import logging
import time
from collections import Counter
from math import ceil
from pathlib import Path
from typing import NamedTuple

import numpy as np

from crepebench.clic_distributed import Processes
from crepebench.clic_loading import Batch, Batches, Examples, Plan, batch_size, load_batches, plan_steps
from crepebench.clic_settings import JOINED, PLAIN, Training, Variant, learning_rate
from crepebench.clic_steps import Steps
from crepebench.training_checkpoints import keep_checkpoint, take_checkpoint

logger = logging.getLogger(__name__)

TRAIN, VALIDATION = "train", "validation"
CHECKPOINT = "clic.pt"
PROGRESS_SECONDS = 30.0
CURVE_COLUMNS = (
    "split",
    "epoch",
    "step",
    "kind",
    "loss",
    "loss_contrastive",
    "loss_negative",
    "loss_unimodal",
    "negative_right",
    "learning_rate",
    "logit_scale",
    "images_per_second",
)
"""Of the learning curve: a row for each step, and rows of validation before and after each epoch."""


class Trained(NamedTuple):
    """What a training gives.

    Attributes:
        tensors: trained tensors on the CPU, by name.
        curve: rows of CURVE_COLUMNS; what a step does not have is not in its row.
        counts: of joined items of all processes: "joined" of them, and what was counted by reason.
        seconds: of all steps, without validation.
        size: items of a step.
        world: processes.
        checkpoint: file to remove once all is written; None if there is none.
    """

    tensors: dict
    curve: list[dict]
    counts: Counter
    seconds: float
    size: int
    world: int
    checkpoint: Path | None


class Judge:
    """Losses of examples that are not trained on.

    Args:
        examples: held-out ones, with a maker of their own.
        batches: makes their batches.
        steps: of the training.
        size: items that compete with each other, at most.
        frozen: whether the vision tower is; then images are encoded once.
    """

    def __init__(self, examples: Examples, batches: Batches, steps: Steps, size: int, frozen: bool):
        self._steps, self._batches, self._frozen = steps, batches, frozen
        parts = np.array_split(np.arange(len(examples)), ceil(len(examples) / size))
        self._plans = [Plan(0, 0, kind, rows) for kind in (JOINED, PLAIN) for rows in parts]
        self._kept: dict[int, tuple[Batch, object]] = {}

    def rows(self) -> list[dict]:
        """Returns a row of mean losses for each kind of step."""
        totals: dict[str, Counter] = {JOINED: Counter(), PLAIN: Counter()}
        for i, plan in enumerate(self._plans):
            for name, value in self._losses(i, plan).items():
                totals[plan.kind][name] += value * len(plan.rows)
        n = sum(len(plan.rows) for plan in self._plans if plan.kind == PLAIN)
        return [
            {"split": VALIDATION, "kind": kind, **{name: total / n for name, total in found.items()}}
            for kind, found in totals.items()
        ]

    def _losses(self, i: int, plan: Plan) -> dict[str, float]:
        batch, images = self._kept.get(i, (None, None))
        if batch is None:
            batch = self._batches[plan]
        found, texts = self._steps.features(batch, images)
        if self._frozen and images is None:
            self._kept[i] = (batch._replace(pixels=None, images=None), found)
        losses = self._steps.losses_alone(batch, found, texts)
        return {name: float(value.detach()) for name, value in losses.items()}


def train(
    steps: Steps,
    examples: Examples,
    batches: Batches,
    judge: Judge | None,
    variant: Variant,
    settings: Training,
    seed: int,
    processes: Processes,
    folder: str | None = None,
    key: str = "",
) -> Trained:
    """Trains.

    Args:
        steps: of the model; its trained parameters are changed in place.
        examples: what is trained on.
        batches: makes their batches.
        judge: validates in the first process; None has no validation.
        variant: of the training.
        settings: of the training.
        seed: of the order of items.
        processes: where this one stands.
        folder: for the checkpoint, with which a killed training goes on; None keeps none.
        key: digest of data and settings; a checkpoint with another one is not used.

    Raises:
        ValueError: there are too few items.
        NonFiniteLossError: a loss is no finite number.
    """
    size = batch_size(len(examples), settings, processes.world)
    n_steps = len(examples) // size
    path = Path(folder) / CHECKPOINT if folder else None
    state = _resume(path, key, steps, processes)
    if state is None:
        state = {"step": 0, "curve": [], "counts": {}, "seconds": 0.0}
        _judge(judge, state, 0, processes)
    counts = Counter(state["counts"] if processes.is_first else {})
    plans = plan_steps(
        len(examples), variant, settings, seed, state["step"], rank=processes.rank, world=processes.world
    )
    told = before = time.monotonic()
    for batch in load_batches(batches, plans, settings.workers, processes.device.startswith("cuda")):
        plan = batch.plan
        rate = learning_rate(plan.step, settings.epochs * n_steps, settings)
        losses = steps.take(batch, rate, examples.row_ids)
        counts.update(batch.reasons)
        counts[JOINED] += len(plan.rows) * (plan.kind == JOINED)
        now = time.monotonic()
        state["seconds"] += now - before
        row = {"split": TRAIN, "epoch": plan.epoch + 1, "step": plan.step + 1, "kind": plan.kind, **losses}
        state["curve"].append({**row, "learning_rate": rate, "images_per_second": size / max(now - before, 1e-9)})
        state["step"] = plan.step + 1
        if processes.is_first and now - told > PROGRESS_SECONDS:
            told = now
            logger.info("CLIC: step %d of %d: %s", plan.step + 1, settings.epochs * n_steps, _said(losses))
        ends = state["step"] % n_steps == 0
        if ends:
            _judge(judge, state, plan.epoch + 1, processes)
        if path and (ends or state["step"] % settings.checkpoint_steps == 0):
            counts = processes.total(counts)
            _keep(path, key, steps, {**state, "counts": dict(counts)}, processes)
        before = time.monotonic()
    tensors = {name: each.detach().cpu().contiguous().clone() for name, each in steps.trained.items()}
    return Trained(tensors, state["curve"], processes.total(counts), state["seconds"], size, processes.world, path)


def _judge(judge: Judge | None, state: dict, epoch: int, processes: Processes) -> None:
    """Adds rows of validation to the curve, in the first process."""
    if judge is None or not processes.is_first:
        return
    for row in judge.rows():
        state["curve"].append({**row, "epoch": epoch, "step": state["step"]})
        logger.info("CLIC: after epoch %d, %s %s: %s", epoch, VALIDATION, row["kind"], _said(row))


def _keep(path: Path, key: str, steps: Steps, state: dict, processes: Processes) -> None:
    """Writes a checkpoint in the first process; the others wait."""
    if processes.is_first:
        trained = {name: parameter.detach() for name, parameter in steps.trained.items()}
        of_steps = {
            "trained": trained,
            "optimiser": steps.optimiser.state_dict(),
            "scaler": steps.scaler.state_dict(),
        }
        keep_checkpoint(path, key, {**state, **of_steps})
    processes.wait()


def _resume(path: Path | None, key: str, steps: Steps, processes: Processes) -> dict | None:
    """Loads a checkpoint into model and optimiser; returns the rest."""
    import torch

    state = take_checkpoint(path, key, processes.device)
    if state is None:
        return None
    with torch.no_grad():
        for name, tensor in state.pop("trained").items():
            steps.trained[name].copy_(tensor)
    steps.optimiser.load_state_dict(state.pop("optimiser"))
    steps.scaler.load_state_dict(state.pop("scaler"))
    if processes.is_first:
        logger.info("CLIC: goes on after step %d", state["step"])
    return state


def _said(figures: dict) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in figures.items() if isinstance(value, float))
