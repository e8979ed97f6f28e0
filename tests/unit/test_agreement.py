import pytest
from scipy.stats import binomtest

from crepebench.agreement import cohen_kappa, mean_agreement, wilson


@pytest.mark.parametrize(("k", "n"), [(0, 1), (1, 1), (0, 7), (3, 7), (7, 7), (88, 100), (299, 300)])
def test_interval_of_whole_counts_is_scipys(k, n):
    expected = binomtest(k, n).proportion_ci(method="wilson")
    assert wilson(k, n) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_interval_of_half_counts_lies_between_those_of_whole_ones():
    low, half, high = wilson(3, 10), wilson(3.5, 10), wilson(4, 10)
    assert all(a < b < c for a, b, c in zip(low, half, high, strict=True))


def test_kappa_takes_off_what_chance_would_agree_on():
    one = ["yes"] * 25 + ["no"] * 25
    other = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    assert cohen_kappa(one, other) == pytest.approx(0.4)  # 0.7 agreed, 0.5 by chance


def test_kappa_of_three_answers_counts_each_as_one_of_its_own():
    one = ["yes", "yes", "no", "no", "unsure", "unsure"]
    other = ["yes", "yes", "no", "unsure", "unsure", "no"]
    assert cohen_kappa(one, other) == pytest.approx((4 / 6 - 1 / 3) / (1 - 1 / 3))


@pytest.mark.parametrize(
    ("one", "other", "kappa"),
    [
        ("ab", "ab", 1.0),
        ("ab", "ba", -1.0),
        ("aa", "bb", 0.0),
        ("aaab", "aaaa", 0.0),
        ("aa", "aa", None),
        ("", "", None),
    ],
    ids=["always", "never", "never, by chance too", "one has one answer", "both have one answer", "no question"],
)
def test_kappa_at_its_ends(one, other, kappa):
    assert cohen_kappa(one, other) == (kappa if kappa is None else pytest.approx(kappa))


def test_kappa_of_unlike_numbers_of_answers_stops():
    with pytest.raises(ValueError, match="zip"):
        cohen_kappa("abc", "ab")


def test_agreement_of_three_is_the_mean_over_pairs():
    share, kappa = mean_agreement(["ab", "ab", "ba"])
    assert (share, kappa) == pytest.approx((1 / 3, -1 / 3))


def test_pairs_without_a_kappa_are_left_out_of_its_mean():
    assert mean_agreement(["aa", "aa", "ab"]) == pytest.approx((2 / 3, 0.0))
    assert mean_agreement(["aa", "aa"]) == (1.0, None)


@pytest.mark.parametrize("answers", [["ab"], [], ["", ""]], ids=["one annotator", "none", "no question"])
def test_one_annotator_agrees_with_nobody(answers):
    assert mean_agreement(answers) == (None, None)
