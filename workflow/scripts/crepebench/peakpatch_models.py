"""Frozen CLIP models whose text features, and scores, PeakPatch corrects: the family "peakpatch".

Source: paper "PeakPatch, arXiv 2607.23271", section 3. Every caption takes the same path, with and without a negation.
A model with a scorer keeps two features of a text side by side, the corrected one and that of the peak layer, each of
length one over the square root of two, and of an image its feature and zeros; so rows stay of length one, and the
store of features needs to know nothing of it.

Scores are computed so that neither the order of sums nor what stands beside a pair matters: factors are rounded to
multiples of a small power of two, whose products are then summed in float64 without any rounding.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from crepebench.backbones import load_backbone
from crepebench.models import Model, Tokens, unit_rows
from crepebench.open_clip_models import OpenClipModel
from crepebench.peakpatch_settings import ECN, ECN_PART, NO_ANCHOR, SCN, SCN_PART, VARIANTS
from crepebench.peakpatch_sums import exact_gelu, exact_linear, layer_norm
from crepebench.text_layers import TextLayers

WEIGHTS, CONFIG = "peakpatch.safetensors", "peakpatch.json"
VERSION = 1
"""Version of both files."""
HALF = np.sqrt(0.5)


class PeakPatchError(ValueError):
    """PeakPatch's files are missing, or do not fit each other or the backbone."""


class PeakPatchModel(Model):
    """A model of open_clip with corrected text features.

    Args:
        backbone: the frozen model.
        networks: torch ModuleDict with "ecn", "scn" or both.
        config: what CONFIG says.
    """

    def __init__(self, backbone: OpenClipModel, networks, config: Mapping):
        self._backbone, self._config = backbone, dict(config)
        self._layers = TextLayers(backbone.model)
        self._networks = networks.eval().requires_grad_(False)
        self.preprocess, self.image_plan = backbone.preprocess, backbone.image_plan

    @cached_property
    def identity(self) -> str:
        """Digest of the backbone's identity, the weights of both networks, layers and variant."""
        shape = [self._backbone.identity, json.dumps(self._config, sort_keys=True)]
        digest = hashlib.sha256(repr(shape).encode())
        for name, tensor in sorted(self._networks.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.cpu().numpy().tobytes())
        return digest.hexdigest()[:32]

    def tokenise(self, texts: Sequence[str]) -> Tokens:
        """Turns texts into the backbone's tokens."""
        return self._backbone.tokenise(texts)

    @property
    def image_identity(self) -> str:
        """That of the backbone, which is frozen."""
        return self._backbone.image_identity

    def adopt_images(self, features: np.ndarray) -> np.ndarray:
        """Returns features of images, as the backbone has them."""
        return self._backbone.adopt_images(features)

    def encode_images(self, images) -> np.ndarray:
        """Encodes preprocessed images as the backbone does."""
        return self._backbone.encode_images(images)

    def encode_tokens(self, tokens: Tokens) -> np.ndarray:
        """Encodes tokens: corrected features."""
        return self._text_features(tokens)[0]

    def _text_features(self, tokens: Tokens) -> tuple[np.ndarray, np.ndarray]:
        """Returns corrected features and those of the peak layer: (n, dim) float32, unit rows."""
        import torch

        with torch.no_grad():
            whole = self._config["attends"] == "all"
            read = self._layers.read(tokens.ids, self._config["peak"], self._config["anchor"], whole)
            corrected = read.final
            if ECN_PART in self._networks:
                corrected = self._networks[ECN_PART](read.final, read.tokens, read.valid, read.anchor)
            return unit_rows(corrected), unit_rows(read.peak)


