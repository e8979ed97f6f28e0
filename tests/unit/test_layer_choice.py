import pytest

from crepebench.layer_choice import choose_layers

RISING = [0.0, 0.01, 0.02, 0.03, 0.10, 0.30]
"""A: the mean slope is 0.06, so the onset is layer 5."""


def chosen(distance, alignment=RISING, **override):
    found = choose_layers(distance, alignment, override)
    return found["peak"], found["onset"], found["anchor"]


def test_peak_is_the_greatest_distance_and_anchor_the_last_rising_layer_before_it():
    assert chosen([0.01, 0.05, 0.08, 0.20, 0.10, 0.05]) == (4, 5, 3)


def test_anchor_lies_before_the_onset_of_alignment():
    alignment = [0.0, 0.01, 0.20, 0.22, 0.24, 0.30]
    assert chosen([0.01, 0.02, 0.03, 0.04, 0.20, 0.10], alignment) == (5, 3, 2)


def test_anchor_is_passed_over_where_the_distance_falls():
    assert chosen([0.02, 0.05, 0.03, 0.20, 0.10, 0.05]) == (4, 5, 2)


def test_of_equal_peaks_the_lowest_layer_counts():
    assert chosen([0.01, 0.2, 0.1, 0.2 + 5e-7, 0.1, 0.05])[0] == 2
    assert chosen([0.01, 0.2, 0.1, 0.2 + 5e-6, 0.1, 0.05])[0] == 4


def test_last_layer_is_never_the_peak_and_a_distance_that_only_rises_has_no_collapse():
    found = choose_layers([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], RISING)
    assert (found["peak"], found["anchor"], found["collapse"]) == (5, 4, False)
    assert "no collapse: D is 0.6000 at the last layer (6) and 0.5000 at the peak (5)" in found["warnings"]


def test_flat_distance_has_no_collapse_and_an_earlier_peak_has():
    assert not choose_layers([0.1] * 6, RISING)["collapse"]
    found = choose_layers([0.1, 0.2, 0.3, 0.2, 0.1, 0.1], RISING)
    assert found["collapse"] and found["warnings"] == []


def test_distance_that_only_falls_peaks_at_layer_1_which_is_its_own_anchor():
    found = choose_layers([0.6, 0.5, 0.4, 0.3, 0.2, 0.1], RISING)
    assert (found["peak"], found["anchor"]) == (1, 1)
    assert any("the anchor is the peak (1)" in warning for warning in found["warnings"])
    assert any("D is highest at layer 1" in warning for warning in found["warnings"])


def test_no_layer_before_an_early_onset_gives_two_before_the_peak():
    found = choose_layers([-0.1, 0.02, 0.03, 0.20, 0.1, 0.05], [0.0, 0.5, 0.5, 0.5, 0.5, 0.5])
    assert (found["peak"], found["onset"], found["anchor"]) == (4, 2, 2)
    assert any("no layer before the peak (4) and the onset (2)" in warning for warning in found["warnings"])


def test_straight_alignment_has_no_onset_and_is_told():
    found = choose_layers([0.1, 0.2, 0.3, 0.2, 0.1, 0.1], [0.1 * i for i in range(6)])
    assert (found["onset"], found["anchor"]) == (None, 2)
    assert any("no onset" in warning for warning in found["warnings"])


def test_two_layers_are_enough_and_one_is_not():
    found = choose_layers([0.2, 0.1], [0.1, 0.3])
    assert (found["peak"], found["anchor"], found["collapse"]) == (1, 1, True)
    with pytest.raises(ValueError, match="at least two"):
        choose_layers([0.2], [0.1])


def test_config_overrides_peak_and_anchor_and_the_rule_stays_on_record():
    found = choose_layers([0.01, 0.05, 0.08, 0.20, 0.10, 0.05] * 2, RISING * 2, {"peak": 8, "anchor": 6})
    assert (found["peak"], found["anchor"], found["chosen_by"]) == (8, 6, "config")
    assert found["rule_peak"] == 4 and found["rule_version"] == 1
    assert choose_layers([0.1, 0.2, 0.1], [0.0, 0.1, 0.2], {"peak": None, "anchor": None})["chosen_by"] == "rule"


def test_anchor_of_a_given_peak_follows_the_rule():
    assert chosen([0.01, 0.05, 0.08, 0.20, 0.10, 0.05], peak=3) == (3, 5, 2)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ({"peak": 7}, "the peak layer 7 is none of the model's layers 1 to 6"),
        ({"anchor": 0}, "the anchor layer 0 is none"),
        ({"peak": 2, "anchor": 3}, r"anchor layer \(3\) must not lie behind the peak layer \(2\)"),
    ],
)
def test_layers_of_the_config_must_fit_the_model(override, message):
    with pytest.raises(ValueError, match=message):
        choose_layers([0.1] * 6, RISING, override)


def test_curves_that_hold_no_numbers_are_refused():
    with pytest.raises(ValueError, match="no number"):
        choose_layers([0.1, float("nan"), 0.1], [0.1, 0.2, 0.3])
