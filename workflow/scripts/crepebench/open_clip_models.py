"""Models of open_clip: any of its architectures with a tag, a checkpoint file, or a folder with its own config.

What a tag or config of open_clip says of preprocessing, context and activation is kept. A file has no config of its
own: it takes that of the tags of its architecture, and its activation is checked as far as the file is known.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from crepebench.activations import check_activation, known_activation
from crepebench.checkpoint_maps import to_open_clip
from crepebench.checkpoints import load_into, read_state_dict
from crepebench.image_plans import plan_of
from crepebench.models import CONFIG_FILE, Tokens, TorchModel
from crepebench.text_trimming import can_trim, encode_to_ends
from crepebench.weight_sources import HUB, HubFiles, tag_source

SCALES = ("logit_scale", "logit_bias")
"""Weights that no feature depends on."""


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
        """Turns texts into tokens with the model's own tokenizer, which cuts what is over its context."""
        ids, counts = tokenise(self._tokeniser, list(texts))
        return Tokens(ids, None, counts, self._tokeniser.context_length)

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
        tower = self._tower
        if getattr(tower, "text_pool_type", getattr(tower, "pool_type", None)) == "argmax":
            return ids.argmax(dim=-1)
        end_id = getattr(tower, "text_eos_id", getattr(tower, "eos_id", None))
        return (ids == end_id).int().argmax(dim=-1)


def load(definition: Mapping, weights_paths: list[str], device: str) -> OpenClipModel:
    """Loads a model of open_clip.

    Raises:
        ValueError: neither an architecture nor a folder is given.
        ActivationError: the weights are known to need another activation.
        CheckpointError: the weights do not fit.
    """
    import open_clip

    paths = [Path(path) for path in weights_paths]
    folder = next((path.parent for path in paths if path.name == CONFIG_FILE), None)
    architecture, weights = definition.get("architecture", ""), definition.get("weights", "")
    precision = definition.get("precision", "float32")
    if not folder and not paths and Path(weights).is_dir():
        folder = Path(weights)
    if folder or weights.startswith(HUB):
        name = f"local-dir:{folder.resolve()}" if folder else weights
        model, preprocess = open_clip.create_model_from_pretrained(name)
        return OpenClipModel(model, preprocess, open_clip.get_tokenizer(name), device, precision)
    if not architecture:
        given = str(next(iter(paths), weights))
        raise ValueError(f"{given!r} is no folder with an {CONFIG_FILE}, and no architecture is given")
    checkpoints = [str(path) for path in paths if path.suffix not in (".json", ".txt")]
    if not checkpoints and Path(weights).is_file():
        checkpoints = [weights]
    tag = weights if open_clip.is_pretrained_cfg(architecture.removesuffix("-quickgelu"), weights) else ""
    check_activation(definition, architecture, known_activation(architecture, tag, next(iter(checkpoints), "")))
    if not checkpoints:
        source = tag_source(architecture, weights)
        if isinstance(source, HubFiles):
            model, preprocess = open_clip.create_model_from_pretrained(architecture, weights)
            return OpenClipModel(model, preprocess, open_clip.get_tokenizer(architecture), device, precision)
        checkpoints = [open_clip.download_pretrained_from_url(source.url)]
    tokeniser = _tokeniser(architecture, paths)
    return build(architecture, checkpoints, tokeniser, device, precision, tag)


def build(
    architecture: str, checkpoints: Sequence[str], tokeniser, device: str, precision: str, tag: str = ""
) -> OpenClipModel:
    """Builds an architecture of open_clip and loads checkpoint files into it, in any form that is known.

    Args:
        architecture: open_clip's name.
        checkpoints: files that together hold the weights.
        tokeniser: a tokenizer of open_clip.
        device: "cpu" or "cuda".
        precision: one of `crepebench.models.PRECISIONS`.
        tag: tag of open_clip that the files are of, if any.

    Raises:
        CheckpointError: the files cannot be read, or do not fit.
        ValueError: open_clip has no such architecture.
    """
    import open_clip
    from open_clip.transform import PreprocessCfg, image_transform_v2

    if open_clip.get_model_config(architecture) is None:
        raise ValueError(f"open_clip has no architecture {architecture!r}; open_clip.list_models() lists them")
    model = open_clip.create_model(
        architecture, load_weights=False, pretrained_text=False, force_preprocess_cfg=preprocessing(architecture, tag)
    )
    state: dict = {}
    for path in checkpoints:
        state |= read_state_dict(path)
    load_into(model, _for_model(model, to_open_clip(state)), ", ".join(checkpoints), optional=SCALES)
    preprocess = image_transform_v2(PreprocessCfg(**model.visual.preprocess_cfg), is_train=False)
    return OpenClipModel(model, preprocess, tokeniser, device, precision)


