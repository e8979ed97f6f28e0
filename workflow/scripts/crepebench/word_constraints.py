"""Make a generated answer of given phrases, each as often as it is given, and the words that join them.

Each next token must begin or go on with a missing phrase or one of `JOINTS`, in the tokens that the tokenizer gives it
within a text. An article stands before phrases that may have one, and behind the last phrase only the end may follow.
Where the model would end before, the first tokens of missing phrases get a bonus; if the tokens that are left just
suffice for what is missing, no joint may be written. So an answer has the words, but the model may have joined them in
a wrong way: what it says is for a check to judge.

Constrained beam search would weigh whole answers; transformers 5 no longer has it (`force_words_ids`).
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence

import numpy as np

ARTICLES = ("a", "an", "the")
JOINTS = (*ARTICLES, "and", "is", "are", "there", "that", "with", ",", ".")
"""Words that join phrases and state nothing."""
BONUS = 8.0
"""Added to a logit: a factor of about 3,000 to the odds."""


class WordConstraint:
    """The phrases that one answer must hold.

    Args:
        phrases: what must stand in it as whole words; a phrase that is given twice, twice.
        inner: those that join others: no answer begins or ends with them, and no article stands before them.
        tokens_of: gives the tokens of a phrase or joint within a text.
        ends: (n_ends,) int64, tokens that end an answer.
    """

    def __init__(
        self,
        phrases: Sequence[str],
        inner: Collection[str],
        tokens_of: Callable[[str], list[int]],
        ends: np.ndarray,
    ):
        self._needed = Counter(phrase.lower() for phrase in phrases)
        self._inner = {phrase.lower() for phrase in inner}
        self._tokens = {phrase: tokens_of(phrase) for phrase in self._needed}
        self._patterns = {phrase: re.compile(rf"(?<!\w){re.escape(phrase)}(?!\w)") for phrase in self._needed}
        self._articles = {tuple(tokens_of(word)) for word in ARTICLES}
        self._joints = {tuple(tokens_of(word)) for word in JOINTS} - {()}
        self._units = [*map(tuple, self._tokens.values()), *sorted(self._joints)]
        self._reserve = 1 + max(map(len, self._joints))  # for the end, and a joint that is begun
        self._ends = ends
        self._is_urgent = False

    def missing(self, text: str) -> list[str]:
        """Returns the phrases that a text lacks, as often as it lacks them."""
        found = {phrase: len(pattern.findall(text.lower())) for phrase, pattern in self._patterns.items()}
        return [phrase for phrase, n in self._needed.items() for _ in range(n - found[phrase])]

    def adjust(self, logits: np.ndarray, written: Sequence[int], text: str, n_left: int) -> np.ndarray:
        """Returns the logits of the next token, -inf where it may not be chosen.

        Args:
            logits: (n_tokens,) float.
            written: tokens of the answer so far.
            text: the answer so far.
            n_left: tokens that may still be written.
        """
        missing = self.missing(text)
        adjusted = np.full_like(logits, -np.inf)
        if not missing:
            adjusted[self._ends] = logits[self._ends]
            return adjusted
        self._is_urgent = self._is_urgent or int(logits.argmax()) in self._ends
        going_on, before = self._read(written)
        wanted, joints = set(), set()
        if before is not None:
            phrases = self._next_phrases(missing, before)
            wanted = {self._tokens[phrase][0] for phrase in phrases}
            barred = set() if set(phrases) - self._inner else self._articles
            joints = set() if before & self._articles else {tokens[0] for tokens in self._joints - before - barred}
        n_needed = sum(len(self._tokens[phrase]) for phrase in missing)
        if n_left <= n_needed + self._reserve and (going_on or wanted):
            joints = set()
        places = sorted(going_on | wanted | joints)
        adjusted[places] = logits[places]
        if self._is_urgent:
            adjusted[sorted(wanted)] += BONUS
        return adjusted

    def _next_phrases(self, missing: Sequence[str], before: set[tuple[int, ...]]) -> list[str]:
        """Returns the missing phrases that may come next: the last outer one only if no inner one is missing.

        Args:
            missing: phrases.
            before: what the answer ends with.
        """
        inner = [phrase for phrase in missing if phrase in self._inner]
        outer = [phrase for phrase in missing if phrase not in self._inner]
        if not before or before & self._articles:
            inner = []
        return inner if inner and len(outer) == 1 else inner + outer

    def _read(self, written: Sequence[int]) -> tuple[set[int], set[tuple[int, ...]] | None]:
        """Returns the tokens that go on with what is begun, and the phrases or joints that end here.

        The latter are None where nothing ends here, and none at the beginning.
        """
        begun: list[tuple[tuple[int, ...], int]] = []
        ended: set[tuple[int, ...]] | None = set()
        for token in written:
            if ended is not None:
                begun += [(tokens, 0) for tokens in self._units]
            begun = [(tokens, place + 1) for tokens, place in begun if tokens[place] == token]
            ended = {tokens for tokens, place in begun if place == len(tokens)} or None
            begun = [(tokens, place) for tokens, place in begun if place < len(tokens)]
        return {tokens[place] for tokens, place in begun}, ended
