"""Which parameters CLIC trains, in which groups, and in what precision."""

from crepebench.clic_settings import TEXT, VISION

SCALE, BIAS = "logit_scale", "logit_bias"


def precision_of(name: str, cuda: bool):
    """Returns the torch type that is computed with; on a CPU it is always float32.

    # ASSUME: half precision is for GPUs: of CPUs few are faster with it, and none gives the same numbers as another.
    """
    import torch

    if not cuda:
        return torch.float32
    if name == "auto":
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
    return getattr(torch, name)


def trained_parameters(model, tower: str) -> dict:
    """Returns the parameters that are trained, by name, sorted.

    Source: CLIC's code: those whose name does not contain "visual", with the logit scale.

    # ASSUME: where the vision tower is trained alone, the logit scale is trained as well; a bias of logits never is,
    since no softmax depends on it.
    """
    named = {name: parameter for name, parameter in model.named_parameters() if name != BIAS}
    if tower == TEXT:
        named = {name: parameter for name, parameter in named.items() if "visual" not in name}
    elif tower == VISION:
        named = {name: parameter for name, parameter in named.items() if "visual" in name or name == SCALE}
    return dict(sorted(named.items()))


def parameter_groups(parameters: dict, weight_decay: float) -> list[dict]:
    """Returns the groups of AdamW: matrices that are no bias and of no normalisation decay. Source: CLIC's code."""
    decays = {
        name: parameter.ndim >= 2 and not any(part in name for part in ("bias", "ln", "bn"))
        for name, parameter in parameters.items()
    }
    return [
        {"params": [each for name, each in parameters.items() if decays[name] == chosen], "weight_decay": decay}
        for chosen, decay in ((True, weight_decay), (False, 0.0))
    ]
