"""A small task that PeakPatch can learn: captions say or deny a concept, and the frozen feature hardly tells."""

import numpy as np

from crepebench.peakpatch_data import ABSENT, Captions, Data, Pairs, Questions

CONCEPTS, DIM, WIDTH = 12, 16, 16


def unit(array):
    return (array / np.linalg.norm(array, axis=-1, keepdims=True)).astype(np.float32)


def small_data(n_images=96, seed=0):
    """Captions 2k and 2k + 1 say and deny concept k; only one token of the peak layer knows which."""
    rng = np.random.default_rng(seed)
    concepts, (denial, shift) = unit(rng.normal(size=(CONCEPTS, DIM))), unit(rng.normal(size=(2, WIDTH)))
    final, tokens = [], []
    for concept in concepts:
        for denied in (False, True):
            final.append(concept + 0.2 * shift * (not denied))  # the frozen model likes denials
            words = rng.normal(size=(5 + denied, WIDTH)).astype(np.float32)
            words[-1, :DIM] += 2 * concept
            words[2] = 12 * denial if denied else -12 * denial
            tokens.append(words)
    final = unit(np.array(final))
    captions = Captions(final, final.copy(), np.stack([each[-1] for each in tokens]), tokens)
    shown = rng.integers(CONCEPTS, size=n_images)
    images = unit(concepts[shown] + 0.3 * rng.normal(size=(n_images, DIM)).astype(np.float32) / DIM**0.5)
    other = (shown + rng.integers(1, CONCEPTS, size=n_images)) % CONCEPTS
    options = np.stack([2 * shown, 2 * shown + 1, 2 * other, np.where(np.arange(n_images) % 3, 2 * other + 1, ABSENT)])
    templates = np.where(np.arange(n_images) % 2, "positive", "hybrid")
    half = n_images // 2
    rows = np.arange(n_images)
    pairs = Pairs(rows[:half], 2 * shown[:half], 2 * shown[:half] + 1, np.zeros(half, bool))
    questions = [
        Questions(rows[part], options.T[part], templates[part]) for part in (slice(0, half), slice(half, None))
    ]
    return Data(captions, images, pairs, *questions)
