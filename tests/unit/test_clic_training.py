import numpy as np
import pytest
import torch

from crepebench.clic_distributed import Processes
from crepebench.clic_loading import plan_steps
from crepebench.clic_parameters import parameter_groups, trained_parameters
from crepebench.clic_settings import training_settings
from crepebench.clic_steps import NonFiniteLossError, Steps
from crepebench.clic_training import CHECKPOINT, Judge, train
from crepebench.clic_vision import FrozenRows

from .clic_files import kinds_of, load_base, make_parts, write_images

ALONE = Processes()


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("world")
    return folder, *write_images(folder / "images")


def run(parts, folder=None, judged=False, key="k"):
    judge = Judge(parts.examples, parts.batches, parts.steps, 16, True) if judged else None
    given = (parts.steps, parts.examples, parts.batches, judge, parts.variant, parts.settings, 1, ALONE)
    return train(*given, folder and str(folder), key)


def state(model):
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}


def same(a, b):
    return list(a) == list(b) and all(torch.equal(a[name], b[name]) for name in a)


def first_batches(parts, n=2):
    plans = plan_steps(len(parts.examples), parts.variant, parts.settings, seed=1)
    return [parts.batches[plan] for plan, _ in zip(plans, range(n), strict=False)]


def gradients(parts, batch):
    """Gradients of a batch by way of one graph, as if there were no micro-batches."""
    base, steps = parts.base, parts.steps
    pixels = parts.batches._joiner.normalise(batch.pixels) if batch.images is None else batch.images
    images = torch.nn.functional.normalize(base.image_features(pixels), dim=-1)
    texts = torch.nn.functional.normalize(base.text_features(batch.tokens, None), dim=-1)[batch.places]
    loss = steps.losses(batch, images, texts)["loss"]
    found = torch.autograd.grad(loss, list(steps.trained.values()))
    return float(loss.detach()), dict(zip(steps.trained, found, strict=True))


def test_training_lowers_the_losses_and_leaves_the_vision_tower_as_it_was(world):
    parts = make_parts(*world, {"epochs": 5, "peak_learning_rate": 3e-3})
    before = state(parts.base.model)
    trained = run(parts, judged=True)
    after = parts.base.model.state_dict()
    for name, tensor in before.items():
        assert torch.equal(tensor, after[name]) == ("visual" in name or name not in trained.tensors), name
    assert "logit_scale" in trained.tensors
    assert not any("visual" in name for name in trained.tensors)
    held = [row for row in trained.curve if row["split"] == "validation" and row["kind"] == "joined"]
    assert [row["epoch"] for row in held] == list(range(6))
    assert held[-1]["loss"] < held[0]["loss"]
    assert held[-1]["loss_negative"] < held[0]["loss_negative"]
    assert held[-1]["negative_right"] > held[0]["negative_right"]
    assert kinds_of(trained.curve) == {"joined": 8, "plain": 7}
    assert trained.counts["joined"] == 8 * 8
    assert np.isfinite([row["images_per_second"] for row in trained.curve if row["split"] == "train"]).all()


@pytest.mark.parametrize("variant", ["vision", "both", "negclip", "single", "extra_0"])
def test_variants_train_what_they_are_named_for(world, variant):
    parts = make_parts(*world, {"epochs": 1}, variant)
    before = state(parts.base.model)
    trained = run(parts)
    moved = {name for name, tensor in parts.base.model.state_dict().items() if not torch.equal(tensor, before[name])}
    assert moved == set(trained.tensors)
    tower = {"vision": {True}, "both": {True, False}}.get(variant, {False})
    assert {"visual" in name for name in moved - {"logit_scale"}} == tower
    assert (kinds_of(trained.curve)["plain"] == 0) == (variant == "negclip")


@pytest.mark.parametrize("variant", ["clic", "both"])
@pytest.mark.parametrize("micro", [0, 3])
def test_gradients_of_micro_batches_are_those_of_one_pass(world, variant, micro):
    for number in range(2):
        whole = make_parts(*world, variant=variant)
        loss, wanted = gradients(whole, first_batches(whole)[number])
        parts = make_parts(*world, {"micro_batch": micro}, variant)
        parts.steps.optimiser = torch.optim.SGD(list(parts.steps.trained.values()), lr=0.0)
        found = parts.steps.take(first_batches(parts)[number], 0.0, parts.examples.row_ids)
        assert found["loss"] == pytest.approx(loss, abs=1e-6)
        most = max(float(gradient.abs().max()) for gradient in wanted.values())
        for name, parameter in parts.steps.trained.items():
            torch.testing.assert_close(parameter.grad, wanted[name], atol=1e-6 * most, rtol=0, msg=name)


