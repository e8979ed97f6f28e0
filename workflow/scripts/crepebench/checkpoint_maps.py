"""Bring the weights of released CLIP checkpoints under open_clip's names.

Four forms are told apart by their keys. OpenAI's (CLIP's own five, CyCLIP, CoN-CLIP, NegationCLIP) and open_clip's
(NegCLIP, CLIC) name the weights alike. Hugging Face's CLIPModel (also TripletCLIP's pair of encoders) has other
names, splits the attention's projection in three and transposes two projections. DAC's is open_clip's with low-rank
additions (LoRA, Microsoft's loralib) beside the weights, which are added up here.
"""

import re
from collections.abc import Mapping

from crepebench.checkpoints import CheckpointError

UNUSED = re.compile(r"(^|\.)(position_ids|attn_mask)$")
"""Counters and masks that some versions save among the weights."""
TOWERS = (("text_model.", ""), ("vision_model.", "visual."))
"""Towers of a CLIPModel, and what stands before their weights in open_clip."""
NAMES = {
    "embeddings.token_embedding.weight": "token_embedding.weight",
    "embeddings.position_embedding.weight": "positional_embedding",
    "embeddings.class_embedding": "class_embedding",
    "embeddings.patch_embedding.weight": "conv1.weight",
    "final_layer_norm": "ln_final",
    "pre_layrnorm": "ln_pre",
    "post_layernorm": "ln_post",
}
"""Weights of a CLIPModel's tower outside its layers; `pre_layrnorm` is spelt so."""
IN_LAYER = {
    "layer_norm1": "ln_1",
    "layer_norm2": "ln_2",
    "mlp.fc1": "mlp.c_fc",
    "mlp.fc2": "mlp.c_proj",
    "self_attn.out_proj": "attn.out_proj",
}
LAYER = re.compile(r"encoder\.layers\.(\d+)\.(.+)\.(weight|bias)")
PROJECTIONS = {"text_projection.weight": "text_projection", "visual_projection.weight": "visual.proj"}
"""Projections, which open_clip keeps transposed."""
LORA_SCALE = 1.0
"""loralib's `lora_alpha`, its default, which DAC keeps; the additions count alpha / rank."""


def to_open_clip(state: Mapping) -> dict:
    """Returns a released state dict under open_clip's names.

    Args:
        state: state dict, wrappers and common prefixes removed (`crepebench.checkpoints.read_state_dict`).

    Raises:
        CheckpointError: a low-rank addition has no weight beside it, or a key of a CLIPModel is unknown.
    """
    state = {key: tensor for key, tensor in state.items() if not UNUSED.search(key)}
    if any(key.startswith(("text_model.", "vision_model.")) for key in state):
        return _from_clip_model(state)
    return _merge_low_rank(state) if any(key.endswith("lora_A") for key in state) else state


def _from_clip_model(state: Mapping) -> dict:
    """Renames the weights of a Hugging Face CLIPModel, or of its two towers with their projections."""
    import torch

    renamed, attention, unknown = {}, {}, []
    for key, tensor in state.items():
        prefix, tower = next((pair for pair in TOWERS if key.startswith(pair[0])), ("", ""))
        inner = key.removeprefix(prefix)
        name, _, last = inner.rpartition(".")
        if key in PROJECTIONS:
            renamed[PROJECTIONS[key]] = tensor.T.contiguous()
        elif key == "logit_scale":
            renamed[key] = tensor
        elif prefix and inner in NAMES:
            renamed[tower + NAMES[inner]] = tensor
        elif prefix and name in NAMES:
            renamed[f"{tower}{NAMES[name]}.{last}"] = tensor
        elif prefix and (match := LAYER.fullmatch(inner)):
            block, part, kind = f"{tower}transformer.resblocks.{match[1]}", match[2], match[3]
            if part in IN_LAYER:
                renamed[f"{block}.{IN_LAYER[part]}.{kind}"] = tensor
            elif part in ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"):
                attention.setdefault(f"{block}.attn.in_proj_{kind}", {})[part[len("self_attn.")]] = tensor
            else:
                unknown.append(key)
        else:
            unknown.append(key)
    for key, parts in attention.items():
        if sorted(parts) != ["k", "q", "v"]:
            raise CheckpointError(f"{key}: of q_proj, k_proj and v_proj there is only {sorted(parts)}")
        renamed[key] = torch.cat([parts[part] for part in "qkv"])
    if unknown:
        raise CheckpointError(f"these keys are of no CLIPModel: {', '.join(unknown[:5])}")
    return renamed


def _merge_low_rank(state: Mapping) -> dict:
    """Adds low-rank additions, `<weight>_lora_A` or `<module>.lora_A` and their `lora_B`, to their weights."""
    merged = {key: tensor for key, tensor in state.items() if not key.endswith(("lora_A", "lora_B"))}
    for key in (key for key in state if key.endswith("lora_A")):
        base = key.removesuffix("_lora_A") if key.endswith("_lora_A") else f"{key.removesuffix('lora_A')}weight"
        if base not in merged or f"{key[:-1]}B" not in state:
            raise CheckpointError(f"{key}: there is no {base} or no {key[:-1]}B beside it")
        low, high, weight = state[key].float(), state[f"{key[:-1]}B"].float(), merged[base]
        side = weight.shape[-1] if weight.ndim == 4 else 1  # the factors of a convolution hold rank x side rows
        rank = low.shape[0] // side
        addition = high @ low
        addition = addition.T if addition.shape == weight.shape[::-1] != weight.shape else addition
        merged[base] = weight + (addition.reshape(weight.shape) * (LORA_SCALE / rank)).to(weight.dtype)
    return merged
