"""Models of open_clip that CLIC tuned: the family "clic".

Source: paper "CLIC, arXiv 2505.24424". A training keeps only the tensors that it changed, and what it started from; so
the base is loaded first and they take its tensors' places. Nothing else differs from a model of open_clip, and a
correction ("peakpatch", "negvector") can stand on it.
"""

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from crepebench.backbones import load_backbone
from crepebench.open_clip_models import OpenClipModel

WEIGHTS, CONFIG = "clic.safetensors", "clic.json"
VERSION = 1
"""Version of both files."""
TRAINED_IN = "float32"
"""Precision of the base in a training; a model may be used in another one."""
VISUAL = "visual."
"""Beginning of the names of the vision tower's tensors, in open_clip's state dict."""
DEVICES = ("cpu", "cuda")
"""A training may have run on another device than the one that the model is loaded on."""


class ClicError(ValueError):
    """CLIC's files are missing, of an unknown version, or do not fit each other or the base."""


class ClicModel(OpenClipModel):
    """A model of open_clip some of whose tensors were trained.

    Args:
        base: the model that was tuned, in float32; its tensors are replaced, so it is of no further use.
        tensors: the trained ones, by open_clip's names; names and shapes are the base's.
        config: what CONFIG says.
        precision: one of `crepebench.models.PRECISIONS`.
    """

    def __init__(self, base: OpenClipModel, tensors: Mapping, config: Mapping, precision: str = TRAINED_IN):
        self.base_identity = base.identity
        self.config = dict(config)
        state = base.model.state_dict()
        for name, tensor in tensors.items():
            state[name].copy_(tensor)
        super().__init__(base.model, base.preprocess, base._tokeniser, base._device, precision)
        self._trained = tuple(sorted(tensors))

    @cached_property
    def identity(self) -> str:
        """Digest of the base's identity and the trained tensors, their names with them."""
        from safetensors.torch import save

        state = self.model.state_dict()
        digest = hashlib.sha256(f"clic {VERSION} {self._precision} {self.base_identity}".encode())
        digest.update(save({name: state[name].cpu().contiguous() for name in self._trained}))
        return digest.hexdigest()[:32]

    @property
    def image_identity(self) -> str:
        """Identity of the model whose image features these are, bit for bit: the base, if vision did not change."""
        is_bases = self._precision == TRAINED_IN and not any(name.startswith(VISUAL) for name in self._trained)
        return self.base_identity if is_bases else self.identity


def load(definition: Mapping, weights_paths: list[str], device: str) -> ClicModel:
    """Loads a tuned model.

    Args:
        definition: config entry: `backbone` (another entry, of a family of open_clip's models, whose `precision` is
            the tuned model's too), and `variant`.
        weights_paths: files of the base's weights, then WEIGHTS and CONFIG.
        device: "cpu" or "cuda".

    Raises:
        ClicError: files are missing, given twice, of another version or variant, or do not fit the base.
        BackboneError: the base is no model of open_clip.
    """
    found = {name: [path for path in weights_paths if Path(path).name == name] for name in (WEIGHTS, CONFIG)}
    if missing := sorted(name for name, paths in found.items() if not paths):
        raise ClicError(f"the model lacks {', '.join(missing)}: rule train_clic writes them")
    if twice := sorted(path for paths in found.values() if len(paths) > 1 for path in paths):
        raise ClicError(f"one training is wanted, not {', '.join(twice)}: a tuned model cannot be tuned again")
    (weights_path,), (config_path,) = found.values()
    precision = definition.get("backbone", {}).get("precision", TRAINED_IN)
    full = {**definition, "backbone": {**definition.get("backbone", {}), "precision": TRAINED_IN}}
    base = load_backbone(full, [path for path in weights_paths if Path(path).name not in found], device)
    config = read_config(config_path)
    if definition.get("variant", config["variant"]) != config["variant"]:
        raise ClicError(f"{config_path} is of variant {config['variant']!r}, not {definition['variant']!r}")
    # Bases on another device have another identity, though their weights are the same.
    others = (base.identity_on(name) for name in DEVICES if name != device)
    if config["base_identity"] != base.identity and config["base_identity"] not in others:
        raise ClicError(
            f"{config_path} is of another base: {config['base_identity']}, not {base.identity} "
            "(weights, preprocessing or tokens differ)"
        )
    return ClicModel(base, read_tensors(weights_path, config, base), config, precision)


def read_config(path: str) -> dict:
    """Reads CONFIG.

    Raises:
        ClicError: it is no JSON object, of an unknown version, or a key is missing.
    """
    try:
        config = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ClicError(f"{path}: no JSON: {error}") from error
    if not isinstance(config, dict) or config.get("version") != VERSION:
        version = config.get("version") if isinstance(config, dict) else None
        raise ClicError(f"{path}: unknown version {version!r}, not {VERSION}")
    if missing := [key for key in ("variant", "seed", "base_identity", "tensors") if key not in config]:
        raise ClicError(f"{path}: the keys {', '.join(missing)} are missing")
    return config


def read_tensors(path: str, config: Mapping, base: OpenClipModel) -> dict:
    """Reads WEIGHTS and compares names with CONFIG, names and shapes with the base.

    Raises:
        ClicError: the file cannot be read or does not fit, or holds what is no number; names file and tensor.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        tensors = load_file(path)
    except (SafetensorError, OSError) as error:
        raise ClicError(f"{path} cannot be read: {error}") from error
    if differing := sorted(set(tensors) ^ set(config["tensors"])):
        raise ClicError(f"{path} and {CONFIG} do not speak of the same tensors: {', '.join(differing)}")
    state = base.model.state_dict()
    for name, tensor in sorted(tensors.items()):
        if name not in state:
            raise ClicError(f"{path}: the base has no tensor {name!r}")
        if tensor.shape != state[name].shape:
            raise ClicError(
                f"{path}: {name!r} has the shape {tuple(tensor.shape)}, in the base {tuple(state[name].shape)}"
            )
        if not tensor.isfinite().all():
            raise ClicError(f"{path}: {name!r} holds what is no number")
    return tensors
