import numpy as np
import pytest
import torch

from crepebench.peakpatch_data import ABSENT, Captions, cycled_batch, shuffle_options
from crepebench.peakpatch_judging import question_hits
from crepebench.peakpatch_settings import AUTO, VARIANTS, fit_to_backbone, training_settings
from crepebench.peakpatch_training import Steps, build_networks, train

from .peakpatch_rows import small_data

QUICK = {"epochs": 4, "pair_batch": 16, "question_batch": 16, "pretraining_epochs": 2, "pretraining_batch": 16}
RATES = {"learning_rate_ecn": 1e-3, "learning_rate_scn": 1e-3}


@pytest.fixture(scope="module")
def data():
    torch.set_num_threads(1)
    return small_data()


def weights(trained):
    return {name: tensor.clone() for name, tensor in trained.networks.state_dict().items()}


def test_joint_training_lowers_the_loss_and_answers_new_questions(data):
    settings = training_settings({**QUICK, **RATES, "epochs": 6})
    trained = train(data, settings, 1)
    losses = [row["loss"] for row in trained.curve[1:]]
    assert losses[-1] < 0.7 * losses[0]
    assert trained.curve[0]["accuracy"] < 0.7
    best = max(row["accuracy"] for row in trained.curve[1:])
    assert best > trained.curve[0]["accuracy"] + 0.25
    assert question_hits(data, data.validation, trained.networks, "cpu").mean() == best  # the best epoch is kept


