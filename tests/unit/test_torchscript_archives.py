import pickle
import warnings
import zipfile

import pytest
import torch

from crepebench.checkpoints import CheckpointError, read_state_dict
from crepebench.torchscript_archives import ArchiveError, read_archive

warnings.filterwarnings("ignore", message=".*torch.jit.*")


class Block(torch.nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.linear = torch.nn.Linear(width, width)
        self.norm = torch.nn.BatchNorm1d(width)
        self.mask = torch.ones(width, width)  # an attribute, as OpenAI's attn_mask is
        self.sizes = [width, 2]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.linear(x) + self.mask[0])


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.Sequential(Block(4), Block(4).half().float())
        self.scale = torch.nn.Parameter(torch.tensor(2.0).half())
        self.tied = self.blocks[0].linear.weight
        self.register_buffer("part", torch.arange(12).reshape(3, 4)[:, 1:3])
        self.register_buffer("input_resolution", torch.tensor(224))
        self.register_buffer("none", torch.empty(0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.blocks(x) * self.scale


@pytest.mark.parametrize("make", [torch.jit.script, lambda net: torch.jit.trace(net, torch.ones(3, 4))])
def test_weights_are_those_that_torch_would_load(tmp_path, make):
    torch.manual_seed(1)
    path = str(tmp_path / "a.pt")
    make(Net().eval()).save(path)
    found, expected = read_archive(path), torch.jit.load(path).state_dict()
    assert set(found) == set(expected)
    for name, tensor in expected.items():
        assert found[name].dtype == tensor.dtype and torch.equal(found[name], tensor), name


def rewritten(path, member: str, change) -> None:
    """Changes one member of an archive, by the end of its name."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, change(content) if name.endswith(member) else content)


class Writer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.ones(2)

    @torch.jit.export
    def __getstate__(self) -> tuple[torch.Tensor, bool]:
        return (self.weight, self.training)

    @torch.jit.export
    def __setstate__(self, state: tuple[torch.Tensor, bool]) -> None:
        self.weight = state[0] + torch.from_file("FILE", True, 10).fill_(3.0).sum()
        self.training = state[1]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


def test_code_of_an_archive_is_not_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # loading such an archive with torch writes the file FILE
    torch.jit.script(Writer()).save("a.pt")
    with pytest.raises(CheckpointError, match=r"a\.pt, a TorchScript archive.* the state of a module is a tuple"):
        read_state_dict("a.pt")
    assert not (tmp_path / "FILE").exists()
    torch.jit.load("a.pt")
    assert (tmp_path / "FILE").exists()


class Harm:
    def __reduce__(self):
        return open, ("FILE", "w")


def test_a_pickle_in_an_archive_can_name_nothing_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.jit.script(Net()).save("a.pt")
    rewritten("a.pt", "/data.pkl", lambda _: pickle.dumps(Harm()))
    with pytest.raises(ArchiveError, match=r"it names .*open, which weights do not need"):
        read_archive("a.pt")
    assert not (tmp_path / "FILE").exists()


@pytest.mark.parametrize(
    ("member", "change"),
    [
        ("/data.pkl", lambda content: content[:50]),
        ("/data.pkl", lambda _: pickle.dumps({})),
        ("/data/0", lambda _: b""),
        ("/test_torchscript_archives.py", lambda _: b"class Other(Module):\n  __parameters__ = []\n"),
    ],
)
def test_a_damaged_archive_is_refused(tmp_path, member, change):
    path = str(tmp_path / "a.pt")
    torch.jit.script(Net()).save(path)
    rewritten(path, member, change)
    with pytest.raises(CheckpointError, match=r"a\.pt, a TorchScript archive, cannot be read as weights alone"):
        read_state_dict(path)