def preprocessing(architecture: str, tag: str = "") -> dict:
    """Returns how images are preprocessed for weights of an architecture: mean, std, interpolation, resize_mode.

    Args:
        architecture: open_clip's name.
        tag: tag of the weights, if any.
    """
    import open_clip

    keys = ("mean", "std", "interpolation", "resize_mode")
    names = [architecture, architecture.removesuffix("-quickgelu")]
    tags = [(name, each) for name in names for each in open_clip.list_pretrained_tags_by_model(name)]
    configs = [
        open_clip.get_pretrained_cfg(*each) for each in tags if not tag or each[1] == tag.lower().replace("-", "_")
    ]
    found = [{key: config[key] for key in keys} for config in configs]
    # ASSUME: a checkpoint file is preprocessed for as all tags of its architecture are. Where these differ (three
    # architectures), or there are none, as by default in open_clip: OpenAI's mean and deviation, the centre cut out.
    return found[0] if found and all(each == found[0] for each in found) else {}


def tokenise(tokeniser, texts: list[str]) -> tuple:
    """Turns texts into tokens with a tokenizer of open_clip, and counts those that they need.

    Args:
        tokeniser: SimpleTokenizer, or HFTokenizer, of open_clip.
        texts: the texts.

    Returns:
        (n, context) int64 tensor, and (n,) int64 counts with the marks of beginning and end.
    """
    import torch

    context = tokeniser.context_length
    if hasattr(tokeniser, "tokenizer"):  # one of Hugging Face
        cleaned = [tokeniser.clean_fn(text) for text in texts]
        has_class = getattr(tokeniser, "tokenizer_mode", "") == "clips"  # begin, end and class token stand around it
        rows = tokeniser.tokenizer(cleaned, add_special_tokens=not has_class)["input_ids"] if texts else []
        counts = [len(row) + 3 * has_class for row in rows]
        return tokeniser(texts) if texts else torch.zeros(0, context, dtype=torch.long), np.array(counts, np.int64)
    rows = [[tokeniser.sot_token_id, *tokeniser.encode(text), tokeniser.eot_token_id] for text in texts]
    ids = torch.zeros(len(rows), context, dtype=torch.long)
    for i, row in enumerate(rows):
        kept = row if len(row) <= context else [*row[: context - 1], tokeniser.eot_token_id]
        ids[i, : len(kept)] = torch.tensor(kept)
    return ids, np.array([len(row) for row in rows], np.int64)


def _tokeniser(architecture: str, paths: list[Path]):
    """Returns the tokenizer of an architecture, from files among the weights where they are there."""
    import open_clip
    from open_clip.tokenizer import HFTokenizer

    text = (open_clip.get_model_config(architecture) or {}).get("text_cfg", {})
    folder = next((path.parent for path in paths if path.name in ("tokenizer.json", "vocab.txt")), None)
    if not folder or not text.get("hf_tokenizer_name"):
        return open_clip.get_tokenizer(architecture)
    options = text.get("tokenizer_kwargs", {})
    mode = text.get("tokenizer_mode")
    return HFTokenizer(str(folder), context_length=text["context_length"], tokenizer_mode=mode, **options)


def _for_model(model, state: Mapping) -> dict:
    """Returns a state dict under open_clip's names as the kind of model wants it: with its text tower apart, if so."""
    from open_clip.convert import convert_state_dict
    from open_clip.model import convert_to_custom_text_state_dict

    state = convert_state_dict(model, dict(state))
    if "positional_embedding" in state and not hasattr(model, "positional_embedding"):
        state = convert_to_custom_text_state_dict(state)
    return state
