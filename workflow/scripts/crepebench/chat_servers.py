"""Ask a server with the OpenAI-compatible interface (`{base_url}/chat/completions`) to answer prompts.

Requests are sent by threads. What passes (a busy server, status 5xx, a connection that breaks or takes too long) is
tried again after a wait that doubles, with jitter; what the server refuses (other 4xx) stops the run with its message.
An answer that came but is of no use is an answer with a failure: it is paid, and the same seed would not better it.

The key is read from the environment, sent in a header and nowhere else: the texts of errors and answers are searched
for it, and it is blanked there.

# ASSUME: an answer depends on the name of the model, not on the server's address: a server that moves to another node
or port keeps its answers. Each answer is stored with the address that gave it.
# ASSUME: a prompt is sent as one message of the user, as plain text; the paper's GPT-3 had no roles.
"""

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from urllib.parse import urlsplit

import numpy as np
import requests

from crepebench.captioners import OPENAI, Answer, Captioner, Request, shared_identity
from crepebench.chat_answers import PassingFault, read_answer, server_message
from crepebench.spending import Budget, BudgetError
from crepebench.transfers import BUSY, WEB_PAGES, Patience, asked_wait

logger = logging.getLogger(__name__)

REQUEST_FORM = 1
"""To be raised when the same prompt is sent in another way."""
CHUNK_BYTES = 1  # so that the deadline holds where a server sends blanks to keep a connection alive
SHORTEST_SECRET = 12
"""Characters; what is shorter is no key, but a word for servers that ask for none, and is not searched for."""
RETRIES, BACKOFF, LONGEST_WAIT = 8, 1.0, 120.0
"""Tries after the first, and seconds: of the first wait, and of the longest."""


class ServerError(RuntimeError):
    """The server refuses a request, or did not answer in all tries; names server, status and subgraph."""


class _BearerKey(requests.auth.AuthBase):
    """Puts the key into the header; as an `auth` it also keeps requests from looking for another in ~/.netrc."""

    def __init__(self, key: str):
        self._key = key

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._key:
            request.headers["Authorization"] = f"Bearer {self._key}"
        return request


