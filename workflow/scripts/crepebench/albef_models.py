"""ALBEF's contrastive branch: ViT-B/16, the first six layers of BERT-base, and two projections to 256 numbers.

Its other six layers see text and image at once and give no feature of either, so they are left out. Weights are the
released checkpoints: ALBEF.pth (4M and 14M images) and those fine-tuned for retrieval.
"""

from collections.abc import Mapping, Sequence

from crepebench.bert_tokens import BertTokens, trim_padding, vocabulary_source
from crepebench.checkpoints import CheckpointError, load_into, read_state_dict
from crepebench.clip_models import checkpoint_files
from crepebench.flava_models import squashing
from crepebench.image_plans import plan_of
from crepebench.models import Tokens, TorchModel

PATCH = 16
TEXT_LAYERS = 6
"""Layers of BERT before the first that sees the image (`fusion_layer` of the released config)."""
POSITIONS = "visual_encoder.pos_embed"
LIMIT = 512
"""Most tokens: the positions of BERT, to which the released evaluation pads."""
PARTS = ("visual_encoder.", "text_encoder.embeddings.", "text_encoder.encoder.layer.", "vision_proj.", "text_proj.")
OTHER_PARTS = (
    *("visual_encoder_m.", "text_encoder_m.", "vision_proj_m.", "text_proj_m.", "itm_head.", "text_encoder.cls."),
    *("temp", "image_queue", "text_queue", "idx_queue", "queue_ptr", "text_encoder.pooler."),
)
"""Momentum copies, queues and heads, which no feature depends on."""


class AlbefModel(TorchModel):
    """ALBEF's image and text encoders.

    Args:
        model: what `network` gives.
        tokens: its tokenizer.
        device: "cpu" or "cuda".
        precision: one of `crepebench.models.PRECISIONS`.
    """

    def __init__(self, model, tokens: BertTokens, device: str, precision: str):
        size = model.visual_encoder.patch_embed.img_size[0]
        details = model.text_encoder.config.to_json_string()
        super().__init__(model, squashing(size), device, precision, details)
        self.image_plan = plan_of(self.preprocess)
        self._tokens = tokens

    def tokenise(self, texts: Sequence[str]) -> Tokens:
        """Turns texts into word pieces."""
        return self._tokens(texts)

    def image_features(self, images):
        """Returns the projection of the image encoder's class token."""
        return self.model.vision_proj(self.model.visual_encoder.forward_features(images)[:, 0])

    def text_features(self, ids, mask):
        """Returns the projection of the text encoder's class token."""
        ids, mask = trim_padding(ids, mask)
        hidden = self.model.text_encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        return self.model.text_proj(hidden[:, 0])


def network(image_size: int, width: int = 768, depth: int = 12, vocabulary: int = 30522, dim: int = 256):
    """Builds ALBEF's contrastive branch with random weights.

    Args:
        image_size: pixels.
        width: of both encoders; a head has 64.
        depth: layers of the image encoder.
        vocabulary: word pieces.
        dim: of the features.
    """
    import timm
    from torch import nn
    from transformers import BertConfig
    from transformers import BertModel as Bert

    heads = width // 64
    visual = timm.create_model(
        "vit_base_patch16_224",
        img_size=image_size,
        num_classes=0,
        embed_dim=width,
        depth=depth,
        num_heads=heads,
    )
    config = BertConfig(
        vocab_size=vocabulary,
        hidden_size=width,
        num_hidden_layers=TEXT_LAYERS,
        num_attention_heads=heads,
        intermediate_size=4 * width,
        max_position_embeddings=LIMIT,
    )
    parts = {"visual_encoder": visual, "text_encoder": Bert(config, add_pooling_layer=False)}
    projections = {"vision_proj": nn.Linear(width, dim), "text_proj": nn.Linear(width, dim)}
    return nn.ModuleDict({**parts, **projections})


def load(definition: Mapping, weights_paths: list[str], device: str) -> AlbefModel:
    """Loads ALBEF.

    Args:
        definition: config entry; `image_size` in pixels, by default that of the checkpoint; `tokenizer`: folder or
            hub name of the vocabulary, by default the folder of the weights if it holds one.
        weights_paths: the checkpoint, and files of the vocabulary if they are known.
        device: "cpu" or "cuda".

    Raises:
        CheckpointError: the weights cannot be read, or do not fit.
        ValueError: there is no checkpoint, or the image size is no multiple of a patch.
    """
    files = checkpoint_files(weights_paths, definition.get("weights", ""))
    if not files:
        raise ValueError(f"there is no checkpoint {definition.get('weights', '')!r}")
    state = contrastive_part(read_state_dict(files[0]), files[0])
    depth = 1 + max(int(key.split(".")[2]) for key in state if key.startswith("visual_encoder.blocks."))
    vocabulary, width = state["text_encoder.embeddings.word_embeddings.weight"].shape
    own_side = int((state[POSITIONS].shape[1] - 1) ** 0.5)
    # ASSUME: images have the size of the checkpoint's positions, 256 for ALBEF.pth, as in its pre-training. The
    # released evaluation resizes to 384 and interpolates: `image_size: 384` does that.
    size = definition.get("image_size") or own_side * PATCH
    if size % PATCH:
        raise ValueError(f"image_size {size} is no multiple of the patches' {PATCH} pixels")
    state[POSITIONS] = resized_positions(state[POSITIONS], size // PATCH)
    model = network(size, width, depth, vocabulary, dim=state["vision_proj.weight"].shape[0])
    load_into(model, state, files[0])
    source = vocabulary_source(weights_paths, definition.get("tokenizer"))
    # ALBEF's own tokenizer puts no end mark behind a single text
    return AlbefModel(model, BertTokens(source, LIMIT, has_end=False), device, definition.get("precision", "float32"))


def contrastive_part(state: Mapping, name: str) -> dict:
    """Returns the weights that the contrastive features depend on.

    Args:
        state: state dict of a released checkpoint; `text_encoder.bert.` in ALBEF.pth is `text_encoder.` in those that
            were fine-tuned.
        name: of the checkpoint, for the error.

    Raises:
        CheckpointError: a key belongs to no known part, or the weights of a part are missing.
    """
    plain = {key.replace("text_encoder.bert.", "text_encoder."): tensor for key, tensor in state.items()}
    unknown = [key for key in plain if not key.startswith((*PARTS, *OTHER_PARTS))]
    missing = [part for part in PARTS if not any(key.startswith(part) for key in plain)]
    if unknown or missing:
        raise CheckpointError(f"{name} is no ALBEF: unknown keys {unknown[:5]}, no weights of {missing}")
    return {key: tensor for key, tensor in plain.items() if key.startswith(PARTS) and _is_used(key)}


def _is_used(key: str) -> bool:
    layer = key.removeprefix("text_encoder.encoder.layer.")
    return "position_ids" not in key and (layer == key or int(layer.split(".")[0]) < TEXT_LAYERS)


def resized_positions(positions, side: int):
    """Interpolates the positions of patches to another number of patches a side (bicubic), as ALBEF's code does.

    Args:
        positions: (1, 1 + n, width), the class token's first.
        side: patches a side.
    """
    import torch
    from torch.nn.functional import interpolate

    own = int((positions.shape[1] - 1) ** 0.5)
    if own == side:
        return positions
    grid = positions[:, 1:].reshape(1, own, own, -1).permute(0, 3, 1, 2)
    grid = interpolate(grid.float(), size=(side, side), mode="bicubic", align_corners=False).to(positions.dtype)
    return torch.cat([positions[:, :1], grid.permute(0, 2, 3, 1).flatten(1, 2)], dim=1)
