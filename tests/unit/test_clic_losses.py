import math

import pytest
import torch

from crepebench.clic_losses import clamp_scale, contrastive_loss, joined_losses, plain_losses, unimodal_loss
from crepebench.clic_settings import VARIANTS, training_settings

SETTINGS = training_settings({})
ALL = torch.ones(6, dtype=torch.bool)


def unit(*shape, seed=1):
    rows = torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return torch.nn.functional.normalize(rows, dim=-1)


def naive(images, texts, scale, negatives=None):
    """Contrastive loss, one image and one text after the other."""
    total = 0.0
    for slot in texts:
        for i in range(len(images)):
            logits = [scale * float(images[i] @ text) for text in slot]
            columns = logits + ([] if negatives is None else [scale * float(images[i] @ text) for text in negatives])
            rows = [scale * float(image @ slot[i]) for image in images]
            for scores in (columns, rows):
                total += math.log(sum(map(math.exp, scores))) - scores[i]
    return total / (2 * len(texts) * len(images))


def test_only_texts_of_one_slot_compete():
    images, texts = unit(6, 8), unit(4, 6, 8, seed=2)
    assert float(contrastive_loss(images, texts, 10.0)) == pytest.approx(naive(images, texts, 10.0))


def test_one_softmax_has_all_negatives_beside_the_texts():
    images, texts, negatives = unit(6, 8), unit(2, 6, 8, seed=2), unit(6, 8, seed=3)
    found = contrastive_loss(images, texts, 10.0, negatives, ALL)
    assert float(found) == pytest.approx(naive(images, texts, 10.0, negatives))
    some = ALL.clone()
    some[2] = False
    found = contrastive_loss(images, texts, 10.0, negatives, some)
    assert float(found) == pytest.approx(naive(images, texts, 10.0, [negatives[i] for i in (0, 1, 3, 4, 5)]))


def test_equal_scores_cost_the_logarithm_of_two():
    images, texts = unit(6, 8), unit(5, 6, 8, seed=2)
    texts[-1] = texts[0]
    texts[1:-1] = texts[0]
    found = joined_losses(images, texts, ALL, 50.0, VARIANTS["clic"], SETTINGS)
    assert float(found["loss_negative"]) == pytest.approx(math.log(2))
    assert float(found["negative_right"]) == 0.0


def test_random_features_cost_what_chance_says():
    n = 400
    images, texts = unit(n, 2000), unit(5, n, 2000, seed=2)
    found = joined_losses(images, texts, torch.ones(n, dtype=torch.bool), 1.0, VARIANTS["clic"], SETTINGS)
    uni = float((2 - 2 * (texts[0] * texts[1]).sum(-1)).mean())
    assert float(found["loss_unimodal"]) == pytest.approx(uni)
    assert float(found["loss"]) == pytest.approx(0.5 * math.log(n) + 0.5 * math.log(2) + uni, abs=0.01)


def test_the_unimodal_gradient_reaches_both_orders():
    first, second = (unit(6, 8, seed=seed).requires_grad_() for seed in (1, 2))
    unimodal_loss(first, second).backward()
    assert first.grad.abs().sum() > 0
    assert torch.equal(first.grad, -second.grad)


def test_items_without_a_negative_have_no_part_in_what_compares_with_it():
    images, texts, some = unit(6, 8), unit(5, 6, 8, seed=2), ALL.clone()
    some[4:] = False
    found = joined_losses(images, texts, some, 20.0, VARIANTS["clic"], SETTINGS)
    fewer = joined_losses(images[:4], texts[:, :4], ALL[:4], 20.0, VARIANTS["clic"], SETTINGS)
    assert float(found["loss_negative"]) == pytest.approx(float(fewer["loss_negative"]))
    assert float(found["negative_right"]) == pytest.approx(float(fewer["negative_right"]))
    none = joined_losses(images, texts, ~ALL, 20.0, VARIANTS["clic"], SETTINGS)
    assert float(none["loss_negative"]) == 0.0
    assert math.isfinite(float(none["loss"]))
    assert math.isnan(float(none["negative_right"]))


def test_variants_leave_out_their_losses():
    images, texts = unit(6, 8), unit(5, 6, 8, seed=2)
    names = {name: set(joined_losses(images, texts, ALL, 9.0, VARIANTS[name], SETTINGS)) for name in VARIANTS}
    assert "loss_unimodal" in names["clic"]
    assert "loss_unimodal" not in names["no_unimodal"]
    assert names["negclip"] == {"loss", "loss_contrastive", "negative_right"}


def test_a_plain_step_is_one_slot():
    images, texts = unit(6, 8), unit(1, 6, 8, seed=2)
    assert float(plain_losses(images, texts, 10.0)["loss"]) == pytest.approx(naive(images, texts, 10.0))


def test_the_logit_scale_stays_between_one_and_the_largest():
    for value, kept in ((-0.5, 0.0), (2.0, 2.0), (9.0, 4.6052)):
        scale = torch.nn.Parameter(torch.tensor(value))
        clamp_scale(scale, SETTINGS.largest_scale)
        assert float(scale.detach()) == pytest.approx(kept)
