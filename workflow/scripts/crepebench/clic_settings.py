"""What is fine-tuned by CLIC and how: its variants, the numbers of the paper, and the course of a training.

Source: paper "CLIC, arXiv 2505.24424", and its code, whose values hold where the paper is silent.
"""

import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import NamedTuple

JOINED, PLAIN = "joined", "plain"
"""Kinds of steps: on joined images with all captions, or on single ones with their first sentence."""
TEXT, VISION, BOTH = "text", "vision", "both"
ACROSS, WITHIN = "across", "within"
SINGLE = "single"
SEPARATE, UNIFIED = "separate", "unified"
OWN_NORM, IMAGENET_NORM = "clip", "imagenet"
RANDOM, CANDIDATES = "random", "candidates"
METHOD = "clic"
MOST_SCALE = 4.6052
"""Natural logarithm of CLIP's largest logit scale, 100."""


class Variant(NamedTuple):
    """What differs between the method, its ablations and its baselines.

    Attributes:
        tower: which is trained, with the logit scale: TEXT, VISION or BOTH.
        alternates: whether plain steps come between the others.
        unimodal: whether the two orders of the first sentences are drawn to each other.
        n_extra: further positives, of the other sentences.
        swap: where the two swapped words come from: ACROSS two images' sentences, or WITHIN one.
        pictures: JOINED of two images, or SINGLE.
        softmax: SEPARATE leaves negatives to a loss of their own; UNIFIED has them in that of images to texts.
        norm: of joined images: OWN_NORM, the model's own, or IMAGENET_NORM; None in VARIANTS: what the config says.
        negatives: RANDOM or CANDIDATES; None in VARIANTS: what the config says.
    """

    tower: str = TEXT
    alternates: bool = True
    unimodal: bool = True
    n_extra: int = 2
    swap: str = ACROSS
    pictures: str = JOINED
    softmax: str = SEPARATE
    norm: str | None = None
    negatives: str | None = None

    @property
    def n_positives(self) -> int:
        """Positives of an item: those of both orders, and further ones."""
        return 2 + self.n_extra


# ASSUME: the baseline on single images takes plain steps as the method does; its code turns off no more than the
# unimodal loss. The baseline after NegCLIP has no further positives.
VARIANTS = {
    METHOD: Variant(),
    "no_alternation": Variant(alternates=False),
    "no_unimodal": Variant(unimodal=False),
    "extra_0": Variant(n_extra=0),
    "extra_1": Variant(n_extra=1),
    "within": Variant(swap=WITHIN),
    "vision": Variant(tower=VISION),
    "both": Variant(tower=BOTH),
    "single": Variant(unimodal=False, swap=WITHIN, pictures=SINGLE),
    "negclip": Variant(
        alternates=False, unimodal=False, n_extra=0, swap=WITHIN, pictures=SINGLE, softmax=UNIFIED, negatives=RANDOM
    ),
    "imagenet_norm": Variant(norm=IMAGENET_NORM),
    "candidates": Variant(negatives=CANDIDATES),
}
CHOICES = {
    "precision": ("auto", "float32", "float16", "bfloat16"),
    "concat_norm": (OWN_NORM, IMAGENET_NORM),
    "negatives": (RANDOM, CANDIDATES),
}


@dataclass(frozen=True)
class Training:
    """Settings of a training; the paper's values, but for what says otherwise.

    Attributes:
        batch_size: items of a step, over all GPUs.
        micro_batch: items that one pass of a GPU holds at a time; 0 for all of its share. The results are the same.
        epochs: passes over the items.
        hard_negative_freq: joined steps to plain ones; k > 1 is one plain, then k joined; k < 1 one joined, then 1/k
            plain; 1 is joined, plain, ...
        peak_learning_rate: after the rise.
        initial_learning_rate: of the first step.
        last_learning_rate: of the last step.
        warm_up_share: share of the steps (0-1) in which the rate rises; then it falls along half a cosine.
        weight_decay: of tensors with two or more dimensions that are no bias and of no normalisation.
        betas: of AdamW.
        eps: of AdamW.
        contrastive_weight: of the contrastive loss of joined steps; plain steps have nothing else, at weight one.
        negative_weight: of the loss of negatives.
        unimodal_weight: of the loss between the two orders.
        largest_scale: natural logarithm of the largest logit scale.
        concat_norm: OWN_NORM (ours) or IMAGENET_NORM (as the paper's code has it).
        negatives: RANDOM or CANDIDATES.
        precision: of what is computed; "auto" is float32 on a CPU, and bfloat16 on a GPU that has it, else float16.
        workers: processes that load batches for one GPU; 0 loads them in the process itself (ours).
        gpus: processes of one GPU each (the paper: 4).
        checkpoint_steps: steps between two checkpoints; there is one after each epoch as well (ours).
    """

    batch_size: int = 800
    micro_batch: int = 0
    epochs: int = 1
    hard_negative_freq: float = 1.0
    peak_learning_rate: float = 1.0e-6
    initial_learning_rate: float = 1.0e-7
    last_learning_rate: float = 1.0e-8
    warm_up_share: float = 0.2
    weight_decay: float = 0.1
    betas: tuple[float, float] = (0.9, 0.98)
    eps: float = 1.0e-8
    contrastive_weight: float = 0.5
    negative_weight: float = 0.5
    unimodal_weight: float = 1.0
    largest_scale: float = MOST_SCALE
    concat_norm: str = OWN_NORM
    negatives: str = RANDOM
    precision: str = "auto"
    workers: int = 4
    gpus: int = 1
    checkpoint_steps: int = 200


