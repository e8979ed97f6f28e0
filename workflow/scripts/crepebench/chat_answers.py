"""Read the answers of servers with the OpenAI-compatible interface, good and bad."""

import json
import re

from crepebench.captioners import CUT_OFF, EMPTY, Answer

INVALID_JSON, MISSING_FIELDS, REFUSAL = "invalid_json", "missing_fields", "refusal"
"""Failures of an answer that only servers give."""
REFUSALS = re.compile(
    r"\W*(i['’]m sorry|i am sorry|sorry,|i can['’]?t|i cannot|i am unable|i['’]m unable|as an ai)\b", re.I
)
MOST_CHARACTERS = 4000
"""Of a body that cannot be read, so many are kept."""


class PassingFault(Exception):
    """A fault that may pass.

    Args:
        reason: what happened.
        asked: seconds that the server asks to wait.
    """

    def __init__(self, reason: str, asked: float = 0.0):
        super().__init__(reason)
        self.asked = asked


def read_answer(body: str, url: str) -> Answer:
    """Reads the body of a chat completion; one of no use gives an answer with a failure.

    Args:
        body: as it came with status 200.
        url: where it came from.

    Raises:
        PassingFault: the body reports an error in place of an answer, as some gateways do.
    """
    details = {"url": url}
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return Answer(body[:MOST_CHARACTERS], "", INVALID_JSON, details=details)
    if not isinstance(found, dict):
        return Answer(body[:MOST_CHARACTERS], "", MISSING_FIELDS, details=details)
    if found.get("error") and not found.get("choices"):
        raise PassingFault(f"status 200, but an error: {server_message(body)}")
    usage = found.get("usage") if isinstance(found.get("usage"), dict) else {}
    n_tokens = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")]
    n_input, n_output = (number if isinstance(number, int) and number >= 0 else None for number in n_tokens)
    details |= {name: found[name] for name in ("model", "system_fingerprint") if isinstance(found.get(name), str)}

    def answer(text: str, finish_reason: str, failure: str) -> Answer:
        return Answer(text, finish_reason, failure, n_input, n_output, details)

    try:
        choice = found["choices"][0]
        message, finish_reason = choice["message"], str(choice.get("finish_reason") or "")
        content, refusal = message.get("content"), message.get("refusal")
    except (KeyError, IndexError, TypeError, AttributeError):
        return answer("", "", MISSING_FIELDS)
    if refusal or finish_reason == "content_filter":
        return answer(str(refusal or content or ""), finish_reason, REFUSAL)
    if not isinstance(content, str):
        return answer("", finish_reason, EMPTY if content is None else MISSING_FIELDS)
    text = content.encode(errors="replace").decode()  # half a surrogate pair could not be written
    if finish_reason == "length":
        return answer(text, finish_reason, CUT_OFF)
    return answer(text, finish_reason, EMPTY if not text.strip() else REFUSAL if REFUSALS.match(text) else "")


def server_message(body: str) -> str:
    """Returns what a server says of an error: its message, else the beginning of the body."""
    try:
        found = json.loads(body)["error"]
        return str(found["message"] if isinstance(found, dict) else found)
    except (ValueError, KeyError, TypeError, RecursionError):
        return " ".join(body.split())[:300] or "no message"
