"""Ask a backend for captions in rounds: what failed is asked for again with another seed, all of a round at once.

# ASSUME: an answer of a model is looked at as it comes; no person and no second model mends it. What the check refuses
is asked for again with another seed, up to `captioner.attempts` times, as a person would have tried again with GPT-3.
# ASSUME: with temperature 0 there is one attempt, since a further one would say the same.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from crepebench.answer_store import AnswerStore
from crepebench.caption_words import normalise, relation_words
from crepebench.captioners import Answer, Captioner, Request, attempt_seed
from crepebench.captions import Caption
from crepebench.graphs import RELATION

logger = logging.getLogger(__name__)

LOG_INTERVAL = 10.0
"""Least seconds between two reports of progress."""


@dataclass
class Outcome:
    """What became of a subgraph.

    Attributes:
        caption: the first that passed; None where none did.
        failures: why each answer before it was refused.
    """

    caption: Caption | None = None
    failures: list[str] = field(default_factory=list)

    @property
    def n_attempts(self) -> int:
        """Returns the number of answers that were looked at."""
        return len(self.failures) + (self.caption is not None)


def ask_in_rounds(
    subgraphs: Sequence[Mapping],
    captioner: Captioner,
    store: AnswerStore,
    prompt_of: Callable[[Mapping], tuple[str, str]],
    judge: Callable[[str, Mapping], Caption | str],
    config: Mapping,
) -> dict[int, Outcome]:
    """Returns what became of each subgraph.

    Args:
        subgraphs: rows of table SUBGRAPHS.
        captioner: the backend.
        store: its answers.
        prompt_of: gives beginning and rest of a subgraph's prompt.
        judge: makes a caption of the text of an answer, or says why it is none.
        config: config block `captioner`.
    """
    outcomes = {row["subgraph_id"]: Outcome() for row in subgraphs}
    n_rounds = config["attempts"] if config["temperature"] else 1
    for attempt in range(n_rounds):
        waiting = [row for row in subgraphs if outcomes[row["subgraph_id"]].caption is None]
        if not waiting:
            break
        logger.info("round %d of %d: %d subgraphs", attempt + 1, n_rounds, len(waiting))
        seed = attempt_seed(config["seed"], attempt)
        requests = [make_request(row, prompt_of(row), seed, config["constrained"]) for row in waiting]
        answers = answer_requests(requests, captioner, store)
        for row, request in zip(waiting, requests, strict=True):
            answer, outcome = answers[request.key], outcomes[row["subgraph_id"]]
            found = answer.failure or judge(answer.text, row)
            if isinstance(found, str):
                outcome.failures.append(found)
            else:
                outcome.caption = found
    return outcomes


def make_request(subgraph: Mapping, prompt: tuple[str, str], seed: int, is_constrained: bool) -> Request:
    """Returns the request for a caption of a row of SUBGRAPHS."""
    about, atoms = f"subgraph {subgraph['subgraph_id']}", subgraph["atoms"]
    if not is_constrained:
        return Request(about, *prompt, seed)
    inner = frozenset(relation_words(atom["name"]) for atom in atoms if atom["kind"] == RELATION)
    return Request(about, *prompt, seed, needed_phrases(atoms), inner)


def needed_phrases(atoms: Sequence[Mapping]) -> tuple[str, ...]:
    """Returns the words of all atoms as a caption would hold them, relations as participles."""
    return tuple(relation_words(a["name"]) if a["kind"] == RELATION else normalise(a["name"]) for a in atoms)


def answer_requests(requests: Sequence[Request], captioner: Captioner, store: AnswerStore) -> dict[str, Answer]:
    """Returns an answer for the key of each request; what the store lacks is asked for, equal prompts once.

    Every answer is in the store before the next one is looked at.
    """
    wanted = {request.key: request for request in requests}
    answers = store.find(wanted)
    missing = [request for key, request in wanted.items() if key not in answers]
    logger.info("%d prompts, %d of them with a stored answer", len(wanted), len(answers))
    begun = reported = time.monotonic()
    for n_done, (request, answer) in enumerate(captioner.answer(missing) if missing else (), start=1):
        answers[request.key] = store.add(request.key, answer)
        now = time.monotonic()
        if now - reported >= LOG_INTERVAL or n_done == len(missing):
            reported, rate = now, n_done / max(now - begun, 1e-6)
            logger.info("%d of %d answers, %.2f a second; %s", n_done, len(missing), rate, captioner.spending())
    return answers
