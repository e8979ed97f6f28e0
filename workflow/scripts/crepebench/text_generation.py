"""Answer prompts with a causal language model of transformers: a folder, a GGUF file, or a pinned model of the hub.

Prompts that begin alike share that beginning: its keys and values are computed once and expanded over each batch. An
answer ends with its line. Each row of a batch is drawn by a generator of its own, from its seed and prompt, so answers
do not depend on the prompts beside them.

# ASSUME: a prompt goes on as plain text, as the paper's GPT-3 did; the chat template of an instruct model is not used.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib.metadata import version
from itertools import groupby, takewhile
from pathlib import Path

import numpy as np

from crepebench.captioners import CUT_OFF, EMPTY, TRANSFORMERS, Answer, Captioner, Request, digest_of, shared_identity
from crepebench.causal_models import CausalModel
from crepebench.word_constraints import WordConstraint

COMMIT = re.compile("[0-9a-f]{40}")
DIGITS_OF_SOURCE = 12


def model_revision(model: str, revision: str | None) -> str:
    """Returns what tells the weights of a model from others of its name.

    Args:
        model: folder, GGUF file or name on the Hugging Face hub.
        revision: commit of the hub.

    Returns:
        Digest of the files, or the commit.

    Raises:
        ValueError: the model is of the hub, and the revision no commit.
    """
    path = Path(model)
    if path.exists():
        files = [path] if path.is_file() else sorted(found for found in path.iterdir() if found.is_file())
        return digest_of([[file.name, _file_digest(file)] for file in files])
    if not COMMIT.fullmatch(revision or ""):
        raise ValueError(
            f"config: captioner.model {model!r} is no folder or file, so it is one of the hub: it needs the commit "
            f"(40 hexadecimal digits) as captioner.revision, not {revision!r}, since branches move"
        )
    return revision


def _file_digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


class TextGenerator(Captioner):
    """A language model that answers prompts; it is loaded with the first one.

    Args:
        config: config block `captioner`.
        prompts: digest of the committed prompts.

    Raises:
        ValueError: the config names no model, or one of the hub without its commit.
    """

    def __init__(self, config: Mapping, prompts: str):
        if not config["model"]:
            raise ValueError("config: captioner.backend transformers needs a captioner.model")
        revision = model_revision(config["model"], config["revision"])
        path = Path(config["model"])
        name = path.name if path.exists() else config["model"]
        self.identity = {
            **shared_identity(config, prompts),
            **{"model": name, "revision": revision, "constrained": config["constrained"]},
            "backend_version": version("transformers"),
        }
        self.source = f"{TRANSFORMERS}:{name}@{revision[:DIGITS_OF_SOURCE]}"
        self._config, self._n_tokens = config, 0

    def spending(self) -> str:
        """Returns the tokens that were written so far."""
        return f"{self._n_tokens} tokens written"

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[Request, Answer]]:
        """Yields requests with their answers, batch by batch, prompts of one beginning after another.

        Raises:
            ValueError: a prompt and its answer would be longer than the model can read.
        """
        for prefix, group in groupby(sorted(requests, key=lambda request: request.prefix), lambda r: r.prefix):
            group = list(group)
            rows = self._loaded.tokenize([request.prefix + request.suffix for request in group])
            n_shared = shared_tokens(self._loaded.tokenize([prefix])[0] if prefix else [], rows)
            past = self._loaded.read(rows[0][:n_shared])
            order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
            for start in range(0, len(rows), self._config["batch_size"]):
                batch = order[start : start + self._config["batch_size"]]
                answers = self._answer_batch([group[i] for i in batch], [rows[i] for i in batch], past, n_shared)
                for i, answer in zip(batch, answers, strict=True):
                    self._n_tokens += answer.n_output_tokens
                    yield group[i], answer

    @cached_property
    def _loaded(self) -> CausalModel:
        return CausalModel(self._config["model"], self._config["revision"])

    def _answer_batch(
        self, requests: Sequence[Request], rows: Sequence[list[int]], past, n_shared: int
    ) -> list[Answer]:
        """Answers prompts that are given as tokens; `past` holds the first `n_shared` of them."""
        most = self._config["max_tokens"]
        self._loaded.check_length(requests, rows, most)
        writers = [_Writer(self._loaded, request, self._config) for request in requests]
        steps = self._loaded.steps([row[n_shared:] for row in rows], past, n_shared)
        active, logits = list(range(len(rows))), next(steps)
        for n_left in range(most, 0, -1):
            tokens = [writers[i].write(row, n_left) for i, row in zip(active, logits, strict=True)]
            going = [place for place, i in enumerate(active) if not writers[i].is_done]
            if not going or n_left == 1:
                break
            active = [active[place] for place in going]
            logits = steps.send((going, [tokens[place] for place in going]))
        return [writer.answer(len(row)) for writer, row in zip(writers, rows, strict=True)]


class _Writer:
    """Writes one answer, token by token.

    Args:
        loaded: the model.
        request: what is answered.
        config: config block `captioner`: temperature and constrained are read.
    """

    def __init__(self, loaded: CausalModel, request: Request, config: Mapping):
        self._loaded, self._temperature = loaded, config["temperature"]
        self._rng = np.random.default_rng([request.seed, int(request.key[:16], 16)])
        is_bound = config["constrained"] and request.phrases
        self._constraint = (
            WordConstraint(request.phrases, request.inner, loaded.tokens_within, loaded.ends) if is_bound else None
        )
        self._written: list[int] = []
        self.is_done = False

    def write(self, logits: np.ndarray, n_left: int) -> int:
        """Chooses the next token by its logits, (n_tokens,) float32, and returns it."""
        if self._constraint:
            logits = self._constraint.adjust(logits, self._written, self._loaded.decode(self._written), n_left)
        token = choose_token(logits, self._temperature, self._rng)
        self._written.append(token)
        self.is_done = token in self._loaded.end_set
        return token

    def answer(self, n_input: int) -> Answer:
        """Returns the answer: the first line."""
        text = self._loaded.decode(self._written).partition("\n")[0].strip()
        failure = (EMPTY if not text else "") if self.is_done else CUT_OFF
        return Answer(text, "stop" if self.is_done else "length", failure, n_input, len(self._written))


def shared_tokens(prefix: Sequence[int], rows: Sequence[Sequence[int]]) -> int:
    """Returns how many tokens all rows share with a prefix; of each row one at least is left.

    The end of a prefix may be cut into tokens in another way where a text goes on.
    """
    n_alike = [
        sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(prefix, row, strict=False))) for row in rows
    ]
    return min(min(n, len(row) - 1) for n, row in zip(n_alike, rows, strict=True))


def choose_token(logits: np.ndarray, temperature: float, rng: np.random.Generator) -> int:
    """Returns the likeliest token (temperature 0), else one drawn by its probability.

    Args:
        logits: (n_tokens,) float; -inf for tokens that may not be chosen.
        temperature: by which logits are divided.
        rng: generator of this answer.
    """
    if temperature == 0:
        return int(logits.argmax())
    weights = np.exp((logits.astype(np.float64) - logits.max()) / temperature).cumsum()
    return int(np.searchsorted(weights, rng.random() * weights[-1], side="right"))
