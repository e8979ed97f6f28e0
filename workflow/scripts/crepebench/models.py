"""Vision-language models behind one small interface, whatever their family.

A model preprocesses pictures, tokenises texts, encodes both into unit features, says by its identity what shaped them,
and scores pairs of features. Nothing outside this interface knows a tokenizer, an end token or a kind of network. A
family is one module that gives a `load` function; `crepebench.model_families` lists them, docs/models.md shows one.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from crepebench.text_trimming import encode_trimmed_texts, trim_tokens  # noqa: F401 (the icons world takes them here)

CONFIG_FILE = "open_clip_config.json"
WEIGHTS_FILE = "open_clip_model.safetensors"
"""Files of a folder that open_clip loads by itself."""
TOKENISER_PROBE = "A photo of 3 dogs, one naive café & 12,000 unseeable antidisestablishmentarians."
"""Its tokens, alone and repeated beyond any context, stand for the tokenizer in a model's identity."""
PRECISIONS = ("float32", "float16", "bfloat16")
"""Types of the weights, and of what is computed with them; features are float32 in any case."""


class Tokens(NamedTuple):
    """Texts as a model reads them.

    Attributes:
        ids: (n, length) int64 tensor on the CPU.
        mask: (n, length) int64 tensor, 0 where the text has ended; None for a model that is given none.
        n_tokens: (n,) int64, tokens that each text needs, with the marks of its beginning and end.
        limit: most tokens that the model reads; a text with more is cut.
    """

    ids: "torch.Tensor"
    mask: "torch.Tensor | None"
    n_tokens: np.ndarray
    limit: int


class ImagePlan(NamedTuple):
    """What a model's preprocessing does: resize (antialiased), central crop, numbers from 0 to 1, mean and deviation.

    Attributes:
        size: (height, width) of the result, in pixels.
        resize: "shortest" (the shorter side becomes the size, then the centre is cut out) or "squash" (both sides do).
        interpolation: "bicubic" or "bilinear".
        mean: of each channel, subtracted.
        std: of each channel, divided by.
    """

    size: tuple[int, int]
    resize: str
    interpolation: str
    mean: tuple[float, ...]
    std: tuple[float, ...]


class FeatureError(ValueError):
    """A model gave features that are no numbers, or zero."""