class ChatServer(Captioner):
    """A server that answers prompts.

    Args:
        config: config block `captioner`.
        prompts: digest of the committed prompts.
        patience: tries and waits; its time-out is the config's where None.

    Raises:
        ValueError: the config names no server or model, or the address holds a password or a query.
    """

    def __init__(self, config: Mapping, prompts: str, patience: Patience | None = None):
        for name in ("model", "base_url"):
            if not config[name]:
                raise ValueError(f"config: captioner.backend openai needs a captioner.{name}")
        address = urlsplit(config["base_url"])
        if "@" in address.netloc or address.query:
            raise ValueError(
                "config: captioner.base_url holds a password or a query: name the server alone, and put the key into "
                f"the environment variable {config['api_key_variable']}"
            )
        self.identity = {
            **shared_identity(config, prompts),
            "revision": config["revision"],
            "backend_version": REQUEST_FORM,
        }
        self.source = f"{OPENAI}:{config['model']}"
        self._config = config
        self._url = f"{config['base_url'].rstrip('/')}/chat/completions"
        self._key = read_key(config["api_key_variable"])
        self._patience = patience or Patience(RETRIES, config["timeout"], BACKOFF, LONGEST_WAIT)
        self._budget, self._local, self._stopping = Budget(config), threading.local(), threading.Event()

    def spending(self) -> str:
        """Returns tokens and cost so far."""
        return self._budget.spent()

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[Request, Answer]]:
        """Yields requests with their answers as they arrive.

        After an error no further request is sent, and those under way are waited for and yielded before it is raised.

        Raises:
            ServerError: the server refuses a request, or did not answer in all tries.
            BudgetError: the next request might exceed the budget.
        """
        waiting, running, error = deque(requests), {}, None
        self._stopping.clear()
        with ThreadPoolExecutor(self._config["concurrency"]) as pool:
            try:
                while running or (waiting and error is None):
                    while error is None and self._has_room(waiting, running):
                        request = waiting.popleft()
                        running[pool.submit(self._ask, request)] = request
                    if not running:
                        raise self._budget_error(len(waiting))
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        request = running.pop(future)
                        if future.exception() is None:
                            self._budget.add(request, future.result())
                            yield request, future.result()
                        else:
                            error = error or future.exception()
                            self._stopping.set()
            finally:
                self._stopping.set()
        if error is not None:
            raise error

    def _has_room(self, waiting: deque[Request], running: dict[Future, Request]) -> bool:
        """Says whether the next request may be sent now."""
        is_free = waiting and len(running) < self._config["concurrency"]
        return bool(is_free) and self._budget.allows([*running.values(), waiting[0]])

    def _budget_error(self, n_left: int) -> BudgetError:
        bounds = {name: self._config[name] for name in ("max_total_tokens", "max_cost")}
        said = " and ".join(f"captioner.{name} {bound}" for name, bound in bounds.items() if bound is not None)
        return BudgetError(
            f"the budget of this job is spent ({said}): {self._budget.spent()}; {n_left} requests of this round are "
            "left. The answers are stored: the same command goes on from there, with the same budget again"
        )

    def _ask(self, request: Request) -> Answer:
        """Sends a request until it is answered.

        Raises:
            ServerError: the server refuses it, or did not answer in all tries.
        """
        rng = np.random.default_rng([request.seed, int(request.key[:16], 16)])
        n_failures = 0
        while True:
            try:
                return self._post(request)
            except PassingFault as fault:
                n_failures += 1
                said = f"{self._url}: {request.about}: {fault}"
                if n_failures > self._patience.retries:
                    raise ServerError(f"{said} (given up after {n_failures} tries)") from None
                jitter = 0.5 + rng.random() / 2
                seconds = max(
                    self._patience.wait(n_failures, 0.0) * jitter, min(fault.asked, self._patience.longest_wait)
                )
                logger.warning("%s; next try in %.1f s (%d of %d)", said, seconds, n_failures, self._patience.retries)
                if self._stopping.wait(seconds):
                    raise ServerError(f"{said} (not tried again, since the run stops)") from None

    def _post(self, request: Request) -> Answer:
        """Sends a request once.

        Raises:
            ServerError: the server refuses it.
            PassingFault: it may be answered another time.
        """
        if not hasattr(self._local, "session"):
            self._local.session = requests.Session()
        body = {key: self._config[key] for key in ("model", "temperature", "max_tokens")}
        body |= {"seed": request.seed, "messages": [{"role": "user", "content": request.prefix + request.suffix}]}
        deadline = time.monotonic() + self._patience.timeout
        try:
            with self._local.session.post(
                self._url,
                json=body,
                auth=_BearerKey(self._key),
                timeout=self._patience.timeout,
                stream=True,
                allow_redirects=False,  # the key goes nowhere else
            ) as response:
                chunks = []
                for chunk in response.iter_content(CHUNK_BYTES):
                    chunks.append(chunk)
                    if time.monotonic() > deadline:
                        raise PassingFault(f"no whole answer in {self._patience.timeout} s")
        except requests.RequestException as error:
            raise PassingFault(self._blanked(f"the connection failed ({error})")) from None
        return self._read(request, response, self._blanked(b"".join(chunks).decode(errors="replace")))

    def _read(self, request: Request, response: requests.Response, body: str) -> Answer:
        """Reads a whole response.

        Raises:
            ServerError: the server refuses the request.
            PassingFault: it may be answered another time.
        """
        said = f"status {response.status_code} {response.reason}"
        media_type = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if response.status_code in BUSY or response.status_code >= 500:
            raise PassingFault(f"{said}: {server_message(body)}", asked_wait(response.headers.get("Retry-After", "")))
        if response.status_code != 200 or media_type in WEB_PAGES:
            hint = "" if self._key else f" (no key is sent: {self._config['api_key_variable']} is not set)"
            raise ServerError(f"{self._url}: {request.about}: {said}: {server_message(body)}{hint}")
        return read_answer(body, self._url)

    def _blanked(self, text: str) -> str:
        """Returns a text without the key, which a server may quote."""
        return text.replace(self._key, "[key]") if len(self._key) >= SHORTEST_SECRET else text


def read_key(variable: str) -> str:
    """Returns the key that an environment variable holds, "" where there is none.

    Raises:
        ValueError: it could not stand in a header; names the variable, not the key.
    """
    key = os.environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ValueError(f"the environment variable {variable} holds no key: there are odd characters in it")
    return key
