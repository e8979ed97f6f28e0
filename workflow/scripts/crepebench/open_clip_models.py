"""Models of open_clip: any of its architectures with a tag, a checkpoint file, or a folder with its own config."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from crepebench.models import CONFIG_FILE, ImagePlan, Tokens, TorchModel
from crepebench.text_trimming import can_trim, encode_to_ends


class OpenClipModel(TorchModel):
    """A model of open_clip.

    Args:
        model: what `open_clip.create_model` gives.
        preprocess: its preprocessing.
        tokeniser: what `open_clip.get_tokenizer` gives.
        device: "cpu" or "cuda".
        precision: one of `crepebench.models.PRECISIONS`.
    """

    def __init__(self, model, preprocess, tokeniser, device: str, precision: str = "float32"):
        super().__init__(model, preprocess, device, precision)
        self.image_plan = plan_of(preprocess)
        self._tokeniser = tokeniser
        self._tower = model.text if hasattr(model, "text") else model
        self._trims = can_trim(self._tower)

    def tokenise(self, texts: Sequence[str]) -> Tokens:
        """Turns texts into tokens with the model's own tokenizer; what is over its context is cut by it."""
        texts = list(texts)
        return Tokens(
            self._tokeniser(texts), None, count_tokens(self._tokeniser, texts), self._tokeniser.context_length
        )

    def image_features(self, images):
        """Returns the features of images."""
        return self.model.encode_image(images)

    def text_features(self, ids, mask):
        """Returns the features of tokens, without the padding behind the longest text where that changes nothing."""
        if not self._trims:
            return self.model.encode_text(ids)
        return encode_to_ends(self._tower, ids, self._ends(ids))

    def _ends(self, ids):
        """Returns the position of each text's end token, where the tower reads its feature."""
        pool_type = getattr(self._tower, "text_pool_type", None) or self._tower.pool_type
        if pool_type == "argmax":
            return ids.argmax(dim=-1)
        end_id = getattr(self._tower, "text_eos_id", None) or self._tower.eos_id
        return (ids == end_id).int().argmax(dim=-1)


def load(definition: dict, weights_paths: list[str], device: str) -> OpenClipModel:
    """Loads a model of open_clip.

    Raises:
        ValueError: neither an architecture nor a folder is given.
    """
    import open_clip

    paths = [Path(path) for path in weights_paths]
    folder = next((path.parent for path in paths if path.name == CONFIG_FILE), None)
    weights = str(folder or next(iter(paths), definition.get("weights", "")))
    if Path(weights).is_dir():
        name, pretrained = f"local-dir:{Path(weights).resolve()}", None
    elif definition.get("architecture"):
        name, pretrained = definition["architecture"], weights
    else:
        raise ValueError(f"{weights!r} is no folder with an open_clip_config.json, and no architecture is given")
    model, preprocess = open_clip.create_model_from_pretrained(name, pretrained, device=device)
    precision = definition.get("precision", "float32")
    return OpenClipModel(model, preprocess, open_clip.get_tokenizer(name), device, precision)


def count_tokens(tokeniser, texts: list[str]) -> np.ndarray:
    """Counts the tokens that texts need, with the marks of beginning and end.

    Args:
        tokeniser: a tokenizer of open_clip.
        texts: the texts.

    Returns:
        (n,) int64.
    """
    return np.array([len(tokeniser.encode(text)) + 2 for text in texts], np.int64)


def plan_of(preprocess) -> ImagePlan | None:
    """Returns what a torchvision pipeline does, or None if an ImagePlan cannot say it exactly."""
    from torchvision import transforms

    steps = [
        step for step in preprocess.transforms if type(step).__name__ not in ("MaybeConvertMode", "_convert_to_rgb")
    ]
    names = [type(step).__name__ for step in steps]
    if names[:1] != ["Resize"] or names[-1:] != ["Normalize"] or names[-2] not in ("MaybeToTensor", "ToTensor"):
        return None
    resize, crops, normalise = steps[0], steps[1:-2], steps[-1]
    is_square = isinstance(resize.size, int) or len(resize.size) == 1
    interpolation = resize.interpolation.value
    if interpolation not in ("bicubic", "bilinear") or not resize.antialias or resize.max_size is not None:
        return None
    values = tuple(map(float, normalise.mean)), tuple(map(float, normalise.std))
    if not is_square and not crops:
        return ImagePlan(tuple(resize.size), "squash", interpolation, *values)
    side = resize.size if isinstance(resize.size, int) else resize.size[0]
    if is_square and [type(crop) for crop in crops] == [transforms.CenterCrop] and set(crops[0].size) == {side}:
        return ImagePlan((side, side), "shortest", interpolation, *values)
    return None