class Model(ABC):
    """A vision-language model.

    Attributes:
        preprocess: gives the (3, height, width) float32 tensor of a PIL image.
        image_plan: what `preprocess` does, where an ImagePlan says it exactly, else None.
    """

    preprocess: Callable
    image_plan: ImagePlan | None = None

    @property
    @abstractmethod
    def identity(self) -> str:
        """Digest of all that shapes a feature: weights, layers, preprocessing, tokens, precision, device."""

    @property
    def image_identity(self) -> str:
        """Identity of the model whose features of images it takes over (`adopt_images`); its own, if of none."""
        return self.identity

    @abstractmethod
    def tokenise(self, texts: Sequence[str]) -> Tokens:
        """Turns texts into tokens; what is over the limit is cut, as by the model's own tokenizer."""

    @abstractmethod
    def encode_images(self, images) -> np.ndarray:
        """Encodes preprocessed images: (n, 3, height, width) float32 tensor to (n, dim) float32, unit rows."""

    @abstractmethod
    def encode_tokens(self, tokens: Tokens) -> np.ndarray:
        """Encodes tokens: (n, dim) float32, unit rows; padding may be trimmed where that changes nothing."""

    def adopt_images(self, features: np.ndarray) -> np.ndarray:
        """Returns its features of images, (n, dim), given those of the model of `image_identity`; no bit differs."""
        return features

    def encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Encodes texts: (n, dim) float32, unit rows."""
        return self.encode_tokens(self.tokenise(texts))

    def score(self, images: np.ndarray, texts: np.ndarray) -> np.ndarray:
        """Scores pairs of cached features; the greater, the better the text fits.

        Args:
            images: (n, dim), one row for each pair.
            texts: (n, dim), as above.

        Returns:
            (n,) float64: cosines, row by row, so that equal texts score exactly alike.
        """
        return (texts.astype(np.float64) * images.astype(np.float64)).sum(axis=1)


class TorchModel(Model):
    """A model that is one torch module; families derive from it.

    Args:
        model: the module, its weights loaded; it is set to evaluation mode and moved.
        preprocess: gives the tensor of a PIL image; its text (`repr`) must say all that it does.
        device: "cpu" or "cuda".
        precision: one of PRECISIONS.
        details: what shapes a feature and shows neither in the text of `model` nor in that of `preprocess`.
    """

    def __init__(self, model, preprocess: Callable, device: str, precision: str = "float32", details: str = ""):
        import torch

        if precision not in PRECISIONS:
            raise ValueError(f"unknown precision {precision!r}: use one of {', '.join(PRECISIONS)}")
        self.dtype = getattr(torch, precision)
        self.model = model.eval().to(device, self.dtype)
        self.preprocess = preprocess
        self._device, self._precision, self._details = device, precision, details

    @abstractmethod
    def image_features(self, images):
        """Returns the (n, dim) features of images on the model's device, in its precision, of any length."""

    @abstractmethod
    def text_features(self, ids, mask):
        """Returns the (n, dim) features of tokens on the model's device, of any length; `mask` is as in Tokens."""

    @cached_property
    def identity(self) -> str:
        """Digest of all that shapes a feature."""
        return self.identity_on(self._device)

    def identity_on(self, device: str) -> str:
        """Returns the identity that this model has on a device, be it there or not."""
        shape = "\n".join([f"{self.model}", f"{self.preprocess}", self._details, self._precision, device])
        digest = hashlib.sha256(shape.encode())
        tokens = self.tokenise([TOKENISER_PROBE, " ".join([TOKENISER_PROBE] * 40)])
        for part in (tokens.ids, tokens.mask):
            digest.update(b"" if part is None else part.numpy().tobytes())
        for name, tensor in sorted(self.model.state_dict().items()):
            digest.update(name.encode())
            digest.update(_content(tensor))
        return digest.hexdigest()[:32]

    def encode_images(self, images) -> np.ndarray:
        """Encodes preprocessed images."""
        import torch

        with torch.inference_mode():
            return unit_rows(self.image_features(images.to(self._device, self.dtype)))

    def encode_tokens(self, tokens: Tokens) -> np.ndarray:
        """Encodes tokens."""
        import torch

        with torch.inference_mode():
            mask = None if tokens.mask is None else tokens.mask.to(self._device)
            return unit_rows(self.text_features(tokens.ids.to(self._device), mask))


def truncated_ids(tokens: Tokens) -> np.ndarray:
    """Returns which texts are cut: (n,) bool. Two texts are one to a model if their rows of `ids` are equal."""
    return tokens.n_tokens > tokens.limit


def load_model(definition: dict, weights_paths: Sequence[str] = ()) -> Model:
    """Loads the model of a config entry onto the GPU if there is one, else the CPU with one thread.

    Args:
        definition: entry of `models.definitions`.
        weights_paths: the files that hold the weights: one checkpoint, the files of one folder, or the index of
            what was fetched (`crepebench.weights`); empty where the entry names a tag that is fetched on the way.

    Raises:
        ValueError: the family is unknown, or the weights are at a URL and not fetched.
    """
    import torch

    from crepebench.model_families import FAMILIES
    from crepebench.weight_sources import is_url
    from crepebench.weights import fetched_paths

    if definition["family"] not in FAMILIES:
        raise ValueError(f"unknown model family {definition['family']!r}: use one of {', '.join(sorted(FAMILIES))}")
    paths = fetched_paths(weights_paths)
    if not paths and is_url(definition.get("weights", "")):
        raise ValueError(f"{definition['weights']} is not fetched: rule fetch_weights does that")
    torch.set_num_threads(1)  # features differ in their last digits between one and two threads
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return FAMILIES[definition["family"]](definition, paths, device)


def unit_rows(features) -> np.ndarray:
    """Returns features as float32 rows of length one; the length is taken of float32 numbers in any precision.

    Args:
        features: (n, dim) tensor.

    Raises:
        FeatureError: a row is zero or holds what is no number.
    """
    array = features.float().cpu().numpy()
    lengths = np.linalg.norm(array, axis=1, keepdims=True)
    n_bad = int((~np.isfinite(lengths) | (lengths == 0)).sum())
    if n_bad:
        raise FeatureError(f"{n_bad} of {len(array)} features are zero or no numbers; float16 may be too narrow")
    return array / lengths


def _content(tensor) -> bytes:
    """Returns the bytes of a tensor of any type."""
    import torch

    return tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
