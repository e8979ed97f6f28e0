"""What words subgraphs: the interface of the backends that answer prompts, and the choice of one by the config.

A backend knows nothing of graphs. It is given prompts and gives texts, in any order, each as soon as it is there. What
it says of itself (`identity`) holds all that shapes an answer beside the prompt and its seed, so that answers can be
kept in a store (`crepebench.answer_store`). Without a model (`template`) there is no backend.
"""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

TEMPLATE, OPENAI, TRANSFORMERS = "template", "openai", "transformers"

CUT_OFF, EMPTY = "cut_off", "empty"
"""Failures of an answer that every backend may give: it reached the most tokens, or holds no text."""


@dataclass(frozen=True)
class Request:
    """A prompt to answer.

    Attributes:
        about: what the answer is for, in messages ("subgraph 12").
        prefix: beginning of the prompt, the same for many.
        suffix: the rest of it.
        seed: seed of this answer.
        phrases: what a constrained answer must hold; a phrase that stands twice, twice.
        inner: those of them that join others, as relations do.
    """

    about: str
    prefix: str
    suffix: str
    seed: int
    phrases: tuple[str, ...] = ()
    inner: frozenset[str] = frozenset()

    @property
    def key(self) -> str:
        """Returns a digest of what is asked for: prompt, seed and phrases."""
        return digest_of([self.prefix + self.suffix, self.seed, sorted(self.phrases), sorted(self.inner)])


@dataclass(frozen=True)
class Answer:
    """What a backend answered.

    Attributes:
        text: the text as it came.
        finish_reason: why it ends, as the backend says.
        failure: why it is of no use, whatever its words; "" where it may be.
        n_input_tokens: tokens of the prompt; None where the backend does not say.
        n_output_tokens: tokens of the answer; None where the backend does not say.
        details: what else the backend says of the origin of the answer.
    """

    text: str
    finish_reason: str
    failure: str = ""
    n_input_tokens: int | None = None
    n_output_tokens: int | None = None
    details: Mapping[str, str] = field(default_factory=dict)


class Captioner(ABC):
    """A backend that answers prompts.

    Attributes:
        identity: all that shapes an answer beside prompt and seed.
        source: name of the backend and its model, for column `caption_source`.
    """

    identity: dict
    source: str

    @abstractmethod
    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[Request, Answer]]:
        """Yields every request with its answer, each once, as soon as it is there."""

    def spending(self) -> str:
        """Returns what the answers of this object have cost so far, "" where nothing is counted."""
        return ""


def digest_of(value) -> str:
    """Returns a digest of a value that can be written as JSON: 32 hexadecimal digits."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]


def attempt_seed(seed: int, attempt: int) -> int:
    """Returns the seed of an attempt, 31 bits long: servers take no more."""
    return int(digest_of([seed, attempt])[:8], 16) >> 1


def shared_identity(config: Mapping, prompts: str) -> dict:
    """Returns what of the config shapes an answer, whatever the backend.

    Args:
        config: config block `captioner`.
        prompts: digest of the committed prompts.
    """
    return {**{key: config[key] for key in ("backend", "model", "temperature", "max_tokens")}, "prompts": prompts}


def make_captioner(config: Mapping, prompts: str) -> Captioner:
    """Returns the backend of a config; only its own libraries are loaded.

    Args:
        config: config block `captioner`, its backend another than `TEMPLATE`.
        prompts: digest of the committed prompts.

    Raises:
        ValueError: there is no such backend, or the config lacks what it needs.
    """
    if config["backend"] == OPENAI:
        from crepebench.chat_servers import ChatServer

        return ChatServer(config, prompts)
    if config["backend"] == TRANSFORMERS:
        from crepebench.text_generation import TextGenerator

        return TextGenerator(config, prompts)
    raise ValueError(f"config: captioner.backend {config['backend']!r} answers no prompts")
