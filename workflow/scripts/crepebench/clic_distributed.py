"""Several processes, one GPU each, that train as one process would with the same batch.

Every process has all weights and its share of each batch. Features are gathered, each process computes the loss of the
whole batch and its gradient with respect to all features, and takes its own through its own share of the network; the
sum over processes is then the gradient of the whole batch, to rounding. `torchrun` starts the processes.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

PATIENCE = timedelta(hours=2)
"""How long processes wait for one that validates or writes."""


class Processes(NamedTuple):
    """Where a process stands among those of a training.

    Attributes:
        rank: its number.
        world: how many there are.
        device: "cpu", "cuda" or "cuda:<number>".
    """

    rank: int = 0
    world: int = 1
    device: str = "cpu"

    @property
    def is_first(self) -> bool:
        """Says whether this one logs and writes."""
        return self.rank == 0

    def gather(self, rows):
        """Returns rows of all processes in the order of their ranks, without a gradient.

        Args:
            rows: (n, ...) tensor, of one shape in all processes.
        """
        import torch

        if self.world == 1:
            return rows.detach()
        found = [torch.empty_like(rows) for _ in range(self.world)]
        torch.distributed.all_gather(found, rows.detach().contiguous())
        return torch.cat(found)

    def own(self, rows):
        """Returns what of gathered rows is this process's own."""
        n = len(rows) // self.world
        return rows[self.rank * n : (self.rank + 1) * n]

    def sum_gradients(self, parameters: Iterable) -> None:
        """Adds up the gradients of all processes, in place."""
        import torch

        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        if self.world == 1 or not gradients:
            return
        bucket = torch.cat([gradient.reshape(-1) for gradient in gradients])
        torch.distributed.all_reduce(bucket)
        start = 0
        for gradient in gradients:
            gradient.copy_(bucket[start : start + gradient.numel()].view_as(gradient))
            start += gradient.numel()

    def total(self, counts: Counter) -> Counter:
        """Returns the counts of all processes in the first one, and none in the others."""
        import torch

        if self.world == 1:
            return counts
        found = [None] * self.world
        torch.distributed.all_gather_object(found, dict(counts))
        return sum(map(Counter, found), Counter()) if self.is_first else Counter()

    def wait(self) -> None:
        """Waits until all processes have come here."""
        import torch

        if self.world > 1:
            torch.distributed.barrier()


@contextmanager
def joined_processes() -> Iterator[Processes]:
    """Yields where this process stands, joined with the others if `torchrun` has started it."""
    import torch

    rank, world, local = (int(os.environ.get(name, default)) for name, default in _VARIABLES)
    cuda = torch.cuda.is_available()
    if world == 1:
        yield Processes(device="cuda" if cuda else "cpu")
        return
    if cuda:
        torch.cuda.set_device(local)
    torch.distributed.init_process_group("nccl" if cuda else "gloo", timeout=PATIENCE)
    try:
        yield Processes(rank, world, f"cuda:{local}" if cuda else "cpu")
    finally:
        torch.distributed.destroy_process_group()


_VARIABLES = (("RANK", 0), ("WORLD_SIZE", 1), ("LOCAL_RANK", 0))


def launch(n_processes: int, module: str, arguments: dict, folder: str) -> None:
    """Runs a module in several processes of this machine, with `torchrun`.

    Args:
        n_processes: how many.
        module: of this library; it is given the path of a JSON file with the arguments.
        arguments: of the module.
        folder: for that file.

    Raises:
        subprocess.CalledProcessError: a process failed; what it said stands in the log.
    """
    path = Path(folder) / "arguments.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(arguments), encoding="utf-8")
    library = str(Path(__file__).resolve().parents[1])
    paths = [library, os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(n_processes)]
    command += ["-m", module, str(path)]
    try:
        with subprocess.Popen(command, env=environment) as process:
            try:
                code = process.wait()
            except BaseException:
                process.terminate()  # torchrun ends the processes that it has started
                raise
    finally:
        path.unlink()
    if code:
        raise subprocess.CalledProcessError(code, command)
