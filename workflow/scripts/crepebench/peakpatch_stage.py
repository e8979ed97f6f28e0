"""Train networks epoch by epoch so that a killed training goes on and ends with the very same weights.

Whatever is drawn (order of rows, dropout) is drawn anew for each epoch from the seed and the epoch's number; so a
checkpoint after each epoch, of weights, optimiser and the best weights so far, is all that the next epoch needs. On a
GPU sums have no fixed order, and weights may differ in their last digits, killed or not.
"""

import logging
import math
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from crepebench.peakpatch_settings import Training
from crepebench.training_checkpoints import keep_checkpoint, take_checkpoint

logger = logging.getLogger(__name__)

BETAS = (0.9, 0.999)
PROGRESS_SECONDS = 30.0
DROPOUT = 3
"""What is drawn, beside those of `crepebench.peakpatch_data`."""


class Stage:
    """One training of some networks.

    Args:
        name: of the stage, also of its checkpoint.
        networks: torch ModuleDict.
        rates: learning rate at the start, for each of the networks.
        settings: of the training.
        seed: of all that is drawn.
        folder: for the checkpoint; None keeps none.
        key: digest of data and settings; a checkpoint with another one is not used.
    """

    def __init__(
        self, name: str, networks, rates: dict[str, float], settings: Training, seed: int, folder: str | None, key: str
    ):
        import torch

        self._name, self._networks, self._settings, self._seed, self._key = name, networks, settings, seed, key
        self._rates = [rates[each] for each in networks]
        groups = [{"params": list(network.parameters()), "lr": rates[each]} for each, network in networks.items()]
        self._optimiser = torch.optim.AdamW(groups, betas=BETAS, weight_decay=settings.weight_decay)
        self.checkpoint = Path(folder) / f"{name}.pt" if folder else None

    def run(self, epochs: int, n_steps: int, losses_of: Callable, judge: Callable | None = None) -> list[dict]:
        """Trains, and leaves the networks with the weights of the best epoch.

        Args:
            epochs: number of epochs.
            n_steps: steps of an epoch.
            losses_of: (epoch, step in it) to the losses of a step by name; "loss" is what is lowered.
            judge: gives a row of figures of the networks as they are, of which "accuracy" says which epoch is best,
                the first of equal ones; None keeps the last epoch.

        Returns:
            A row for each epoch: `epoch` from 1, mean losses, what `judge` gives, seconds.
        """
        state = self._resume() or {"epoch": 0, "rows": [], "best": None, "accuracy": -1.0}
        for epoch in range(state["epoch"], epochs):
            start = time.monotonic()
            row = {"epoch": epoch + 1, **self._run_epoch(epoch, epochs, n_steps, losses_of)}
            row |= judge() if judge else {}
            state["rows"].append({**row, "seconds": round(time.monotonic() - start, 3)})
            if judge is None or row["accuracy"] > state["accuracy"]:
                state["best"] = {name: tensor.clone() for name, tensor in self._networks.state_dict().items()}
                state["accuracy"] = row.get("accuracy", -1.0)
            state["epoch"] = epoch + 1
            self._keep(state)
            figures = ", ".join(f"{name} {value:.4g}" for name, value in row.items() if name != "epoch")
            logger.info("%s: epoch %d of %d: %s", self._name, epoch + 1, epochs, figures)
        if state["best"] is not None:
            self._networks.load_state_dict(state["best"])
        self._networks.eval()
        return state["rows"]

    def _run_epoch(self, epoch: int, epochs: int, n_steps: int, losses_of: Callable) -> dict[str, float]:
        """Takes the steps of an epoch; returns the means of the losses."""
        import torch

        self._networks.train()
        totals: dict[str, float] = {}
        told = time.monotonic()
        with torch.random.fork_rng():
            torch.manual_seed(int(np.random.SeedSequence([self._seed, DROPOUT, epoch]).generate_state(1)[0]))
            for step in range(n_steps):
                for group, rate in zip(self._optimiser.param_groups, self._rates, strict=True):
                    group["lr"] = self._rate(rate, epoch, epochs, step, n_steps)
                losses = losses_of(epoch, step)
                self._optimiser.zero_grad(set_to_none=True)
                losses["loss"].backward()
                torch.nn.utils.clip_grad_norm_(self._networks.parameters(), self._settings.clip_norm)
                self._optimiser.step()
                for name, loss in losses.items():
                    totals[name] = totals.get(name, 0.0) + float(loss.detach())
                if time.monotonic() - told > PROGRESS_SECONDS:
                    told = time.monotonic()
                    logger.info("%s: epoch %d, step %d of %d", self._name, epoch + 1, step + 1, n_steps)
        self._networks.eval()
        return {name: total / n_steps for name, total in totals.items()}

    def _rate(self, first: float, epoch: int, epochs: int, step: int, n_steps: int) -> float:
        """Returns a learning rate: half a cosine to the last one over the epochs, or over the steps after a rise."""
        rise, last = self._settings.warm_up_steps, min(first, self._settings.last_learning_rate)
        share = epoch / epochs
        if rise:
            done = epoch * n_steps + step
            if done < rise:
                return first * (done + 1) / rise
            share = (done - rise) / max(1, epochs * n_steps - rise)
        return last + (first - last) * (1 + math.cos(math.pi * share)) / 2

    def _keep(self, state: dict) -> None:
        """Writes a checkpoint."""
        if self.checkpoint:
            networks, optimiser = self._networks.state_dict(), self._optimiser.state_dict()
            keep_checkpoint(self.checkpoint, self._key, {**state, "networks": networks, "optimiser": optimiser})

    def _resume(self) -> dict | None:
        """Loads the checkpoint into networks and optimiser, and returns the rest; None if there is none that fits."""
        state = take_checkpoint(self.checkpoint, self._key, next(self._networks.parameters()).device)
        if state is None:
            return None
        self._networks.load_state_dict(state.pop("networks"))
        self._optimiser.load_state_dict(state.pop("optimiser"))
        logger.info("%s: goes on after epoch %d", self._name, state["epoch"])
        return state
