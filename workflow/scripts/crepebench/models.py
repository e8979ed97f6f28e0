"""Vision-language models behind one small interface: preprocess, encode images, encode texts, identity.

A model entry of the config names a family, an architecture and weights. So far there is one family, open_clip:
an architecture of open_clip with a tag or checkpoint file, or a folder that holds open_clip's own
`open_clip_config.json` beside the weights.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

CONFIG_FILE = "open_clip_config.json"
WEIGHTS_FILE = "open_clip_model.safetensors"
"""Files of a folder that open_clip loads by itself."""
TOKENISER_PROBE = "A photo of 3 dogs, one naive café & 12,000 unseeable antidisestablishmentarians."
"""Its tokens stand for the tokenizer in a model's identity."""


class OpenClipModel:
    """A model of open_clip, in evaluation mode.

    Args:
        architecture: open_clip's name, "" where `weights` is a folder with its own config.
        weights: tag of open_clip, checkpoint file, or such a folder.
        device: "cpu" or "cuda".

    Raises:
        ValueError: neither an architecture nor a folder is given.
    """

    def __init__(self, architecture: str, weights: str, device: str):
        import open_clip

        if Path(weights).is_dir():
            name, pretrained = f"local-dir:{Path(weights).resolve()}", None
        elif architecture:
            name, pretrained = architecture, weights
        else:
            raise ValueError(f"{weights!r} is no folder with an open_clip_config.json, and no architecture is given")
        self.model, self.preprocess = open_clip.create_model_from_pretrained(name, pretrained, device=device)
        self.model.eval()
        self._tokenise = open_clip.get_tokenizer(name)
        self._device = device
        self._trims = (
            isinstance(self.model, open_clip.CLIP)
            and self.model.text_pool_type == "argmax"
            and (self.model.attn_mask is not None)
        )

    @property
    def identity(self) -> str:
        """Digest of all that shapes a feature: weights, layers and activations, preprocessing, tokens, precision."""
        digest = hashlib.sha256(f"{self.model}\n{self.preprocess}\nfloat32\n{self._device}".encode())
        digest.update(self._tokenise([TOKENISER_PROBE]).cpu().numpy().tobytes())
        for name, tensor in sorted(self.model.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()[:32]

    def encode_images(self, images) -> np.ndarray:
        """Encodes preprocessed images.

        Args:
            images: (n, 3, height, width) float32 tensor.

        Returns:
            (n, dim) float32, unit rows.
        """
        import torch

        with torch.inference_mode():
            return _unit_rows(self.model.encode_image(images.to(self._device)))

    def encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Encodes texts; those beyond the model's context are cut by its own tokenizer.

        Returns:
            (n, dim) float32, unit rows.
        """
        import torch

        with torch.inference_mode():
            tokens = self._tokenise(list(texts)).to(self._device)
            if self._trims:
                return _unit_rows(encode_trimmed_texts(self.model, trim_tokens(tokens)))
            return _unit_rows(self.model.encode_text(tokens))


def load_model(definition: dict, weights_paths: Sequence[str] = ()):
    """Loads the model of a config entry onto the GPU if there is one, else the CPU with one thread.

    Args:
        definition: entry of `models.definitions`.
        weights_paths: the files that hold the weights: one checkpoint, or the files of one open_clip folder; empty
            where the entry names a tag of open_clip.

    Raises:
        ValueError: the family is unknown.
    """
    import torch

    if definition["family"] != "open_clip":
        raise ValueError(f"unknown model family {definition['family']!r}: use open_clip")
    torch.set_num_threads(1)  # features differ in their last digits between one and two threads
    device = "cuda" if torch.cuda.is_available() else "cpu"
    paths = [Path(path) for path in weights_paths]
    folder = next((path.parent for path in paths if path.name == CONFIG_FILE), None)
    weights = str(folder or next(iter(paths), definition.get("weights", "")))
    return OpenClipModel(definition.get("architecture", ""), weights, device)


def _unit_rows(features) -> np.ndarray:
    """Returns features as float32 rows of length one."""
    array = features.float().cpu().numpy()
    return array / np.linalg.norm(array, axis=1, keepdims=True)


def trim_tokens(tokens):
    """Cuts padding: keeps the columns up to the longest text's end token.

    Args:
        tokens: (n, context) int64, where the end token has the largest id and padding is 0.
    """
    return tokens[:, : int(tokens.argmax(dim=-1).max()) + 1]


def encode_trimmed_texts(model, tokens):
    """Encodes texts with a causal open_clip.CLIP text tower, without the padding behind the longest.

    Equal to `model.encode_text` up to rounding: under a causal mask nothing behind the end token reaches it.

    Args:
        model: open_clip.CLIP whose text tower is causal and pools at the end token.
        tokens: (n, length) int64, length at most the context length.

    Returns:
        (n, dim) features, not normalised.
    """
    import torch
    from torch import nn

    length = tokens.shape[1]
    x = model.token_embedding(tokens) + model.positional_embedding[:length]
    x = model.transformer(x, attn_mask=model.attn_mask[:length, :length])
    x = model.ln_final(x)
    x = x[torch.arange(len(tokens)), tokens.argmax(dim=-1)]
    return model.text_projection(x) if isinstance(model.text_projection, nn.Linear) else x @ model.text_projection
