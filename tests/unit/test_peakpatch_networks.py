import pytest
import torch

from crepebench.peakpatch_losses import ALL_TEXTS, RIGHT_TEXTS, choice_loss, contrastive_loss, direction_loss
from crepebench.peakpatch_networks import ALL, END_ONLY, FULL, NO_ANCHOR, NO_POOL, VALID, Correction, Scorer


def n_parameters(module):
    return sum(parameter.numel() for parameter in module.parameters())


def unit(*shape, seed=0):
    features = torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
    return torch.nn.functional.normalize(features, dim=-1)


def inputs(n=4, length=9, width=512, dim=512, ends=(3, 8, 5, 2)):
    """Token features are as large as those behind a LayerNorm."""
    tokens = torch.randn(n, length, width, generator=torch.Generator().manual_seed(1))
    valid = torch.arange(length) <= torch.tensor(ends)[:, None]
    return unit(n, dim), tokens, valid, tokens[:, 0] * 0.5


@pytest.mark.parametrize(
    ("form", "n"), [(FULL, 4_728_833), (NO_ANCHOR, 4_204_545), (NO_POOL, 4_204_545), (END_ONLY, 2_628_097)]
)
def test_correction_has_the_papers_number_of_parameters(form, n):
    assert n_parameters(Correction(512, 512, form)) == n


@pytest.mark.parametrize(
    ("dim", "n_layers", "n"), [(512, 2, 493_825), (512, 3, 625_025), (768, 2, 690_433), (1024, 2, 887_041)]
)
def test_scorer_has_the_papers_number_of_parameters(dim, n_layers, n):
    assert n_parameters(Scorer(dim, n_layers)) == n


def test_both_have_the_papers_total_at_768():
    assert n_parameters(Correction(768, 768)) == 7_352_321


def test_correction_starts_near_the_frozen_feature():
    torch.manual_seed(0)
    final, *rest = inputs()
    cosines = (Correction(512, 512).eval()(final, *rest) * final).sum(-1)
    assert ((cosines > 0.95) & (cosines < 1 - 1e-6)).all()


def test_offsets_start_small_and_stay_within_a_fifth():
    torch.manual_seed(0)
    scorer = Scorer(512).eval()
    features = [unit(50, 512, seed=seed) for seed in range(3)]
    assert scorer(features[0], features[1:2], features[2]).abs().max() < 1e-2
    with torch.no_grad():
        scorer.head[-1].weight *= 1e6
    offsets = scorer(features[0], features[1:2], features[2]).abs()
    assert 0.19 < offsets.max() <= 0.2


def test_score_is_the_formula_by_hand():
    torch.manual_seed(0)
    scorer = Scorer(8).eval()
    image, peak, corrected = (unit(1, 8, seed=seed)[0] for seed in range(3))
    gelu, linear = torch.nn.functional.gelu, lambda layer, x: layer.weight @ x + layer.bias

    def context(net, x):
        x = linear(net[0], x)
        x = (x - x.mean()) / (x.var(unbiased=False) + 1e-5).sqrt() * net[1].weight + net[1].bias
        return linear(net[3], gelu(x))

    t, c = context(scorer.text, torch.cat([peak, corrected])), context(scorer.pair, image * corrected)
    hidden = gelu(linear(scorer.head[0], torch.cat([torch.stack([peak @ image, corrected @ image]), t, c])))
    offset = 0.2 * torch.tanh(linear(scorer.head[3], hidden))[0]
    score, found = scorer.score(image[None], [peak[None]], corrected[None])
    assert abs(float((found - offset).detach())) < 1e-7
    assert abs(float((score - (image @ corrected + offset)).detach())) < 1e-6


def test_pairs_of_an_image_and_options_are_broadcast():
    torch.manual_seed(0)
    scorer = Scorer(8).eval()
    images, peaks, corrected = unit(3, 8), unit(3, 4, 8, seed=1), unit(3, 4, 8, seed=2)
    found = scorer(images[:, None], [peaks], corrected)
    assert found.shape == (3, 4)
    assert torch.allclose(found[1, 2], scorer(images[1:2], [peaks[1, 2:3]], corrected[1, 2:3])[0], atol=1e-7)


def test_zeroed_text_branch_leaves_the_pair_alone():
    torch.manual_seed(0)
    scorer = Scorer(8).eval()
    args = unit(5, 8), [unit(5, 8, seed=1)], unit(5, 8, seed=2)
    without = scorer(*args, text_branch=False)
    with torch.no_grad():
        scorer.text[3].weight.zero_()
    assert torch.equal(scorer(*args), without)


