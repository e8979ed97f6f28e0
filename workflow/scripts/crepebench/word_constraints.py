"""Keep a generated answer from ending before it holds given phrases.

The model writes freely until the likeliest next token would end the answer while phrases are missing. From then on the
end is forbidden, and the first tokens of missing phrases, and the next token of one that is begun, get a bonus. If the
tokens that are left just suffice for what is missing, nothing else may be written. So the phrases are there, but the
model may have put them where they make no sense: what the answer says is for a check to judge.

Constrained beam search would weigh whole answers; transformers 5 no longer has it (`force_words_ids`).
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

BONUS = 8.0
"""Added to a logit: a factor of about 3,000 to the odds. Measured in docs/captioners.md."""


class WordConstraint:
    """The phrases that one answer must hold.

    Args:
        phrases: what must stand in it as whole words; a phrase that is given twice, twice.
        tokens_of: gives the tokens of a phrase within a text.
        ends: (n_ends,) int64, tokens that end an answer.
    """

    def __init__(self, phrases: Sequence[str], tokens_of: Callable[[str], list[int]], ends: np.ndarray):
        self._needed = Counter(phrase.lower() for phrase in phrases)
        self._tokens = {phrase: tokens_of(phrase) for phrase in self._needed}
        self._patterns = {phrase: re.compile(rf"(?<!\w){re.escape(phrase)}(?!\w)") for phrase in self._needed}
        self._ends = ends
        self._is_urgent = False

    def missing(self, text: str) -> list[str]:
        """Returns the phrases that a text lacks, as often as it lacks them."""
        found = {phrase: len(pattern.findall(text.lower())) for phrase, pattern in self._patterns.items()}
        return [phrase for phrase, n in self._needed.items() for _ in range(n - found[phrase])]

    def adjust(self, logits: np.ndarray, written: Sequence[int], text: str, n_left: int) -> np.ndarray:
        """Returns the logits of the next token, changed where phrases are missing.

        Args:
            logits: (n_tokens,) float.
            written: tokens of the answer so far.
            text: the answer so far.
            n_left: tokens that may still be written.
        """
        missing = self.missing(text)
        if not missing:
            return logits
        self._is_urgent = self._is_urgent or int(logits.argmax()) in self._ends
        logits = logits.copy()
        logits[self._ends] = -np.inf
        begun = self._begun(missing, written)
        next_tokens = begun or sorted({self._tokens[phrase][0] for phrase in missing})
        n_needed = sum(len(self._tokens[phrase]) for phrase in missing)
        if n_left <= n_needed + 1:  # the end takes one, too
            kept = logits[next_tokens]
            logits[:] = -np.inf
            logits[next_tokens] = kept
        elif self._is_urgent:
            logits[next_tokens] += BONUS
        return logits

    def _begun(self, missing: Sequence[str], written: Sequence[int]) -> list[int]:
        """Returns the tokens with which missing phrases that the answer ends in the middle of go on."""
        found = set()
        for phrase in missing:
            tokens = self._tokens[phrase]
            for n in range(1, len(tokens)):
                if list(written[-n:]) == tokens[:n]:
                    found.add(tokens[n])
        return sorted(found)
