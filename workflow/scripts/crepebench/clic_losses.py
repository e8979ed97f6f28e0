"""The losses of CLIC.

Source: paper "CLIC, arXiv 2505.24424", section 3, and its code. Features are unit rows: images (n, d), texts
(k + 1, n, d), of which the last ones are the negatives. Items without a negative have no part in what compares with
negatives.
"""

from crepebench.clic_settings import UNIFIED, Training, Variant


def contrastive_loss(images, texts, scale, negatives=None, has_negative=None):
    """Returns the symmetric contrastive loss, a mean over the slots; only texts of one slot compete.

    Args:
        images: (n, d) unit rows.
        texts: (k, n, d) unit rows, positives by slot.
        scale: logit scale, not its logarithm.
        negatives: (n, d); with them each image also has all negatives to choose from (NegCLIP).
        has_negative: (n,) bool; which of the negatives are there.
    """
    import torch
    from torch.nn.functional import cross_entropy

    logits = scale * torch.einsum("id,kjd->kij", images, texts)
    wanted = torch.arange(len(images), device=images.device).expand(len(texts), -1)
    from_texts = cross_entropy(logits, wanted)  # the classes are of dimension 1: images
    columns = logits
    if negatives is not None:
        worse = (scale * images @ negatives.T).masked_fill(~has_negative, float("-inf"))
        columns = torch.cat([logits, worse.expand(len(texts), -1, -1)], dim=2)
    from_images = cross_entropy(columns.transpose(1, 2), wanted)
    return (from_images + from_texts) / 2


def margins(images, positives, negatives):
    """Returns how much better each positive fits than the negative: (k, n) differences of cosines."""
    return ((positives - negatives) * images).sum(dim=-1)


def negative_loss(found, has_negative, scale):
    """Returns the loss that each positive pays against its item's negative: softplus of minus the scaled margin.

    Args:
        found: (k, n), of `margins`.
        has_negative: (n,) bool; the mean is over items that have one, 0 where there are none.
        scale: logit scale.
    """
    from torch.nn.functional import softplus

    return _mean_where(softplus(-scale * found), has_negative)


def unimodal_loss(first, second):
    """Returns the mean squared distance of two orders of the same sentences: both are (n, d) unit rows."""
    return (first - second).square().sum(dim=-1).mean()


def joined_losses(images, texts, has_negative, scale, variant: Variant, settings: Training) -> dict:
    """Returns the losses of a joined step.

    # ASSUME: with negatives in one softmax (UNIFIED) the contrastive loss has weight one: nothing stands beside it.

    Args:
        images: (n, d) unit rows.
        texts: (k + 1, n, d) unit rows in the order [p1 | p2 | ... | n].
        has_negative: (n,) bool.
        scale: logit scale.
        variant: says which losses there are.
        settings: says their weights.

    Returns:
        "loss", its parts "loss_contrastive", "loss_negative" and "loss_unimodal", and "negative_right", the share of
        positives that fit better than the negative (NaN where no item has one).
    """
    positives, negatives = texts[:-1], texts[-1]
    found = margins(images, positives, negatives)
    losses = {}
    if variant.softmax == UNIFIED:
        losses["loss_contrastive"] = contrastive_loss(images, positives, scale, negatives, has_negative)
        total = losses["loss_contrastive"]
    else:
        losses["loss_contrastive"] = contrastive_loss(images, positives, scale)
        losses["loss_negative"] = negative_loss(found, has_negative, scale)
        total = settings.contrastive_weight * losses["loss_contrastive"]
        total = total + settings.negative_weight * losses["loss_negative"]
    if variant.unimodal:
        losses["loss_unimodal"] = unimodal_loss(positives[0], positives[1])
        total = total + settings.unimodal_weight * losses["loss_unimodal"]
    right = (found.detach() > 0)[:, has_negative].float().mean()
    return {"loss": total, **losses, "negative_right": right}


def plain_losses(images, texts, scale) -> dict:
    """Returns the loss of a plain step: images (n, d) and their first sentences (1, n, d)."""
    loss = contrastive_loss(images, texts, scale)
    return {"loss": loss, "loss_contrastive": loss}


def clamp_scale(logit_scale, largest: float) -> None:
    """Keeps the logarithm of the logit scale between 0 and the largest, in place."""
    import torch

    with torch.no_grad():
        logit_scale.clamp_(0.0, largest)


def _mean_where(values, chosen):
    """Returns the mean of the columns that are chosen; 0, with a gradient, where there are none."""
    return (values * chosen).sum() / (chosen.sum() * len(values)).clamp(min=1)
