"""What PeakPatch is trained to lower: the losses of the corrected features and of the scores.

Source: paper "PeakPatch, arXiv 2607.23271", section 3.4, and the released code where the paper is silent (temperature
of the scores, weight of the offsets, texts that compete for an image).
"""

import torch
from torch.nn import functional

SCALE = 100.0
"""Logit scale, fixed: that of OpenAI's models."""
RIGHT_TEXTS, ALL_TEXTS = "right", "all"
"""Texts that look for their image: the right captions (release), or the wrong ones as well."""


def contrastive_loss(images, right, wrong, texts: str = RIGHT_TEXTS, scale: float = SCALE):
    """Returns the contrastive loss of images and their corrected captions, right and wrong: the mean of both ways.

    An image looks for its right caption among all 2n; a right caption for its image among n.

    # ASSUME: the paper calls the loss symmetric "with 2B corrected embeddings"; with ALL_TEXTS wrong captions look for
    the image that they were made from as well. The release, and the default, leaves them out.

    Args:
        images: (n, dim), unit rows.
        right: (n, dim), unit rows.
        wrong: (n, dim), unit rows.
        texts: RIGHT_TEXTS or ALL_TEXTS.
        scale: cosines are multiplied by it.

    Raises:
        ValueError: `texts` is unknown.
    """
    if texts not in (RIGHT_TEXTS, ALL_TEXTS):
        raise ValueError(f"unknown texts {texts!r}: use {RIGHT_TEXTS} or {ALL_TEXTS}")
    own = torch.arange(len(images), device=images.device)
    logits = scale * images @ torch.cat([right, wrong]).T
    to_images = logits.T if texts == ALL_TEXTS else logits[:, : len(images)].T
    targets = own.repeat(len(to_images) // len(images))
    return (functional.cross_entropy(logits, own) + functional.cross_entropy(to_images, targets)) / 2


def choice_loss(scores, offsets, right, present, temperature: float, offset_weight: float):
    """Returns the loss of questions: cross entropy of the right option, and the mean square of the offsets.

    Args:
        scores: (n, options).
        offsets: (n, options).
        right: (n,) int64, place of the right option.
        present: (n, options) bool; False where a question has fewer options than others.
        temperature: scores are divided by it.
        offset_weight: weight of the offsets' mean square.
    """
    logits = (scores / temperature).masked_fill(~present, -float("inf"))
    return functional.cross_entropy(logits, right) + offset_weight * offsets[present].square().mean()


def keeping_loss(scores, cosines, scale: float = SCALE):
    """Returns how far scores moved: the mean square of their changes, as logits; 0 of none.

    Args:
        scores: (n, images), of captions that deny nothing.
        cosines: (n, images), of the frozen model.
        scale: cosines are multiplied by it.
    """
    return (scale * (scores - cosines)).square().sum() / max(1, cosines.numel())


def direction_loss(delta, target):
    """Returns the loss of the correction's pre-training: mean square error, and one less the cosine.

    Args:
        delta: (n, dim), directions of correction of negated captions.
        target: (n, dim), feature of the affirmative caption less that of the negated one.
    """
    return functional.mse_loss(delta, target) + (1 - functional.cosine_similarity(delta, target, dim=-1)).mean()
