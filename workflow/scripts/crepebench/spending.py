"""Count what answers of a server cost, and stop before more is spent than the config allows."""

from collections.abc import Mapping, Sequence
from math import ceil

from crepebench.captioners import Answer, Request

TOKENS_PER_CHARACTER = 1 / 3
"""More than English has (about 1/4), so that a prompt's tokens are guessed too many, not too few."""


class BudgetError(RuntimeError):
    """The tokens or the cost that the config allows are spent."""


class Budget:
    """Tokens and cost that are spent, and those of requests under way, guessed.

    Args:
        config: config block `captioner`: max_total_tokens, max_cost, price_per_million_tokens, max_tokens.
    """

    def __init__(self, config: Mapping):
        prices = config["price_per_million_tokens"]
        self._prices = prices["input"] / 1e6, prices["output"] / 1e6
        self._most_tokens, self._most_cost = config["max_total_tokens"], config["max_cost"]
        self._max_tokens = config["max_tokens"]
        self._tokens_per_character = TOKENS_PER_CHARACTER
        self.n_input, self.n_output = 0, 0

    def guess(self, request: Request) -> tuple[int, int]:
        """Returns the tokens of a request: of its prompt, rather too many, and the most of an answer."""
        return ceil(_size(request) * self._tokens_per_character), self._max_tokens

    def cost(self, n_input: int, n_output: int) -> float:
        """Returns the cost of tokens."""
        return n_input * self._prices[0] + n_output * self._prices[1]

    def allows(self, requests: Sequence[Request]) -> bool:
        """Says whether what is spent and these requests stay within the bounds."""
        guesses = [(self.n_input, self.n_output), *map(self.guess, requests)]
        n_input, n_output = (sum(column) for column in zip(*guesses, strict=True))
        is_cheap = self._most_cost is None or self.cost(n_input, n_output) <= self._most_cost
        return is_cheap and (self._most_tokens is None or n_input + n_output <= self._most_tokens)

    def add(self, request: Request, answer: Answer) -> None:
        """Counts what an answer says that it took, and the guess where it does not say."""
        guess = self.guess(request)
        if answer.n_input_tokens is not None and _size(request):
            seen = answer.n_input_tokens / _size(request)
            self._tokens_per_character = max(self._tokens_per_character, seen)
        self.n_input += guess[0] if answer.n_input_tokens is None else answer.n_input_tokens
        self.n_output += guess[1] if answer.n_output_tokens is None else answer.n_output_tokens

    def spent(self) -> str:
        """Returns tokens and cost so far."""
        text = f"{self.n_input} tokens of prompts and {self.n_output} of answers"
        return f"{text}, cost {self.cost(self.n_input, self.n_output):.4f}" if any(self._prices) else text


def _size(request: Request) -> int:
    """Returns the characters of a prompt."""
    return len(request.prefix + request.suffix)