@pytest.mark.parametrize("form", [FULL, END_ONLY])
def test_what_stands_behind_the_end_changes_nothing(form):
    torch.manual_seed(0)
    correction = Correction(16, 16, form).eval()
    final, tokens, valid, anchor = inputs(width=16, dim=16)
    other = torch.where(valid[..., None], tokens, torch.full_like(tokens, 50.0))
    longer = torch.nn.functional.pad(other, (0, 0, 0, 5), value=-9.0), torch.nn.functional.pad(valid, (0, 5))
    expected = correction(final, tokens, valid, anchor)
    assert torch.equal(correction(final, other, valid, anchor), expected)
    assert (correction(final, *longer, anchor) - expected).abs().max() < 1e-6


def test_query_may_attend_to_all_positions():
    torch.manual_seed(0)
    correction = Correction(16, 16, attends=ALL).eval()
    final, tokens, valid, anchor = inputs(width=16, dim=16)
    other = torch.where(valid[..., None], tokens, torch.full_like(tokens, 50.0))
    assert not torch.allclose(correction(final, tokens, valid, anchor), correction(final, other, valid, anchor))


def test_width_may_differ_from_the_joint_dimension():
    final, *rest = inputs(width=16, dim=24)
    found = Correction(16, 24)(final, *rest)
    assert found.shape == (4, 24)
    assert (found.norm(dim=-1) - 1).abs().max() < 1e-6


def test_heads_share_their_attention_among_valid_positions():
    correction = Correction(16, 16).eval()
    _, tokens, valid, _ = inputs(width=16, dim=16)
    weights = correction.attention_weights(tokens, valid)
    assert weights.shape == (4, 8, 9)
    assert (weights.sum(-1) - 1).abs().max() < 1e-5
    assert (weights.transpose(1, 2)[~valid] == 0).all()


def test_wrong_settings_are_refused():
    with pytest.raises(ValueError, match="unknown form 'half'"):
        Correction(16, 16, "half")
    with pytest.raises(ValueError, match="width 20 cannot be attended to by 8 heads"):
        Correction(20, 16)


@pytest.mark.parametrize("n", [1, 2, 7])
def test_constant_similarities_lose_the_mean_of_both_ways(n):
    same = unit(1, 8).expand(n, 8)
    expected = (torch.log(torch.tensor(2.0 * n)) + torch.log(torch.tensor(float(n)))) / 2
    for texts in (RIGHT_TEXTS, ALL_TEXTS):
        assert abs(float(contrastive_loss(same, same, same, texts) - expected)) < 1e-5


def test_contrastive_loss_is_its_definition():
    images, right, wrong = (unit(3, 8, seed=seed) for seed in range(3))
    total = 0.0
    for i in range(3):
        texts = torch.stack([100 * images[i] @ text for text in (*right, *wrong)])
        pictures = torch.stack([100 * image @ right[i] for image in images])
        total += (texts.logsumexp(0) - texts[i]) / 6 + (pictures.logsumexp(0) - pictures[i]) / 6
    assert abs(float(contrastive_loss(images, right, wrong) - total)) < 1e-4
    assert contrastive_loss(images, right, wrong, ALL_TEXTS) != contrastive_loss(images, right, wrong)
    with pytest.raises(ValueError, match="unknown texts 'both'"):
        contrastive_loss(images, right, wrong, "both")


def test_choice_loss_leaves_out_options_that_are_not_there():
    scores, offsets = torch.tensor([[0.3, 0.1, 9.0]]), torch.tensor([[0.1, -0.2, 5.0]])
    present, right = torch.tensor([[True, True, False]]), torch.tensor([1])
    expected = torch.tensor([0.3, 0.1]).div(0.07).logsumexp(0) - 0.1 / 0.07 + 0.1 * (0.01 + 0.04) / 2
    assert abs(float(choice_loss(scores, offsets, right, present, 0.07, 0.1) - expected)) < 1e-6


def test_direction_loss_is_nothing_at_the_target():
    target = unit(4, 8) * 0.3
    assert abs(float(direction_loss(target, target))) < 1e-6
    assert abs(float(direction_loss(-target, target)) - (4 * 0.09 / 8 + 2)) < 1e-5


@pytest.mark.parametrize("attends", [VALID, ALL])
def test_attention_of_the_one_query_is_that_of_torchs_own_module(attends):
    torch.manual_seed(3)
    correction = Correction(16, 8, attends=attends).eval()
    with torch.no_grad():
        correction.query.normal_()
        correction.attention.in_proj_bias.normal_()
        correction.attention.out_proj.bias.normal_()
    tokens = torch.randn(5, 7, 16)
    valid = torch.arange(7) < torch.tensor([7, 3, 1, 5, 2])[:, None]
    query, hidden = correction.query.expand(5, -1, -1), None if attends == ALL else ~valid
    expected, weights = correction.attention(query, tokens, tokens, hidden, average_attn_weights=False)
    assert (correction._attended(tokens, valid) - expected.squeeze(1)).abs().max() < 1e-5
    assert (correction.attention_weights(tokens, valid) - weights.squeeze(2)).abs().max() < 1e-6
