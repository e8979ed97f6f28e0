"""Read checkpoints into plain state dicts, without running what is in them where that can be avoided.

A `.safetensors` file holds tensors only. Any other file goes through torch with `weights_only`, which builds tensors
and plain containers and refuses everything else. OpenAI's released CLIP files are TorchScript archives, of which
`crepebench.torchscript_archives` reads the weights and leaves the code alone.
"""

import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from crepebench.torchscript_archives import ArchiveError, read_archive

SHOWN = 5
"""Keys that an error lists."""
WRAPPERS = ("state_dict", "model", "model_state_dict", "module", "net")
"""Keys under which training loops save the state dict beside the optimiser and the like."""
PREFIXES = ("module.", "_orig_mod.", "model.", "clip.", "clip_model.")
"""What wrappers put before every key: distributed training, compilation, a model that holds the network."""
SIZES = ("input_resolution", "context_length", "vocab_size")
"""Numbers that OpenAI's archives hold among the weights."""


class CheckpointError(ValueError):
    """A checkpoint cannot be read, or does not fit the model."""


def is_torchscript(path: str | Path) -> bool:
    """Says whether a file is a TorchScript archive."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return any(name.endswith("/constants.pkl") for name in archive.namelist())


def read_state_dict(path: str | Path) -> dict:
    """Reads the state dict of a checkpoint, without the wrappers around it and the prefixes of its keys.

    Raises:
        CheckpointError: the file holds objects other than tensors and plain containers, or no state dict.
    """
    import torch

    if str(path).endswith(".safetensors"):
        from safetensors.torch import load_file

        return strip_prefixes(load_file(str(path)))
    if is_torchscript(path):
        try:
            state = read_archive(str(path))
        except ArchiveError as error:
            raise CheckpointError(f"{path}, a TorchScript archive, cannot be read as weights alone: {error}") from error
        return {key: tensor for key, tensor in strip_prefixes(state).items() if key not in SIZES}
    try:
        document = torch.load(path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path) or None)
    except Exception as error:  # the unpickler raises whatever the file makes it do
        raise CheckpointError(
            f"{path} cannot be read as weights alone ({str(error).splitlines()[0]}); if you trust the file, load it "
            f"elsewhere with pickle and save its state dict with safetensors.torch.save_file"
        ) from error
    return {key: value for key, value in strip_prefixes(unwrap(document, str(path))).items() if key not in SIZES}


def unwrap(document, name: str) -> dict:
    """Returns the state dict in what a training loop saved.

    Args:
        document: the state dict, or a dict that holds it under one of WRAPPERS.
        name: of the file, for the error.

    Raises:
        CheckpointError: it holds none.
    """
    import torch

    found = document
    while isinstance(found, Mapping) and not any(isinstance(value, torch.Tensor) for value in found.values()):
        found = next((found[key] for key in WRAPPERS if isinstance(found.get(key), Mapping)), None)
    if not isinstance(found, Mapping):
        keys = list(document)[:SHOWN] if isinstance(document, Mapping) else type(document).__name__
        raise CheckpointError(f"{name} holds no state dict, but {keys}")
    return {key: value for key, value in found.items() if isinstance(value, torch.Tensor)}


def strip_prefixes(state: Mapping) -> dict:
    """Removes what stands before every key of a state dict, as long as it is one of PREFIXES."""
    state = dict(state)
    while state:
        prefix = next((prefix for prefix in PREFIXES if all(key.startswith(prefix) for key in state)), None)
        if prefix is None:
            break
        state = {key.removeprefix(prefix): value for key, value in state.items()}
    return state


def load_into(model, state: Mapping, name: str, optional: Iterable[str] = ()) -> None:
    """Loads a state dict into a model; every key and shape must fit.

    Args:
        model: torch module.
        state: state dict.
        name: of the checkpoint, for the error.
        optional: keys that may be missing, since no feature depends on them.

    Raises:
        CheckpointError: keys are missing, unknown, or have another shape; lists the first few.
    """
    own = model.state_dict()
    state = {key: _reshaped(value, own.get(key)) for key, value in state.items()}
    faults = {
        "lacks": [key for key in own if key not in state and key not in set(optional)],
        "holds, unknown to the model": [key for key in state if key not in own],
        "holds in another shape": [
            f"{key} {tuple(state[key].shape)}, not {tuple(own[key].shape)}"
            for key in state
            if key in own and state[key].shape != own[key].shape
        ],
    }
    texts = [f"it {what}: {_first(keys)}" for what, keys in faults.items() if keys]
    if texts:
        raise CheckpointError(f"{name} does not fit the architecture; " + "; ".join(texts))
    model.load_state_dict(state, strict=False)


def _reshaped(value, own):
    """Returns a tensor of one number in the shape in which the model holds it."""
    return value.reshape(own.shape) if own is not None and value.numel() == own.numel() == 1 else value


def _first(keys: list[str]) -> str:
    rest = len(keys) - SHOWN
    return ", ".join(keys[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")
