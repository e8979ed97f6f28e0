"""Turn a CLIP of open_clip into transformers' CLIPModel, where that can hold it: same features, other names.

CLIPModel has one form: a vision transformer with a class token, a causal text transformer that ends in a mark, each
with a linear projection. A model of another form has a reason instead, and stays one of open_clip.
"""

import re
from collections.abc import Mapping

OUTER = {
    "logit_scale": "logit_scale",
    "positional_embedding": "text_model.embeddings.position_embedding.weight",
    "token_embedding.weight": "text_model.embeddings.token_embedding.weight",
    "ln_final.weight": "text_model.final_layer_norm.weight",
    "ln_final.bias": "text_model.final_layer_norm.bias",
    "text_projection": "text_projection.weight",
    "visual.class_embedding": "vision_model.embeddings.class_embedding",
    "visual.positional_embedding": "vision_model.embeddings.position_embedding.weight",
    "visual.conv1.weight": "vision_model.embeddings.patch_embedding.weight",
    "visual.ln_pre.weight": "vision_model.pre_layrnorm.weight",
    "visual.ln_pre.bias": "vision_model.pre_layrnorm.bias",
    "visual.ln_post.weight": "vision_model.post_layernorm.weight",
    "visual.ln_post.bias": "vision_model.post_layernorm.bias",
    "visual.proj": "visual_projection.weight",
}
"""Names outside of the blocks; transformers spells `pre_layrnorm` so."""
TURNED = ("text_projection", "visual.proj")
"""Projections: open_clip multiplies from the right, transformers has a linear layer, which keeps the transpose."""
INNER = {
    "ln_1": "layer_norm1",
    "ln_2": "layer_norm2",
    "attn.out_proj": "self_attn.out_proj",
    "mlp.c_fc": "mlp.fc1",
    "mlp.c_proj": "mlp.fc2",
}
"""Names inside of a block; the three parts of its `attn.in_proj` are apart in transformers."""
PARTS = ("q_proj", "k_proj", "v_proj")
BLOCK = re.compile(r"(visual\.)?transformer\.resblocks\.(\d+)\.(.+)\.(weight|bias)")
IN_PROJECTION = re.compile(r"(visual\.)?transformer\.resblocks\.(\d+)\.attn\.in_proj_(weight|bias)")


class HeldNotError(ValueError):
    """CLIPModel cannot hold a model; says why."""


def rename(state: Mapping) -> dict:
    """Returns a state dict of open_clip under transformers' names.

    Raises:
        HeldNotError: there are weights that CLIPModel has no place for; names them.
    """
    found, left = {}, []
    for name, tensor in state.items():
        if name in OUTER:
            found[OUTER[name]] = tensor.T if name in TURNED else tensor
        elif match := IN_PROJECTION.fullmatch(name):
            tower, number, kind = match.groups()
            for part, third in zip(PARTS, tensor.chunk(3), strict=True):
                found[f"{_layer(tower, number)}.self_attn.{part}.{kind}"] = third
        elif (match := BLOCK.fullmatch(name)) and match[3] in INNER:
            tower, number, inner, kind = match.groups()
            found[f"{_layer(tower, number)}.{INNER[inner]}.{kind}"] = tensor
        else:
            left.append(name)
    if left:
        raise HeldNotError(f"CLIPModel has no place for {', '.join(left[:5])}{', ...' if len(left) > 5 else ''}")
    return found


def _layer(tower: str | None, number: str) -> str:
    return f"{'vision_model' if tower else 'text_model'}.encoder.layers.{number}"


def check_form(model) -> None:
    """Raises where CLIPModel would compute other features than a model of open_clip, or has no such part.

    Raises:
        HeldNotError: names the part.
    """
    from open_clip.model import CLIP
    from open_clip.transformer import VisionTransformer

    if type(model) is not CLIP:
        raise HeldNotError(f"the text tower stands apart, in a {type(model).__name__}, not in open_clip's CLIP")
    visual = model.visual
    if type(visual) is not VisionTransformer:
        raise HeldNotError(f"the vision tower is a {type(visual).__name__}, no VisionTransformer")
    checks = {
        "images whose sides differ": len({*visual.image_size}) == 1,
        "patches whose sides differ": len({*visual.patch_size}) == 1,
        "a vision tower with a pool of attention": visual.attn_pool is None,
        f"a vision feature by pool {visual.pool_type!r}": visual.pool_type == "tok",
        "a norm of vision behind the pool": not visual.final_ln_after_pool,
        "a vision tower without a norm before its blocks": hasattr(visual.ln_pre, "eps"),
        "a vision tower without projection": visual.proj is not None,
        "a text tower without projection": model.text_projection is not None,
        "a text projection with bias": not hasattr(model.text_projection, "bias"),
        "a text tower without causal mask": model.attn_mask is not None,
        f"a text feature by pool {model.text_pool_type!r}": model.text_pool_type in ("argmax", "eos"),
        "a bias of the logits": model.logit_bias is None,
    }
    if lacking := [part for part, is_plain in checks.items() if not is_plain]:
        raise HeldNotError(f"CLIPModel cannot have {', or '.join(lacking)}")


