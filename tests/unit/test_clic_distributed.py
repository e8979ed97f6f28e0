import csv
import json
from subprocess import CalledProcessError

import pytest
import torch
from safetensors.torch import load_file

from crepebench.clic_distributed import Processes, launch
from crepebench.clic_runs import MODULE, train_clic

from .clic_inputs import arguments, write_inputs

TWO_STEPS = {"epochs": 2, "batch_size": 12, "micro_batch": 4, "eps": 1e-3}
"""AdamW makes a whole step of a gradient that is zero but for rounding, as is that of the bias of keys; with a larger
eps it does not."""


def losses(path):
    with open(path, newline="") as file:
        return [float(row["loss"]) for row in csv.DictReader(file)]


@pytest.mark.slow
def test_two_processes_train_as_one_does_with_the_whole_batch(tmp_path):
    inputs = write_inputs(tmp_path)
    alone, together = (tmp_path / name for name in ("alone", "together"))
    train_clic(**arguments(inputs, alone, "both", **TWO_STEPS))
    launch(2, MODULE, arguments(inputs, together, "both", **TWO_STEPS), str(together))
    found = load_file(together / "clic.safetensors")
    for name, tensor in load_file(alone / "clic.safetensors").items():
        torch.testing.assert_close(found[name], tensor, atol=1e-6, rtol=0, msg=name)
    assert losses(together / "curve.csv") == pytest.approx(losses(alone / "curve.csv"), abs=1e-5)
    assert len(losses(together / "curve.csv")) == 2 + 3 * 2
    counts = [json.loads((folder / "clic.json").read_text())["counts"] for folder in (alone, together)]
    assert counts[0] == counts[1]
    assert not (together / "arguments.json").exists()


@pytest.mark.slow
def test_a_process_that_fails_fails_the_training(tmp_path):
    with pytest.raises(CalledProcessError):
        launch(1, "crepebench.no_such_module", {}, str(tmp_path))


def test_one_process_needs_no_others():
    alone, rows = Processes(), torch.arange(6.0)
    assert torch.equal(alone.own(alone.gather(rows)), rows)
    assert Processes(rank=1, world=3).own(rows).tolist() == [2.0, 3.0]
