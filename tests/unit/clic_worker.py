"""One of several processes that train together; `test_clic_distributed` starts it."""

import json
import sys
from pathlib import Path

import torch

from crepebench.clic_distributed import Processes, joined_processes
from crepebench.clic_training import Trained, train

from .clic_files import make_parts

OPTIONS = {"epochs": 1, "batch_size": 12, "micro_batch": 4, "eps": 1e-3}
"""Two steps, one of each kind. AdamW makes a whole step of a gradient that is zero but for rounding, as is that of the
bias of keys; a larger eps does not."""


def train_tiny(folder: Path, images: list, sentences: list, processes: Processes, kept: str | None) -> Trained:
    """Trains two steps on 24 items; keeps checkpoints in a folder."""
    torch.set_num_threads(1)
    parts = make_parts(folder, images, sentences, OPTIONS, "both", processes=processes)
    given = (parts.steps, parts.examples, parts.batches, None, parts.variant, parts.settings, 1, processes)
    return train(*given, kept)


def main(path: str) -> None:
    """Trains with the others, and saves what this process has then."""
    given = json.loads(Path(path).read_text())
    folder = Path(given["folder"])
    with joined_processes() as processes:
        trained = train_tiny(folder, given["images"], given["sentences"], processes, str(folder / "kept"))
        torch.save([trained.tensors, trained.curve, dict(trained.counts)], folder / f"{processes.rank}.pt")


if __name__ == "__main__":
    main(sys.argv[1])
