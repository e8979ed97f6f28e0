"""FLAVA: its two encoders with their projections, as in its contrastive loss; the multimodal encoder is left out.

Weights are a folder of `transformers` (facebook/flava-full: `config.json`, weights, vocabulary), or that name.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from crepebench.bert_tokens import BertTokens, trim_padding, vocabulary_source
from crepebench.checkpoints import CheckpointError, load_into, read_state_dict
from crepebench.image_plans import plan_of
from crepebench.models import Tokens, TorchModel

PREFIX = "flava."
"""What stands before FLAVA's weights in a checkpoint of FlavaForPreTraining, as the released one is."""
PARTS = ("text_model.", "image_model.", "text_projection.", "image_projection.")
OTHER_PARTS = (
    *("multimodal_model.", "image_to_mm_projection.", "text_to_mm_projection.", "logit_scale"),
    *("image_codebook.", "mim_head.", "mlm_head.", "itm_head.", "mmm_image_head.", "mmm_text_head."),
)
"""Parts of a checkpoint that the contrastive features do not depend on."""
MEAN, STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
"""Of FLAVA's preprocessing: those of CLIP."""


class FlavaModel(TorchModel):
    """FLAVA's image and text encoders.

    Args:
        model: transformers' FlavaModel.
        tokens: its tokenizer.
        device: "cpu" or "cuda".
        precision: one of `crepebench.models.PRECISIONS`.
    """

    def __init__(self, model, tokens: BertTokens, device: str, precision: str):
        size = model.config.image_config.image_size
        super().__init__(model, squashing(size), device, precision, details=model.config.to_json_string())
        self.image_plan = plan_of(self.preprocess)
        self._tokens = tokens

    def tokenise(self, texts: Sequence[str]) -> Tokens:
        """Turns texts into word pieces."""
        return self._tokens(texts)

    def image_features(self, images):
        """Returns the projection of the image encoder's class token."""
        hidden = self.model.image_model(pixel_values=images).last_hidden_state
        return self.model.image_projection(hidden[:, 0])

    def text_features(self, ids, mask):
        """Returns the projection of the text encoder's class token."""
        ids, mask = trim_padding(ids, mask)
        hidden = self.model.text_model(input_ids=ids, attention_mask=mask).last_hidden_state
        return self.model.text_projection(hidden[:, 0])


def squashing(size: int):
    """Returns the preprocessing that resizes both sides to a size, bicubic, with CLIP's mean and deviation."""
    from open_clip.transform import PreprocessCfg, image_transform_v2

    settings = PreprocessCfg(size=size, mean=MEAN, std=STD, interpolation="bicubic", resize_mode="squash")
    return image_transform_v2(settings, is_train=False)


def load(definition: Mapping, weights_paths: list[str], device: str) -> FlavaModel:
    """Loads FLAVA.

    Args:
        definition: config entry; `weights` is a folder or a name on the hub, `tokenizer` where the vocabulary is if it
            is not there.
        weights_paths: the files of the folder; empty where `weights` is a name on the hub.
        device: "cpu" or "cuda".

    Raises:
        CheckpointError: the weights cannot be read, or do not fit.
        FileNotFoundError: the folder lacks its config or weights.
    """
    from transformers import FlavaConfig
    from transformers import FlavaModel as Network

    folder = _folder(definition, weights_paths)
    config = FlavaConfig.from_dict(json.loads((folder / "config.json").read_text(encoding="utf-8")))
    network = Network(config)
    for name in ("multimodal_model", "image_to_mm_projection", "text_to_mm_projection", "logit_scale"):
        delattr(network, name)
    path = next(
        (folder / name for name in ("model.safetensors", "pytorch_model.bin") if (folder / name).is_file()), None
    )
    if path is None:
        raise FileNotFoundError(f"{folder} holds neither model.safetensors nor pytorch_model.bin")
    load_into(network, contrastive_part(read_state_dict(path), str(path)), str(path))
    # ASSUME: padding is masked. The released evaluation passes no mask, but the encoder that it calls
    # (torchmultimodal's) then masks padding by itself, so this gives the same features.
    source = vocabulary_source([str(file) for file in folder.iterdir()], definition.get("tokenizer"))
    tokens = BertTokens(source, config.text_config.max_position_embeddings, has_end=True)
    return FlavaModel(network, tokens, device, definition.get("precision", "float32"))


def contrastive_part(state: Mapping, name: str) -> dict:
    """Returns the weights that the contrastive features depend on, under FlavaModel's names.

    Raises:
        CheckpointError: a key belongs to no known part.
    """
    plain = {key.removeprefix(PREFIX): tensor for key, tensor in state.items()}
    unknown = [key for key in plain if not key.startswith((*PARTS, *OTHER_PARTS))]
    if unknown:
        raise CheckpointError(f"{name}: these keys are of no FLAVA: {', '.join(unknown[:5])}")
    return {key: tensor for key, tensor in plain.items() if key.startswith(PARTS) and "position_ids" not in key}


def _folder(definition: Mapping, weights_paths: list[str]) -> Path:
    """Returns the folder of the weights; a name on the hub is looked up among what was fetched of it."""
    config = next((path for path in weights_paths if Path(path).name == "config.json"), None)
    if config:
        return Path(config).parent
    weights = definition["weights"]
    if Path(weights).is_dir():
        return Path(weights)
    from huggingface_hub import snapshot_download

    return Path(snapshot_download(weights, allow_patterns=["*.json", "*.txt", "*.safetensors", "pytorch_model.bin"]))
