from pathlib import Path
from subprocess import CalledProcessError

import pytest
import torch

from crepebench.clic_distributed import Processes, launch

from .clic_files import load_base, write_images
from .clic_worker import train_tiny

WORKER = f"{__package__}.clic_worker"


@pytest.mark.slow
def test_two_processes_train_as_one_does_with_the_whole_batch(tmp_path, monkeypatch):
    images, sentences = write_images(tmp_path / "images")
    load_base(tmp_path / "base")
    root = Path(__file__).parents[len(__package__.split("."))]
    monkeypatch.setenv("PYTHONPATH", str(root))
    launch(2, WORKER, {"folder": str(tmp_path), "images": images, "sentences": sentences}, str(tmp_path / "run"))
    (tensors, curve, counts), (others, *_) = (torch.load(tmp_path / f"{rank}.pt") for rank in (0, 1))
    assert all(torch.equal(tensors[name], others[name]) for name in tensors)  # processes do not drift apart
    alone = train_tiny(tmp_path, images, sentences, Processes(), None)
    for name, tensor in alone.tensors.items():
        torch.testing.assert_close(tensors[name], tensor, atol=1e-6, rtol=0, msg=name)
    assert [row["loss"] for row in curve] == pytest.approx([row["loss"] for row in alone.curve], abs=1e-6)
    assert counts == dict(alone.counts)
    assert counts["joined"] == 12
    assert not (tmp_path / "run" / "arguments.json").exists()


@pytest.mark.slow
def test_a_process_that_fails_fails_the_training(tmp_path):
    with pytest.raises(CalledProcessError):
        launch(1, "crepebench.no_such_module", {}, str(tmp_path))


def test_one_process_needs_no_others():
    alone, rows = Processes(), torch.arange(6.0)
    assert torch.equal(alone.own(alone.gather(rows)), rows)
    assert Processes(rank=1, world=3).own(rows).tolist() == [2.0, 3.0]
