"""Tokens of texts, remembered for a while: a caption is counted, then encoded, and sentences come back each epoch."""

from collections.abc import Callable, Sequence

import numpy as np

from crepebench.models import Tokens

MOST = 20_000
"""Texts that are remembered; then all are forgotten."""


class TextTokens:
    """Tokenises texts, each once while it is remembered.

    Args:
        tokenise: a model's; it must give no mask.
        most: texts that are remembered.
    """

    def __init__(self, tokenise: Callable[[Sequence[str]], Tokens], most: int = MOST):
        self._tokenise, self._most = tokenise, most
        self._known: dict[str, tuple[np.ndarray, int]] = {}
        self.limit = tokenise(["a"]).limit

    def __call__(self, texts: Sequence[str]) -> Tokens:
        """Returns what the model's tokenizer returns."""
        import torch

        found = self._find(texts)
        ids = torch.from_numpy(np.stack([ids for ids, _ in found]))
        return Tokens(ids, None, np.array([count for _, count in found], np.int64), self.limit)

    def count(self, texts: Sequence[str]) -> list[int]:
        """Returns the number of tokens that each text needs, with the marks of beginning and end."""
        return [count for _, count in self._find(texts)]

    def _find(self, texts: Sequence[str]) -> list[tuple[np.ndarray, int]]:
        if len(self._known) + len(texts) > self._most:
            self._known.clear()
        if new := [text for text in dict.fromkeys(texts) if text not in self._known]:
            tokens = self._tokenise(new)
            rows = zip(tokens.ids.numpy(), tokens.n_tokens.tolist(), strict=True)
            self._known.update(zip(new, rows, strict=True))
        return [self._known[text] for text in texts]
