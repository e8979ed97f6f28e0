"""Keep and take up the state of a training that may be killed."""

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path

from crepebench.files import atomic_path

logger = logging.getLogger(__name__)


def keep_checkpoint(path: Path, key: str, state: Mapping) -> None:
    """Writes a checkpoint.

    Args:
        path: of the file.
        key: digest of all that the training depends on.
        state: tensors, numbers, texts, and lists and dicts of these.
    """
    import torch

    with atomic_path(str(path)) as partial:
        torch.save({**state, "key": key}, partial)


def take_checkpoint(path: Path | None, key: str, device) -> dict | None:
    """Returns the state that was kept; None if there is none, or that of a training with another key.

    Args:
        path: of the file; None where nothing is kept.
        key: as it was given to `keep_checkpoint`.
        device: for the tensors.
    """
    import torch

    if path is None or not path.exists():
        return None
    state = torch.load(path, map_location=device, weights_only=True)
    if state.pop("key") != key:
        logger.warning("%s is of another training and is not used", path)
        return None
    return state


def remove_checkpoints(paths: Iterable[Path], folder: str) -> None:
    """Removes checkpoints, and their folder if nothing else is in it."""
    for path in paths:
        path.unlink(missing_ok=True)
    if Path(folder).is_dir() and not any(Path(folder).iterdir()):
        Path(folder).rmdir()
