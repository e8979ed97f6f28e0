"""A server of chat completions on this machine that misbehaves in the ways that real ones do, as scripted."""

import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BUSY, BROKEN, LATE, HALF, CUT, HELD = "busy", "broken", "late", "half", "cut", "held"
"""Faults without an answer: status 429, status 500, silence, half a body, a cut connection, waiting."""
INVALID, NO_CHOICE, EMPTY, REFUSED, FILTERED, TOO_LONG = "invalid", "no_choice", "empty", "refused", "filtered", "long"
"""Answers of no use, which are paid like any."""
DENIED, PAGE, REPORTED = "denied", "page", "reported"
"""Status 401 that quotes the header, a web page, and an error with status 200."""

USAGE = {"prompt_tokens": 40, "completion_tokens": 10}


class StubChatServer:
    """Answers each prompt with `reply(prompt, seed)`, but for the requests whose number has a fault.

    Args:
        reply: gives the text; it must depend on nothing else.
        faults: fault by number of the request, from 0 in the order in which they come.
        always: fault of all other requests.
    """

    def __init__(self, reply: Callable[[str, int], str], faults: Mapping[int, str] = {}, always: str = ""):
        self._reply, self._faults, self._always = reply, dict(faults), always
        self.requests: list[dict] = []  # bodies, with the header of the key
        self.paid: Counter = Counter()  # whole answers by prompt and seed
        self.n_at_once, self.most_at_once = 0, 0
        self.release = threading.Event()
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                outer.answer(self)

            def log_message(self, *_):
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    def close(self):
        self.release.set()
        self._http.shutdown()
        self._http.server_close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        key = handler.headers.get("Authorization")
        with self._lock:
            number = len(self.requests)
            self.requests.append({**body, "path": handler.path, "authorization": key})
            self.n_at_once += 1
            self.most_at_once = max(self.most_at_once, self.n_at_once)
        try:
            self._answer(handler, body, self._faults.get(number, self._always), str(key))
        except OSError:
            handler.close_connection = True
        finally:
            with self._lock:
                self.n_at_once -= 1

    def _answer(self, handler, body: dict, fault: str, key: str) -> None:
        prompt, seed = body["messages"][0]["content"], body["seed"]
        if fault in (LATE, HELD):
            self.release.wait(0.8 if fault == LATE else 60)
        if fault in (CUT, LATE, HELD):
            handler.close_connection = True
            return
        errors = {BUSY: (429, "slow down"), BROKEN: (500, "out of memory"), DENIED: (401, f"bad key: {key}")}
        if fault in errors:
            status, message = errors[fault]
            headers = {"Retry-After": "1"} if fault == BUSY else {}
            _send(handler, status, json.dumps({"error": {"message": message}}).encode(), headers)
            return
        if fault == PAGE:
            _send(handler, 200, b"<html>log in</html>", {"Content-Type": "text/html; charset=utf-8"})
            return
        if fault == REPORTED:
            _send(handler, 200, json.dumps({"error": {"message": "upstream is gone"}}).encode())
            return
        message = {"role": "assistant", "content": self._reply(prompt, seed)}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        if fault == EMPTY:
            message["content"] = " \n"
        elif fault == REFUSED:
            message["content"] = "I'm sorry, but I can't describe that."
        elif fault == FILTERED:
            choice["finish_reason"] = "content_filter"
        elif fault == TOO_LONG:
            choice["finish_reason"] = "length"
        reply = {"model": "stub-1", "system_fingerprint": "fp_1", "choices": [choice], "usage": USAGE}
        if fault == NO_CHOICE:
            reply["choices"] = []
        text = json.dumps(reply).encode()
        if fault == INVALID:
            text = text[: len(text) // 2]
        if fault == HALF:
            _send(handler, 200, text[: len(text) // 2], {"Content-Length": str(len(text))})
            handler.close_connection = True
            return
        with self._lock:
            self.paid[prompt, seed] += 1
        _send(handler, 200, text)


def _send(handler: BaseHTTPRequestHandler, status: int, body: bytes, headers: Mapping[str, str] = {}) -> None:
    handler.send_response(status)
    for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)
    handler.wfile.flush()