def tower_config(transformer, norms: list) -> dict:
    """Returns what transformers' config says of a tower's blocks.

    Args:
        transformer: open_clip's Transformer.
        norms: the tower's norms outside of the blocks.

    Raises:
        HeldNotError: blocks are of another kind, or differ in activation or norm.
    """
    blocks = list(transformer.resblocks)
    kinds = {type(block).__name__ for block in blocks}
    if kinds != {"ResidualAttentionBlock"}:
        raise HeldNotError(f"CLIPModel has no blocks of the kinds {', '.join(sorted(kinds))}")
    norms = [*norms, *(norm for block in blocks for norm in (block.ln_1, block.ln_2))]
    epsilons = {getattr(norm, "eps", None) for norm in norms}
    activations = {_activation(block.mlp.gelu) for block in blocks}
    if len(epsilons) > 1 or len(activations) > 1:
        raise HeldNotError("the blocks of a tower differ in activation or norm, those of CLIPModel do not")
    return {
        "hidden_size": blocks[0].attn.embed_dim,
        "intermediate_size": blocks[0].mlp.c_fc.out_features,
        "num_hidden_layers": len(blocks),
        "num_attention_heads": blocks[0].attn.num_heads,
        "hidden_act": activations.pop(),
        "layer_norm_eps": epsilons.pop(),
    }


def _activation(module) -> str:
    """Returns transformers' name of an activation."""
    name, form = type(module).__name__, getattr(module, "approximate", "none")
    known = {("QuickGELU", "none"): "quick_gelu", ("GELU", "none"): "gelu", ("GELU", "tanh"): "gelu_pytorch_tanh"}
    if (name, form) not in known:
        raise HeldNotError(f"the activation {module} has no name in transformers that is known here")
    return known[name, form]


def to_clip_model(model, tokeniser):
    """Returns a CLIPModel with the features of a model of open_clip; float32, on the CPU.

    Args:
        model: open_clip's CLIP.
        tokeniser: SimpleTokenizer, or HFTokenizer, of open_clip.

    Raises:
        HeldNotError: CLIPModel cannot hold it; says why.
    """
    from transformers import CLIPConfig, CLIPModel

    check_form(model)
    visual = model.visual
    state = {name: tensor.detach().float().cpu() for name, tensor in model.state_dict().items()}
    renamed = rename(state)
    dim = state["text_projection"].shape[1]
    begin_id, end_id = (getattr(clip_tokeniser(tokeniser), name) for name in ("bos_token_id", "eos_token_id"))
    read_at = model.text_eos_id if model.text_pool_type == "eos" else model.vocab_size - 1
    if end_id != read_at:
        raise HeldNotError(f"the text feature is read at token {read_at}, the tokenizer's end mark is {end_id}")
    text = {
        **tower_config(model.transformer, [model.ln_final]),
        **{"vocab_size": model.vocab_size, "max_position_embeddings": model.positional_embedding.shape[0]},
        **{"projection_dim": dim, "eos_token_id": end_id, "bos_token_id": begin_id, "pad_token_id": end_id},
    }
    vision = {
        **tower_config(visual.transformer, [visual.ln_pre, visual.ln_post]),
        **{"projection_dim": dim, "image_size": visual.image_size[0], "patch_size": visual.patch_size[0]},
    }
    config = CLIPConfig(text_config=text, vision_config=vision, projection_dim=dim)
    clip = CLIPModel(config).eval()
    missing, unexpected = clip.load_state_dict(renamed, strict=False)
    if missing or unexpected:
        raise HeldNotError(f"CLIPModel lacks weights or has no place for them: {', '.join([*missing, *unexpected])}")
    return clip


def image_processor(plan):
    """Returns the CLIPImageProcessor that does what an ImagePlan says; None where there is no plan."""
    from transformers import CLIPImageProcessor

    if plan is None:
        return None
    height, width = plan.size
    is_squashed = plan.resize == "squash"
    return CLIPImageProcessor(
        size={"height": height, "width": width} if is_squashed else {"shortest_edge": height},
        crop_size={"height": height, "width": width},
        do_center_crop=not is_squashed,
        resample={"bilinear": 2, "bicubic": 3}[plan.interpolation],
        image_mean=list(plan.mean),
        image_std=list(plan.std),
    )


def clip_tokeniser(tokeniser):
    """Returns transformers' tokenizer with the tokens of one of open_clip, without any download.

    It leaves out open_clip's mending of broken Unicode and of HTML marks; all else is the same.

    Args:
        tokeniser: SimpleTokenizer, or HFTokenizer, of open_clip.
    """
    from transformers import CLIPTokenizer

    if hasattr(tokeniser, "tokenizer"):
        return tokeniser.tokenizer
    marks = {tokeniser.sot_token_id: "<|startoftext|>", tokeniser.eot_token_id: "<|endoftext|>"}
    vocabulary = {marks.get(place, token): place for token, place in tokeniser.encoder.items()}
    merges = [pair for pair, _ in sorted(tokeniser.bpe_ranks.items(), key=lambda item: item[1])]
    return CLIPTokenizer(vocab=vocabulary, merges=merges, model_max_length=tokeniser.context_length)