def test_micro_batches_hold_no_more_than_they_say(world, monkeypatch):
    parts, sizes = make_parts(*world, {"micro_batch": 3}), []
    encode = parts.base.image_features
    monkeypatch.setattr(parts.base, "image_features", lambda pixels: sizes.append(len(pixels)) or encode(pixels))
    parts.steps.take(first_batches(parts)[0], 1e-3, parts.examples.row_ids)
    assert sizes == [3, 3, 2]


@pytest.mark.parametrize("dies_at", [2, 5])
def test_killed_training_goes_on_to_the_very_same_weights(world, tmp_path, monkeypatch, dies_at):
    options = {"epochs": 3, "checkpoint_steps": 2}
    unbroken = run(make_parts(*world, options), judged=True)
    take, taken = Steps.take, []

    def dies(self, *args):
        taken.append(args)
        if len(taken) > dies_at:
            raise KeyboardInterrupt
        return take(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(Steps, "take", dies)
        with pytest.raises(KeyboardInterrupt):
            run(make_parts(*world, options), tmp_path, judged=True)
    assert (tmp_path / CHECKPOINT).exists()
    resumed = run(make_parts(*world, options), tmp_path, judged=True)
    assert same(unbroken.tensors, resumed.tensors)
    assert resumed.counts == unbroken.counts
    curves = [
        [{k: v for k, v in row.items() if k != "images_per_second"} for row in trained.curve]
        for trained in (unbroken, resumed)
    ]
    assert str(curves[0]) == str(curves[1])


def test_a_checkpoint_of_another_training_is_not_used(world, tmp_path):
    first = run(make_parts(*world), tmp_path)
    other = run(make_parts(*world, {"peak_learning_rate": 2e-3}), tmp_path, key="other")
    again = run(make_parts(*world), tmp_path / "fresh")
    assert same(first.tensors, again.tensors)
    assert not same(first.tensors, other.tensors)
    assert len(other.curve) == len(first.curve)


def test_a_loss_that_is_no_number_stops_the_training_and_names_step_and_items(world):
    parts = make_parts(*world)
    batch = first_batches(parts)[1]
    with torch.no_grad():
        parts.base.model.ln_final.weight[0] = float("nan")
    before = state(parts.base.model)
    rows = ", ".join(str(500 + i) for i in batch.plan.rows[:5])
    with pytest.raises(NonFiniteLossError, match=f"plain step 1 has the loss nan; among its 8 items .* rows {rows};"):
        parts.steps.take(batch, 1e-3, parts.examples.row_ids)
    assert all(
        torch.equal(a.nan_to_num(), b.nan_to_num())
        for a, b in zip(before.values(), state(parts.base.model).values(), strict=True)
    )


def test_kept_features_of_single_images_change_nothing(world):
    folder, images, _ = world
    base = load_base(folder / "base")
    live = make_parts(*world)
    pictures = torch.cat([live.batches._single(np.array([i])) for i in range(len(images))])
    frozen = FrozenRows(base.encode_images(pictures), np.arange(len(images)))
    kept = make_parts(*world, frozen=frozen)
    with_images, without = (first_batches(parts)[1] for parts in (live, kept))
    for found, wanted in zip(kept.steps.features(without), live.steps.features(with_images), strict=True):
        torch.testing.assert_close(found, wanted, atol=1e-6, rtol=0)
    losses = [[row["loss"] for row in run(parts).curve] for parts in (live, kept)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-4)


def test_only_matrices_decay_that_are_no_bias_and_of_no_normalisation(world):
    base = load_base(world[0] / "base")
    groups = parameter_groups(trained_parameters(base.model, "text"), 0.1)
    names = {id(parameter): name for name, parameter in base.model.named_parameters()}
    decaying, others = ({names[id(each)] for each in group["params"]} for group in groups)
    assert [group["weight_decay"] for group in groups] == [0.1, 0.0]
    assert {"token_embedding.weight", "text_projection", "positional_embedding"} <= decaying
    assert {"logit_scale", "ln_final.weight", "transformer.resblocks.0.attn.in_proj_bias"} <= others
    assert len(decaying) + len(others) == len(trained_parameters(base.model, "text"))


def test_the_logit_scale_never_passes_its_largest_value(world):
    parts = make_parts(*world, {"largest_scale": 2.0})
    run(parts)
    assert float(parts.base.model.logit_scale.detach()) <= 2.0


def test_on_a_cpu_all_is_float32(world):
    from crepebench.clic_parameters import precision_of

    assert precision_of("float16", cuda=False) == torch.float32
    assert training_settings({"precision": "bfloat16"}).precision == "bfloat16"