class ScoredPeakPatchModel(PeakPatchModel):
    """The same with a scorer of pairs; its features are twice as long."""

    def adopt_images(self, features: np.ndarray) -> np.ndarray:
        """Returns features of images: the backbone's, and zeros: (n, 2 dim)."""
        adopted = self._backbone.adopt_images(features)
        return np.hstack([adopted, np.zeros_like(adopted)])

    def encode_images(self, images) -> np.ndarray:
        """Encodes preprocessed images: the backbone's features, and zeros: (n, 2 dim)."""
        features = self._backbone.encode_images(images)
        return np.hstack([features, np.zeros_like(features)])

    def encode_tokens(self, tokens: Tokens) -> np.ndarray:
        """Encodes tokens: corrected features and those of the peak layer: (n, 2 dim), unit rows."""
        both = np.hstack(self._text_features(tokens)) * np.float32(HALF)
        return both / np.linalg.norm(both, axis=1, keepdims=True)

    def score(self, images: np.ndarray, texts: np.ndarray, text_branch: bool = True) -> np.ndarray:
        """Scores pairs of cached features: cosine of image and corrected text, and the scorer's offset.

        Args:
            images: (n, 2 dim), one row for each pair.
            texts: (n, 2 dim), as above.
            text_branch: False leaves out what the scorer reads of the text alone (a control).

        Returns:
            (n,) float64; equal pairs score exactly alike, whatever stands beside them.
        """
        dim = images.shape[1] // 2
        image = np.asarray(images[:, :dim], np.float64)
        corrected, peak = (np.asarray(part, np.float64) / HALF for part in (texts[:, :dim], texts[:, dim:]))
        cosines = np.stack([(peak * image).sum(axis=1), (corrected * image).sum(axis=1)], axis=1)
        pair = self._context("pair", image * corrected)
        text = np.zeros_like(pair)
        if text_branch:  # a text stands in many pairs, and is read once
            keys = np.ascontiguousarray(texts).view(f"V{texts.itemsize * texts.shape[1]}").ravel()
            _, first, places = np.unique(keys, return_index=True, return_inverse=True)
            text = self._context("text", np.hstack([peak[first], corrected[first]]))[places]
        head = self._scorer["head"]
        hidden = exact_gelu(exact_linear(np.hstack([cosines, text, pair]), *head["0"]))
        return cosines[:, 1] + self._largest * np.tanh(exact_linear(hidden, *head["3"]))[:, 0]

    def _context(self, name: str, features: np.ndarray) -> np.ndarray:
        """Returns what one of the scorer's two encoders makes of features: (n, CONTEXT) float64."""
        layers = self._scorer[name]
        hidden = layer_norm(exact_linear(features, *layers["0"]), *layers["1"])
        return exact_linear(exact_gelu(hidden), *layers["3"])

    @cached_property
    def _scorer(self) -> dict:
        """Weight and bias of the scorer's layers as float64, by part and number."""
        found: dict = {}
        for name, tensor in self._networks[SCN_PART].state_dict().items():
            part, number, _ = name.split(".")
            found.setdefault(part, {}).setdefault(number, []).append(tensor.cpu().numpy().astype(np.float64))
        return found

    @cached_property
    def _largest(self) -> float:
        return self._networks[SCN_PART].largest


def load(definition: Mapping, weights_paths: list[str], device: str) -> PeakPatchModel:
    """Loads a corrected model.

    Args:
        definition: config entry: `backbone` (another entry, of a family of open_clip's models), and `variant`.
        weights_paths: files of the backbone's weights, then WEIGHTS and CONFIG.
        device: "cpu" or "cuda".

    Raises:
        PeakPatchError: files are missing or do not fit.
        BackboneError: the backbone is no model of open_clip.
    """
    found = {Path(path).name: path for path in weights_paths if Path(path).name in (WEIGHTS, CONFIG)}
    if missing := sorted({WEIGHTS, CONFIG} - set(found)):
        raise PeakPatchError(f"the model lacks {', '.join(missing)}: rule train_peakpatch writes them")
    rest = [path for path in weights_paths if path not in found.values()]
    backbone = load_backbone(definition, rest, device)
    config = json.loads(Path(found[CONFIG]).read_text(encoding="utf-8"))
    if definition.get("variant", config["variant"]) != config["variant"]:
        raise PeakPatchError(f"{found[CONFIG]} is of variant {config['variant']!r}, not {definition['variant']!r}")
    networks = read_networks(found[WEIGHTS], config).to(device)
    layers = TextLayers(backbone.model)
    expected = {"width": layers.width, "dim": layers.dim, "n_layers": layers.n_layers}
    if expected != {key: config[key] for key in expected}:
        raise PeakPatchError(f"{found[CONFIG]} is of another backbone: {expected} is not what it says")
    kind = ScoredPeakPatchModel if SCN_PART in networks else PeakPatchModel
    return kind(backbone, networks, config)


def read_networks(path: str, config: Mapping):
    """Reads the networks of a training as a torch ModuleDict.

    Raises:
        PeakPatchError: the version or variant is unknown, or the weights do not fit.
    """
    import torch
    from safetensors.torch import load_file

    from crepebench import peakpatch_networks as parts

    if config.get("version") != VERSION or config.get("variant") not in VARIANTS:
        raise PeakPatchError(f"{path}: unknown version {config.get('version')!r} or variant {config.get('variant')!r}")
    networks = torch.nn.ModuleDict()
    if config["variant"] != SCN:
        form = parts.NO_ANCHOR if config["variant"] == NO_ANCHOR else parts.FULL
        hidden = config.get("hidden", parts.HIDDEN)
        networks[ECN_PART] = parts.Correction(config["width"], config["dim"], form, config["attends"], hidden)
    if config["variant"] != ECN:
        largest = config.get("largest_offset", parts.LARGEST_OFFSET)
        networks[SCN_PART] = parts.Scorer(config["dim"], largest=largest)
    try:
        networks.load_state_dict(load_file(path))
    except (RuntimeError, OSError) as error:
        raise PeakPatchError(f"{path} does not fit what {CONFIG} says of it: {error}") from error
    return networks.eval()
