"""Frozen CLIP models with a correction that needs no training: the family "negvector".

The feature of a caption with a negation is that of what it affirms, less a share of that of what it denies:
normalise(f(affirmed) - beta f(denied)). A caption without one has the frozen model's own feature. Source: paper
"PeakPatch, arXiv 2607.23271", appendix F, which names the idea; the parts are `crepebench.negation_parts`'.

# ASSUME: beta is 0.5 where the config gives none, and several denied concepts are joined by "and"; the paper gives no
figure.
"""

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from crepebench.backbones import load_backbone
from crepebench.models import FeatureError, Model, Tokens
from crepebench.negation_parts import split_negation
from crepebench.open_clip_models import OpenClipModel

BETA = 0.5
VERSION = 1
"""Of the rules that split captions."""
NOTHING = -1
"""Id where a caption denies nothing; no token has it."""


class NegationVectorModel(Model):
    """A model of open_clip that takes denied concepts away.

    Args:
        backbone: the frozen model.
        beta: share of the denied concepts' feature.
    """

    def __init__(self, backbone: OpenClipModel, beta: float):
        self._backbone, self._beta = backbone, beta
        self.preprocess, self.image_plan = backbone.preprocess, backbone.image_plan

    @cached_property
    def identity(self) -> str:
        """Digest of the backbone's identity, beta and the version of the rules."""
        shape = f"{self._backbone.identity} negvector {VERSION} {self._beta!r}"
        return hashlib.sha256(shape.encode()).hexdigest()[:32]

    def tokenise(self, texts: Sequence[str]) -> Tokens:
        """Turns texts into tokens: the whole, what is affirmed and what is denied, side by side in one row.

        The mask is that of tokens that stand for something; `n_tokens` and `limit` are those of the whole text.
        """
        import torch

        parts = [split_negation(text) for text in texts]
        whole = self._backbone.tokenise(texts)
        affirmed = self._backbone.tokenise([part.affirmed for part in parts])
        denied = self._backbone.tokenise([" and ".join(part.denied) for part in parts])
        none = torch.tensor([not part.denied for part in parts], dtype=torch.bool)
        denied.ids[none] = NOTHING
        masks = [_mask(each) for each in (whole, affirmed, denied)]
        ids = torch.cat([whole.ids, affirmed.ids, denied.ids], dim=1)
        return Tokens(ids, torch.cat(masks, dim=1), whole.n_tokens, whole.limit)

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
        """Encodes tokens.

        Raises:
            FeatureError: nothing is left of a text.
        """
        _, affirmed, denied = tokens.ids.tensor_split(3, dim=1)
        features = self._encode(affirmed)
        rows = np.flatnonzero((denied[:, 0] != NOTHING).numpy())
        if len(rows):
            corrected = features[rows] - np.float32(self._beta) * self._encode(denied[rows])
            lengths = np.linalg.norm(corrected, axis=1, keepdims=True)
            if not (lengths > 0).all():
                raise FeatureError(f"{int((~(lengths > 0)).sum())} of {len(rows)} corrected features are zero")
            features[rows] = corrected / lengths
        return features

    def _encode(self, ids) -> np.ndarray:
        return self._backbone.encode_tokens(Tokens(ids, None, np.full(len(ids), ids.shape[1]), ids.shape[1]))


def load(definition: Mapping, weights_paths: list[str], device: str) -> NegationVectorModel:
    """Loads a model with the training-free correction.

    Args:
        definition: config entry: `backbone` (another entry, of a family of open_clip's models) and `beta`.
        weights_paths: files of the backbone's weights.
        device: "cpu" or "cuda".

    Raises:
        BackboneError: the backbone is no model of open_clip.
    """
    return NegationVectorModel(load_backbone(definition, weights_paths, device), definition.get("beta", BETA))


def _mask(tokens: Tokens):
    """Returns which ids are read, (n, length) int64: up to what a text needs, and one where it denies nothing."""
    import torch

    lengths = torch.from_numpy(np.minimum(tokens.n_tokens, tokens.limit))
    return (torch.arange(tokens.ids.shape[1]) < lengths[:, None]).long()
