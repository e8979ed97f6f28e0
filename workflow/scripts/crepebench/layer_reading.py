"""Read the layers of pairs of texts, batch by batch, and measure them on the way: no layer of all texts is held."""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from crepebench.layer_curves import alignments, distances, token_distances

logger = logging.getLogger(__name__)

BATCHES_PER_LINE = 10


class Triples(NamedTuple):
    """What is measured of n triples.

    Attributes:
        distance: (n, n_layers) D of each triple.
        alignment: likewise A.
        token_distance: likewise, at the level of tokens.
        right_ends: (n, width) float32 features of the end token of the right captions, by layer.
        wrong_ends: those of their negations.
        last: (n, dim) features of the right captions at the last layer.
    """

    distance: np.ndarray
    alignment: np.ndarray
    token_distance: np.ndarray
    right_ends: dict[int, np.ndarray]
    wrong_ends: dict[int, np.ndarray]
    last: np.ndarray


class LayerReader:
    """Reads the layers of texts, batch by batch.

    Args:
        layers: a `crepebench.text_layers.TextLayers`.
        tokenise: gives the (n, length) ids of texts.
        batch_size: pairs of texts that are read at once.
    """

    def __init__(self, layers, tokenise: Callable, batch_size: int):
        self._layers, self._tokenise, self._batch_size = layers, tokenise, batch_size
        self.numbers = list(range(1, layers.n_layers + 1))

    def pair_distances(self, one: Sequence[str], other: Sequence[str], label: str) -> np.ndarray:
        """Returns the distance of each pair of texts at each layer, (n, n_layers)."""
        parts = [
            distances(self._projected(one[part]), self._projected(other[part])) for part in self._parts(one, label)
        ]
        return np.concatenate(parts) if parts else np.zeros((0, len(self.numbers)))

    def triples(self, right: Sequence[str], wrong: Sequence[str], images: np.ndarray) -> Triples:
        """Measures triples; the memory holds the tokens of one batch, and the end tokens of all.

        Args:
            right: right captions.
            wrong: their negations.
            images: (n, dim) features of the images.
        """
        found = []
        for part in self._parts(right, "triples"):
            projected = [self._projected(texts[part]) for texts in (right, wrong)]
            tokens, valid, ends = zip(*(self._tokens(texts[part]) for texts in (right, wrong)), strict=True)
            found.append(
                (
                    distances(*projected),
                    alignments(projected[0], images[part]),
                    token_distances(*tokens, *valid),
                    *ends,
                    projected[0][self.numbers[-1]],
                )
            )
        d, a, t, right_ends, wrong_ends, last = zip(*found, strict=True)
        join = np.concatenate
        by_layer = ({n: join([each[n] for each in ends]) for n in self.numbers} for ends in (right_ends, wrong_ends))
        return Triples(join(d), join(a), join(t), *by_layer, join(last))

    def _parts(self, texts: Sequence[str], label: str) -> Iterator[slice]:
        """Yields the slice of each batch, and logs progress."""
        start, n_batches = time.monotonic(), -(-len(texts) // self._batch_size)
        for number in range(n_batches):
            yield slice(number * self._batch_size, (number + 1) * self._batch_size)
            if (number + 1) % BATCHES_PER_LINE == 0 or number + 1 == n_batches:
                done = min((number + 1) * self._batch_size, len(texts))
                logger.info("%s: %d of %d pairs, %.0f s", label, done, len(texts), time.monotonic() - start)

    def _projected(self, texts: Sequence[str]) -> dict[int, np.ndarray]:
        found = self._layers.projected(self._tokenise(list(texts)), self.numbers)
        return {layer: array.cpu().numpy() for layer, array in found.items()}

    def _tokens(self, texts: Sequence[str]) -> tuple[dict[int, np.ndarray], np.ndarray, dict[int, np.ndarray]]:
        """Returns the features of tokens by layer, which positions are valid, and the features of the end tokens."""
        ids = self._tokenise(list(texts))
        ends, valid = self._layers.ends(ids).cpu().numpy(), self._layers.valid(ids).cpu().numpy()
        length = int(valid.sum(axis=1).max())
        read = self._layers.tokens(ids, self.numbers)
        tokens = {layer: array[:, :length].cpu().numpy() for layer, array in read.items()}
        return tokens, valid[:, :length], {n: array[np.arange(len(ends)), ends] for n, array in tokens.items()}
