"""Refuse a CLIP checkpoint under an architecture with another activation than it was trained with.

OpenAI's CLIP and what was trained like it use QuickGELU, later models GELU; the weights do not show which. A wrong one
lowers scores by some points and nothing else tells (open_clip issue 771, sugar-crepe issue 7).
"""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

HASH_DIGITS = 8
"""Digits of a SHA-256 in the names of open_clip's released files."""
WAIVED = "waived"
"""Value of a model's key `activation` that lets a mismatch pass."""


class ActivationError(ValueError):
    """A checkpoint needs another activation than the architecture has."""


def check_activation(definition: Mapping, architecture: str, needs_quick_gelu: bool | None) -> None:
    """Checks an architecture of open_clip against what a checkpoint needs.

    Args:
        definition: the model's config entry; its key `activation` may waive the check.
        architecture: open_clip's name.
        needs_quick_gelu: None where nothing is known of the checkpoint.

    Raises:
        ActivationError: they differ; names the architecture that fits.
    """
    import open_clip

    has = bool((open_clip.get_model_config(architecture) or {}).get("quick_gelu", False))
    if needs_quick_gelu in (None, has) or definition.get("activation") == WAIVED:
        return
    fitting = f"{architecture}-quickgelu" if needs_quick_gelu else architecture.removesuffix("-quickgelu")
    names = {True: "QuickGELU", False: "GELU"}
    raise ActivationError(
        f"{definition.get('weights', 'the checkpoint')!r} was trained with {names[needs_quick_gelu]}, but "
        f"{architecture!r} has {names[has]}: use the architecture {fitting!r}, or waive this with activation: {WAIVED}"
    )


def known_activation(architecture: str, tag: str = "", path: str = "") -> bool | None:
    """Returns whether a checkpoint needs QuickGELU, as far as open_clip knows it by its tag, file name or hash.

    Args:
        architecture: open_clip's name, for the tag.
        tag: open_clip's tag of the weights.
        path: file of the weights.
    """
    import open_clip

    from crepebench.checkpoints import is_torchscript

    for name in (architecture, architecture.removesuffix("-quickgelu")) if tag else ():
        if open_clip.is_pretrained_cfg(name, tag):
            return bool(open_clip.get_pretrained_cfg(name, tag).get("quick_gelu", False))
    if not path or not Path(path).is_file():
        return None
    # ASSUME: TorchScript archives are OpenAI's releases, which use QuickGELU. Nobody else has released CLIP so.
    if is_torchscript(path):
        return True
    released = _released_files()
    if Path(path).name in released:
        return released[Path(path).name]
    with open(path, "rb") as stream:
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    return released.get(sha256[:HASH_DIGITS])


def _released_files() -> dict[str, bool]:
    """Returns whether released files need QuickGELU, by name and by the start of their SHA-256, which their URL holds.

    Only names that hold a hash count: anybody may call a file ViT-B-32.pt.
    """
    import open_clip

    released = {}
    for architecture, tag in open_clip.list_pretrained():
        config = open_clip.get_pretrained_cfg(architecture, tag)
        folder, _, name = config["url"].rpartition("/")
        needs = bool(config.get("quick_gelu", False))
        if match := re.search(rf"-([0-9a-f]{{{HASH_DIGITS}}})\.\w+$", name):
            released |= {name: needs, match[1]: needs}
        elif match := re.search(r"/([0-9a-f]{64})$", folder):
            released[match[1][:HASH_DIGITS]] = needs
    return released
