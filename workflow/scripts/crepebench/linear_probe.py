"""Tell negated captions from affirmative ones by a linear probe of each layer, against a baseline of negation words.

Source: paper "PeakPatch" (arXiv 2607.23271), appendix D: logistic regression per layer on the features of the end
token. The paper lacks the baseline; without it an accuracy says only that the word "no" leaves a trace.
"""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from crepebench.negation_cues import CUES, PHRASES

SHARE_OF_TEST = 0.2
PENALTY = 1.0
MOST_ITERATIONS = 1000
FEWEST_PAIRS = 10
IMPLICIT = ("anything but", "far from", "other than")
WORDS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        *(rf"\b{word}\b" for word in (*CUES, *PHRASES, *IMPLICIT)),
        *(r"n['\u2019]t\b", r"\bnon-?[a-z]{3,}", r"\bun[a-z]{3,}", r"[a-z]{3,}less\b"),
    )
)
"""What the baseline counts: words that deny, and words that may do so by a prefix or suffix."""


def split_pairs(pair_groups: Sequence, seed: int) -> np.ndarray:
    """Draws the pairs that test the probe: (n,) bool, about one group of five.

    Args:
        pair_groups: group of each pair, its image: both captions of a pair, and all pairs of an image, stand on one
            side.
        seed: seed of the draw.
    """
    groups, place = np.unique(np.asarray(pair_groups), return_inverse=True)
    n_test = max(1, round(SHARE_OF_TEST * len(groups)))
    is_test = np.zeros(len(groups), bool)
    is_test[np.random.default_rng(seed).permutation(len(groups))[:n_test]] = True
    return is_test[place]


def count_words(captions: Sequence[str]) -> np.ndarray:
    """Returns how often each negation word stands in each caption, (n, number of WORDS) float64."""
    return np.array([[len(word.findall(caption)) for word in WORDS] for caption in captions], np.float64)


def accuracy(affirmative: np.ndarray, negated: np.ndarray, is_test: np.ndarray) -> tuple[float, float]:
    """Trains a probe on the pairs that do not test it.

    # ASSUME: the probe standardises features by the training part and is fitted by L-BFGS with C = 1; the paper names
    no solver, penalty or scaling.

    Args:
        affirmative: (n, width) features of the affirmative captions.
        negated: those of the negated ones.
        is_test: (n,) bool.

    Returns:
        Accuracy on the test pairs and on the training pairs, in percent.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    def part(chosen):
        rows = np.concatenate([affirmative[chosen], negated[chosen]]).astype(np.float64)
        return rows, np.repeat([0, 1], int(chosen.sum()))

    probe = make_pipeline(StandardScaler(), LogisticRegression(C=PENALTY, max_iter=MOST_ITERATIONS))
    probe.fit(*part(~is_test))
    return 100.0 * float(probe.score(*part(is_test))), 100.0 * float(probe.score(*part(~is_test)))


def probe_layers(
    affirmative: Mapping[int, np.ndarray],
    negated: Mapping[int, np.ndarray],
    captions: tuple[Sequence[str], Sequence[str]],
    pair_groups: Sequence,
    seed: int,
) -> dict:
    """Probes each layer.

    Args:
        affirmative: (n, width) features of the end token, LN_final(H^l)[e], by layer.
        negated: likewise.
        captions: the n affirmative and the n negated captions.
        pair_groups: group of each pair, its image.
        seed: seed of the split.

    Returns:
        accuracy and training_accuracy (a list, layer 1 first), baseline (negation words), best_layer, n_train, n_test
        (pairs), and reason ("" or why there is no probe; then the lists are empty and the others None).
    """
    n_groups = len(set(pair_groups))
    if n_groups < FEWEST_PAIRS:
        reason = f"{n_groups} images with pairs are too few for a probe ({FEWEST_PAIRS})"
        return {"accuracy": [], "training_accuracy": [], "baseline": None, "best_layer": None, "reason": reason}
    is_test = split_pairs(pair_groups, seed)
    found = [accuracy(affirmative[layer], negated[layer], is_test) for layer in sorted(affirmative)]
    values = [test for test, _ in found]
    return {
        "accuracy": values,
        "training_accuracy": [training for _, training in found],
        "baseline": accuracy(count_words(captions[0]), count_words(captions[1]), is_test)[0],
        "best_layer": 1 + int(np.argmax(values)),
        "n_train": int((~is_test).sum()),
        "n_test": int(is_test.sum()),
        "reason": "",
    }