@pytest.mark.parametrize("killed", ["pretraining", "training"])
def test_killed_training_goes_on_to_the_very_same_weights(data, tmp_path, monkeypatch, killed):
    settings = training_settings({**QUICK, **RATES})
    unbroken = train(data, settings, 1)
    method = {"pretraining": "pretrain", "training": "losses"}[killed]
    whole, calls = getattr(Steps, method), []

    def dies(self, *args):
        calls.append(args)
        if len(calls) > 5:
            raise KeyboardInterrupt
        return whole(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(Steps, method, dies)
        with pytest.raises(KeyboardInterrupt):
            train(data, settings, 1, str(tmp_path))
    assert (tmp_path / f"{killed}.pt").exists()
    torch.rand(3)  # what else was drawn in the process does not matter
    resumed = train(data, settings, 1, str(tmp_path))
    assert all(torch.equal(a, b) for a, b in zip(weights(unbroken).values(), weights(resumed).values(), strict=True))
    times = [{key: value for key, value in row.items() if key != "seconds"} for row in resumed.curve]
    assert times == [{key: value for key, value in row.items() if key != "seconds"} for row in unbroken.curve]


def test_checkpoint_of_another_training_is_not_used(data, tmp_path, caplog):
    settings = training_settings({**QUICK, "epochs": 1, "pretraining_epochs": 0})
    train(data, settings, 1, str(tmp_path))
    other = train(data, settings, 2, str(tmp_path))
    assert "is of another training" in caplog.text
    assert all(map(torch.equal, weights(other).values(), weights(train(data, settings, 2)).values()))


@pytest.mark.parametrize("variant", VARIANTS)
def test_each_variant_has_its_networks_and_trains(data, variant):
    settings = training_settings({**QUICK, "variant": variant, "epochs": 1, "pretraining_epochs": 1})
    trained = train(data, settings, 1)
    assert set(trained.networks) == {"ecn": {"ecn"}, "scn": {"scn"}}.get(variant, {"ecn", "scn"})
    assert [row["epoch"] for row in trained.curve] == [0, 1]
    assert {"accuracy_positive", "accuracy_hybrid", "seconds"} <= set(trained.curve[1])


@pytest.mark.parametrize(("variant", "learns"), [("joint", True), ("detached", False)])
def test_scorer_teaches_the_correction_unless_detached(data, variant, learns):
    settings = training_settings({**QUICK, "variant": variant})
    networks = build_networks(16, 16, settings, 1)
    loss = Steps(data, networks, settings, 1, "cpu").losses(0, 0)["loss_scn"]
    loss.backward()
    gradients = [parameter.grad for parameter in networks["ecn"].parameters()]
    assert any(each is not None and each.abs().sum() > 0 for each in gradients) == learns
    assert all(each.grad is not None for each in networks["scn"].parameters())


def test_gradients_are_clipped_and_rates_fall_by_epoch(data, monkeypatch):
    norms, rates = [], []
    settings = training_settings({**QUICK, "epochs": 2, "pretraining_epochs": 0, "clip_norm": 0.5})
    step = torch.optim.AdamW.step

    def spied(self, *args, **kwargs):
        gradients = [p.grad for group in self.param_groups for p in group["params"]]
        norms.append(float(torch.stack([each.norm() for each in gradients]).norm()))
        rates.append([group["lr"] for group in self.param_groups])
        return step(self, *args, **kwargs)

    monkeypatch.setattr(torch.optim.AdamW, "step", spied)
    train(data, settings, 1)
    assert max(norms) <= 0.5 + 1e-5
    halfway = [1e-6 + (rate - 1e-6) / 2 for rate in (1e-5, 1e-4)]  # cosine, at half of the epochs
    assert rates == [[1e-5, 1e-4]] * 3 + [pytest.approx(halfway)] * 3


def test_warm_up_raises_the_rate_by_step(data, monkeypatch):
    rates = []
    settings = training_settings({**QUICK, "variant": "scn", "epochs": 2, "warm_up_steps": 4})
    step = torch.optim.AdamW.step
    monkeypatch.setattr(
        torch.optim.AdamW, "step", lambda self, *a: (rates.append(self.param_groups[0]["lr"]), step(self))[1]
    )
    train(data, settings, 1)
    assert rates[:4] == pytest.approx([2.5e-5, 5e-5, 7.5e-5, 1e-4])
    assert rates[4] == pytest.approx(1e-4) and rates[5] < 6e-5


AUTOMATIC = {"logit_scale": AUTO, "largest_offset": AUTO, "temperature": AUTO}


def test_numbers_in_cosines_fit_the_backbone_and_are_the_papers_at_its_scale():
    assert fit_to_backbone(training_settings(AUTOMATIC), 100.0) == training_settings({})
    found = fit_to_backbone(training_settings({**AUTOMATIC, "temperature": 0.5}), 20.0)
    assert (found.logit_scale, found.largest_offset, found.temperature) == (20.0, 1.0, 0.5)
    assert fit_to_backbone(training_settings({}), 20.0) == training_settings({})
    with pytest.raises(ValueError, match="temperature, largest_offset, logit_scale auto needs a backbone with"):
        fit_to_backbone(training_settings(AUTOMATIC), None)


def test_offsets_have_the_bound_of_the_settings(data):
    scorer = build_networks(16, 16, training_settings({"largest_offset": 0.7}), 1)["scn"].eval()
    with torch.no_grad():
        scorer.head[3].bias.fill_(50.0)
        images, layer, corrected = torch.nn.functional.normalize(torch.ones(3, 5, 16), dim=-1)
        assert torch.allclose(scorer(images, [layer], corrected), torch.tensor(0.7))


@pytest.mark.parametrize("variant", ["joint", "ecn", "scn"])
def test_scores_of_captions_that_deny_nothing_are_kept(data, variant):
    found = {}
    for weight in (1e-6, 10.0):
        options = {"variant": variant, "keep_weight": weight, "largest_offset": 1.0, "logit_scale": 10.0}
        found[weight] = train(data, training_settings({**QUICK, **RATES, **options}), 1).curve[-1]["loss_keep"]
    assert found[10.0] < 0.8 * found[1e-6]
    options |= {"keep_weight": 0.0}
    assert "loss_keep" not in train(data, training_settings({**QUICK, **options, "epochs": 1}), 1).curve[-1]


def test_features_of_the_frozen_model_stay_as_they_are(data):
    before = [array.copy() for array in (*data.captions.arrays(), data.images)]
    train(data, training_settings({**QUICK, "epochs": 1}), 1)
    for a, b in zip(before, (*data.captions.arrays(), data.images), strict=True):
        assert np.array_equal(a, b)


def test_options_are_shuffled_and_the_right_one_is_found():
    options = np.tile([7, 1, 2, ABSENT], (200, 1))
    shuffled, right = shuffle_options(options, np.random.default_rng(1))
    assert (shuffled[np.arange(200), right] == 7).all()
    assert sorted(shuffled[0]) == [ABSENT, 1, 2, 7]
    assert np.bincount(right, minlength=4).min() > 30


def test_loader_of_pairs_begins_again_in_another_order():
    steps = [cycled_batch(10, 3, 1, step) for step in range(6)]
    first, second = np.concatenate(steps[:3]), np.concatenate(steps[3:])
    assert len(set(first)) == len(set(second)) == 9  # full batches only
    assert not np.array_equal(first, second)
    assert np.array_equal(cycled_batch(10, 3, 1, 4), steps[4])


def test_padding_of_a_batch_does_not_matter(data):
    networks = build_networks(16, 16, training_settings({}), 1).eval()
    alone, beside = data.captions.batch([0]), data.captions.batch([0, 1])
    assert alone.tokens.shape[1] < beside.tokens.shape[1]

    def corrected(batch):
        return networks["ecn"](batch.final, batch.tokens, batch.valid, batch.anchor)[0]

    assert (corrected(alone) - corrected(beside)).abs().max() < 1e-6


def test_end_may_stand_before_the_last_position():
    captions = Captions(*(np.zeros((1, 4), np.float32),) * 3, [np.ones((6, 4), np.float32)], ends=[2])
    assert captions.batch([0]).valid.tolist() == [[True] * 3 + [False] * 3]


def test_wrong_settings_and_empty_data_are_refused(data):
    with pytest.raises(ValueError, match="unknown options of PeakPatch's training: rate"):
        training_settings({"rate": 1})
    with pytest.raises(ValueError, match="unknown variant 'both'"):
        training_settings({"variant": "both"})
    empty = data._replace(questions=data.questions.__class__(*(np.zeros((0, 4), np.int64),) * 3))
    with pytest.raises(ValueError, match="cannot be trained on 48 pairs, 0 questions, 48 validation questions"):
        train(empty, training_settings({}), 1)
