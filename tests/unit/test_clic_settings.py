import pytest

from crepebench.clic_settings import VARIANTS, Training, learning_rate, step_kind, training_settings, variant_of

METHOD = VARIANTS["clic"]


def kinds(freq, n):
    return "".join(step_kind(step, METHOD, freq)[0] for step in range(n))


def test_joined_and_plain_steps_alternate_as_the_frequency_says():
    assert kinds(1, 6) == "jpjpjp"
    assert kinds(2, 7) == "pjjpjjp"
    assert kinds(0.5, 7) == "jppjppj"
    assert [step_kind(step, VARIANTS["no_alternation"], 1) for step in range(3)] == ["joined"] * 3


def test_paper_values_hold_where_nothing_is_said():
    settings = training_settings({})
    assert settings == Training()
    assert (settings.batch_size, settings.epochs, settings.weight_decay, settings.betas) == (800, 1, 0.1, (0.9, 0.98))


def test_the_rate_rises_over_a_fifth_of_the_steps_and_falls_to_the_last_one():
    settings = training_settings({})
    rates = [learning_rate(step, 50, settings) for step in range(50)]
    assert rates[0] == pytest.approx(1e-7)
    assert rates[10] == max(rates) == pytest.approx(1e-6)
    assert rates[-1] == pytest.approx(1e-8)
    assert rates[:11] == sorted(rates[:11])
    assert rates[10:] == sorted(rates[10:], reverse=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batchsize": 8}, "batchsize"),
        ({"batch_size": 1}, "batch_size is 1: at least 2"),
        ({"batch_size": 8.5}, "batch_size is 8.5: a whole number"),
        ({"epochs": True}, "epochs is True"),
        ({"warm_up_share": 1.5}, "warm_up_share is 1.5: at least 0, at most 1"),
        ({"hard_negative_freq": 0}, "hard_negative_freq is 0: above 0"),
        ({"largest_scale": 5.0}, "largest_scale"),
        ({"precision": "int8"}, "precision is 'int8': use one of auto"),
        ({"betas": [0.9]}, "betas"),
        ({"betas": [0.9, 1.0]}, "betas"),
        ({"peak_learning_rate": 1e-9}, "peak_learning_rate"),
        ({"negatives": "wordnet"}, "negatives is 'wordnet'"),
    ],
)
def test_a_bad_value_is_refused_by_its_key(options, message):
    with pytest.raises(ValueError, match=message):
        training_settings(options)


def test_the_config_says_norm_and_negatives_of_variants_that_do_not():
    config = {"concat_norm": "imagenet", "negatives": "candidates"}
    assert variant_of("clic", {})[-2:] == ("clip", "random")
    assert variant_of("clic", config)[-2:] == ("imagenet", "candidates")
    assert variant_of("imagenet_norm", {"concat_norm": "clip"}).norm == "imagenet"
    assert variant_of("candidates", {"negatives": "random"}).negatives == "candidates"
    with pytest.raises(ValueError, match="unknown variant 'klic'"):
        variant_of("klic", {})


def test_variants_differ_from_the_method_in_what_they_are_named_for():
    assert [VARIANTS[name].n_positives for name in ("clic", "extra_0", "extra_1", "negclip")] == [4, 2, 3, 2]
    assert VARIANTS["no_unimodal"] == METHOD._replace(unimodal=False)
    assert VARIANTS["within"] == METHOD._replace(swap="within")
    assert [VARIANTS[name].tower for name in ("clic", "vision", "both")] == ["text", "vision", "both"]
    assert (VARIANTS["negclip"].softmax, VARIANTS["negclip"].alternates) == ("unified", False)
