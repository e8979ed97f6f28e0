"""How far people agree, and how sure a share of few judgements is: Cohen's kappa and Wilson's interval."""

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import combinations
from statistics import NormalDist, fmean

Z = NormalDist().inv_cdf(0.975)
"""Of an interval of 95%, two-sided."""


def wilson(n_hits: float, n: float) -> tuple[float, float]:
    """Returns Wilson's interval of 95% of a share, in 0 to 1.

    It is written out because the counts of several annotators are divided by their number, and may be fractions;
    scipy.stats.binomtest gives the same for whole numbers, and takes no others.

    Args:
        n_hits: from 0 to n.
        n: above 0.
    """
    centre = n_hits + Z**2 / 2
    half = Z * (n_hits * (n - n_hits) / n + Z**2 / 4) ** 0.5
    return max(0.0, (centre - half) / (n + Z**2)), min(1.0, (centre + half) / (n + Z**2))


def cohen_kappa(one: Sequence[Hashable], other: Sequence[Hashable]) -> float | None:
    """Returns Cohen's kappa of two annotators: their agreement beyond chance, 1 if they always agree.

    Args:
        one: answers of the one, in any categories; categories are only the same or not.
        other: answers of the other to the same questions.

    Returns:
        -1 to 1; None where there is no answer, or both gave one and the same answer throughout, so that chance alone
        would agree always and nothing can be said.
    """
    n = len(one)
    if not n:
        return None
    agreed = sum(a == b for a, b in zip(one, other, strict=True))
    of_one, of_other = Counter(one), Counter(other)
    by_chance = sum(of_one[answer] * of_other[answer] for answer in of_one)  # times n²
    if by_chance == n * n:
        return None
    return (agreed * n - by_chance) / (n * n - by_chance)


def mean_agreement(answers: Sequence[Sequence[Hashable]]) -> tuple[float | None, float | None]:
    """Returns the share of equal answers (0 to 1) and Cohen's kappa, each as the mean over all pairs of annotators.

    Args:
        answers: of each annotator to the same questions.

    Returns:
        None for both of one annotator, or without a question; None for a kappa that no pair has.
    """
    pairs = list(combinations(answers, 2))
    if not pairs or not answers[0]:
        return None, None
    shares = [fmean(a == b for a, b in zip(*pair, strict=True)) for pair in pairs]
    kappas = [kappa for pair in pairs if (kappa := cohen_kappa(*pair)) is not None]
    return fmean(shares), fmean(kappas) if kappas else None