LOWEST = {"batch_size": 2, "epochs": 1, "gpus": 1, "checkpoint_steps": 1, "workers": 0, "micro_batch": 0}
"""Least values; of all other numbers it is 0."""
POSITIVE = ("hard_negative_freq", "peak_learning_rate", "eps")
MOST = {"warm_up_share": 1.0, "largest_scale": MOST_SCALE}


def training_settings(options: Mapping) -> Training:
    """Returns the settings of a config block; what it does not name has the paper's value.

    Raises:
        ValueError: a key is unknown, or its value is of another type or out of bounds; names the key.
    """
    known = {field.name: field for field in fields(Training)}
    if unknown := sorted(set(options) - set(known)):
        raise ValueError(f"unknown keys of CLIC's training: {', '.join(unknown)}; known: {', '.join(known)}")
    found = {}
    for name, value in options.items():
        default = known[name].default
        if default is MISSING or name == "betas":
            found[name] = _betas(value)
        elif name in CHOICES:
            if value not in CHOICES[name]:
                raise _error(name, value, f"use one of {', '.join(CHOICES[name])}")
            found[name] = value
        else:
            found[name] = _number(name, value, type(default))
    settings = Training(**found)
    if max(settings.initial_learning_rate, settings.last_learning_rate) > settings.peak_learning_rate:
        raise _error("peak_learning_rate", settings.peak_learning_rate, "the first and the last rate are not above it")
    return settings


def variant_of(name: str, training: Mapping) -> Variant:
    """Returns a variant; `concat_norm` and `negatives` of the config hold where it sets none itself.

    Args:
        name: of VARIANTS.
        training: config block of `training_settings`.

    Raises:
        ValueError: there is no such variant.
    """
    if name not in VARIANTS:
        raise ValueError(f"unknown variant {name!r} of CLIC: use one of {', '.join(VARIANTS)}")
    variant, settings = VARIANTS[name], training_settings(training)
    return variant._replace(
        norm=variant.norm or settings.concat_norm, negatives=variant.negatives or settings.negatives
    )


def step_kind(step: int, variant: Variant, hard_negative_freq: float) -> str:
    """Returns JOINED or PLAIN for a step, counted from 0 over all epochs.

    # ASSUME: steps are counted over all epochs, so that with an odd number of steps the kinds change places in the
    next epoch; 1/k and k are rounded to whole steps.
    """
    if not variant.alternates:
        return JOINED
    if hard_negative_freq > 1:
        return PLAIN if step % (1 + round(hard_negative_freq)) == 0 else JOINED
    return JOINED if step % (1 + round(1 / hard_negative_freq)) == 0 else PLAIN


def learning_rate(step: int, n_steps: int, settings: Training) -> float:
    """Returns the rate of a step: a straight rise from the first rate, then half a cosine to the last.

    # ASSUME: the peak stands at the first step after the rise, and the last step has the last rate.
    """
    rise, peak, last = round(settings.warm_up_share * n_steps), settings.peak_learning_rate, settings.last_learning_rate
    if step < rise:
        return settings.initial_learning_rate + (peak - settings.initial_learning_rate) * step / rise
    share = (step - rise) / max(1, n_steps - 1 - rise)
    return last + (peak - last) * (1 + math.cos(math.pi * share)) / 2


def _betas(value) -> tuple[float, float]:
    try:
        first, second = (float(each) for each in value)
    except (TypeError, ValueError) as error:
        raise _error("betas", value, "two numbers from 0 to below 1") from error
    if not (0 <= first < 1 and 0 <= second < 1):
        raise _error("betas", value, "two numbers from 0 to below 1")
    return first, second


def _number(name: str, value, kind: type) -> float | int:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not is_number or (kind is int and not isinstance(value, int)):
        raise _error(name, value, f"a{' whole' if kind is int else ''} number")
    least, most = LOWEST.get(name, 0), MOST.get(name, math.inf)
    if not least <= value <= most or (name in POSITIVE and value == 0):
        bounds = (
            f"{'above 0' if name in POSITIVE else f'at least {least}'}{f', at most {most}' if name in MOST else ''}"
        )
        raise _error(name, value, bounds)
    return kind(value)


def _error(name: str, value, wanted: str) -> ValueError:
    return ValueError(f"CLIC's training: {name} is {value!r}: {wanted}")
