"""What PeakPatch is trained on: features of captions and images, and who belongs to whom."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

ABSENT = -1
"""In place of an option, where a question has fewer than others."""
ORDER, OPTIONS = 1, 2
"""What is drawn: orders of rows, and places of options; each has draws of its own."""


class CaptionBatch(NamedTuple):
    """Features of n captions; shapes are those of `crepebench.text_layers.Readings`."""

    final: "torch.Tensor"
    peak: "torch.Tensor"
    anchor: "torch.Tensor"
    tokens: "torch.Tensor"
    valid: "torch.Tensor"


class Captions:
    """Features of captions in memory, the tokens of each as an array of its own length.

    Args:
        final: (n, dim) float32, unit rows: f_T.
        peak: (n, dim) float32, unit rows: f^l of the peak layer.
        anchor: (n, width): feature of the anchor layer at the end token.
        tokens: for each caption (length, width): token features of the peak layer.
        ends: (n,) positions of the end tokens; None where each is a caption's last position.
    """

    def __init__(self, final, peak, anchor, tokens: Sequence, ends=None):
        self.final, self.peak, self.anchor, self._tokens = final, peak, anchor, tokens
        self._ends = ends

    @property
    def width(self) -> int:
        """Width of the text tower."""
        return self.anchor.shape[1]

    @property
    def dim(self) -> int:
        """Dimension of the joint space."""
        return self.final.shape[1]

    def batch(self, rows, device: str = "cpu") -> CaptionBatch:
        """Returns the features of some captions as float32 tensors, tokens padded to the longest of them."""
        import torch

        chosen = np.asarray(rows, np.int64)
        tokens = [torch.as_tensor(self._tokens[row]) for row in chosen.tolist()]
        lengths = torch.tensor([len(each) for each in tokens])
        ends = lengths - 1 if self._ends is None else torch.as_tensor(np.asarray(self._ends)[chosen])
        padded = torch.nn.utils.rnn.pad_sequence(tokens, batch_first=True).to(device).float()
        parts = (torch.as_tensor(part[chosen]).to(device, torch.float32) for part in self.arrays())
        return CaptionBatch(*parts, padded, torch.arange(padded.shape[1], device=device) <= ends.to(device)[:, None])

    def arrays(self) -> tuple:
        """Returns final, peak and anchor."""
        return self.final, self.peak, self.anchor


@dataclass
class Pairs:
    """Images with a right and a wrong caption.

    Attributes:
        images: (n,) rows of the images' features.
        right: (n,) rows of the captions.
        wrong: (n,) likewise.
        negated: (n,) bool, whether it is the right caption that holds the negation.
    """

    images: np.ndarray
    right: np.ndarray
    wrong: np.ndarray
    negated: np.ndarray

    def __len__(self) -> int:
        return len(self.images)

    def take(self, rows: Sequence[int]) -> "Pairs":
        """Returns some of the pairs."""
        chosen = np.asarray(rows, np.int64)
        return Pairs(self.images[chosen], self.right[chosen], self.wrong[chosen], self.negated[chosen])


@dataclass
class Questions:
    """Images with a right and several wrong captions.

    Attributes:
        images: (n,) rows of the images' features.
        options: (n, most) rows of the captions, the right one first; ABSENT behind the last.
        templates: of each question.
    """

    images: np.ndarray
    options: np.ndarray
    templates: np.ndarray

    def __len__(self) -> int:
        return len(self.images)

    def take(self, rows: Sequence[int]) -> "Questions":
        """Returns some of the questions."""
        chosen = np.asarray(rows, np.int64)
        return Questions(self.images[chosen], self.options[chosen], self.templates[chosen])


class Data(NamedTuple):
    """What is trained on.

    Attributes:
        captions: features of all captions.
        images: (n, dim) float32, unit rows.
        pairs: for training.
        questions: for training.
        validation: questions that choose the best epoch.
    """

    captions: Captions
    images: np.ndarray
    pairs: Pairs
    questions: Questions
    validation: Questions


def batches(n: int, size: int, seed: int, cycle: int) -> Iterator[np.ndarray]:
    """Yields the rows of full batches in a drawn order; those that fill no batch are left out.

    Args:
        n: number of rows.
        size: rows of a batch.
        seed: seed of the training.
        cycle: number of the pass over the rows, each of which has its own order.
    """
    order = np.random.default_rng([seed, ORDER, cycle]).permutation(n)
    for start in range(0, n - size + 1, size):
        yield order[start : start + size]


def cycled_batch(n: int, size: int, seed: int, step: int) -> np.ndarray:
    """Returns the rows of a step of a loader that begins again when it ends, so that any step can be resumed at."""
    cycle, place = divmod(step, n // size)
    order = np.random.default_rng([seed, ORDER, cycle]).permutation(n)
    return order[place * size : (place + 1) * size]


def shuffle_options(options: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Puts the options of each question in a drawn order.

    Args:
        options: (n, most) rows of captions, the right one first.
        rng: draws the orders.

    Returns:
        The options in that order, and the places of the right ones, (n,) int64.
    """
    order = np.argsort(rng.random(options.shape), axis=1)
    return np.take_along_axis(options, order, axis=1), np.argmax(order == 0, axis=1)
