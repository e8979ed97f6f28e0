"""The backend `openai` against a server on this machine that misbehaves."""

import logging
import time
from dataclasses import replace

import pytest

from crepebench.captioners import Request
from crepebench.chat_servers import ChatServer, ServerError
from crepebench.spending import BudgetError
from crepebench.transfers import Patience

from . import stub_chat_server as stub
from .stub_chat_server import StubChatServer

KEY = "sk-very-secret-key-0123456789"
PATIENCE = Patience(retries=3, timeout=0.4, backoff=0.01, longest_wait=2.0)
CONFIG = {
    "backend": "openai",
    "model": "some-model",
    "revision": None,
    "base_url": "",
    "api_key_variable": "STUB_KEY",
    "temperature": 0.7,
    "max_tokens": 20,
    "concurrency": 4,
    "timeout": 5,
    "max_total_tokens": None,
    "max_cost": None,
    "price_per_million_tokens": {"input": 1.0, "output": 2.0},
}


def reply(prompt, seed):
    return f"answer to {prompt} with {seed}"


def requests_of(n):
    return [Request(f"subgraph {i}", "prefix ", f"prompt {i}", 7) for i in range(n)]


@pytest.fixture(autouse=True)
def _key(monkeypatch, caplog):
    monkeypatch.setenv("STUB_KEY", KEY)
    caplog.set_level(logging.DEBUG)


def ask(server, requests, patience=PATIENCE, **config):
    captioner = ChatServer({**CONFIG, "base_url": server.url, **config}, "digest", patience)
    return {request.about: answer for request, answer in captioner.answer(requests)}


def test_each_request_has_its_answer_with_what_it_took_and_where_it_is_from():
    with StubChatServer(reply) as server:
        found = ask(server, requests_of(9))
    assert {about: answer.text for about, answer in found.items()} == {
        f"subgraph {i}": f"answer to prefix prompt {i} with 7" for i in range(9)
    }
    answer = found["subgraph 3"]
    assert (answer.failure, answer.finish_reason, answer.n_input_tokens, answer.n_output_tokens) == ("", "stop", 40, 10)
    assert answer.details == {
        "url": f"{server.url}/chat/completions",
        "model": "stub-1",
        "system_fingerprint": "fp_1",
    }
    assert {request["path"] for request in server.requests} == {"/v1/chat/completions"}
    assert {request["authorization"] for request in server.requests} == {f"Bearer {KEY}"}
    assert {(r["model"], r["temperature"], r["max_tokens"], r["seed"]) for r in server.requests} == {
        ("some-model", 0.7, 20, 7)
    }


def test_no_more_requests_at_once_than_the_config_says():
    with StubChatServer(lambda *_: time.sleep(0.05) or "a") as server:
        ask(server, requests_of(12), concurrency=3)
        assert server.most_at_once == 3


@pytest.mark.parametrize("fault", [stub.BROKEN, stub.LATE, stub.HALF, stub.CUT, stub.REPORTED])
def test_what_passes_is_tried_again_and_paid_once(fault, caplog):
    with StubChatServer(reply, {0: fault, 2: fault, 3: fault}) as server:
        found = ask(server, requests_of(5))
    assert len(found) == 5 and not any(answer.failure for answer in found.values())
    assert len(server.requests) == 8
    assert set(server.paid.values()) == {1} and len(server.paid) == 5
    assert "next try in" in caplog.text and "(1 of 3)" in caplog.text


def test_retry_after_is_honoured_and_bounded():
    for longest, least, most in ((2.0, 1.0, 3.0), (0.1, 0.1, 0.9)):
        with StubChatServer(reply, {0: stub.BUSY}) as server:
            begun = time.monotonic()
            ask(server, requests_of(1), replace(PATIENCE, longest_wait=longest))
            assert least <= time.monotonic() - begun < most


def test_waits_double_with_jitter_that_the_request_determines(monkeypatch):
    def waits_of(request):
        captioner, waits = ChatServer({**CONFIG, "base_url": server.url}, "", PATIENCE), []
        monkeypatch.setattr(captioner._stopping, "wait", waits.append)
        with pytest.raises(ServerError):
            list(captioner.answer([request]))
        return waits

    with StubChatServer(reply, always=stub.BROKEN) as server:
        first, second = requests_of(2)
        waits = waits_of(first)
        assert waits == waits_of(first) != waits_of(second)
    assert all(0.005 * 2**i <= wait <= 0.01 * 2**i for i, wait in enumerate(waits)) and len(waits) == 3


def test_error_names_server_status_and_subgraph_after_all_tries():
    with StubChatServer(reply, always=stub.BROKEN) as server:
        with pytest.raises(ServerError) as caught:
            ask(server, requests_of(1))
        said = "subgraph 0: status 500 Internal Server Error: out of memory (given up after 4 tries)"
        assert str(caught.value) == f"{server.url}/chat/completions: {said}"
        assert len(server.requests) == 4


def test_refusal_stops_at_once_with_the_servers_message_and_keeps_what_is_under_way():
    with StubChatServer(lambda *_: time.sleep(0.1) or "a", {2: stub.DENIED}) as server:
        captioner, found = ChatServer({**CONFIG, "base_url": server.url}, "", PATIENCE), []
        with pytest.raises(ServerError, match=r"subgraph .: status 401 Unauthorized: bad key: Bearer \[key\]"):
            found.extend(captioner.answer(requests_of(40)))
        assert len(found) == len(server.paid) < 10
        assert len(server.requests) == len(found) + 1


def test_web_page_in_place_of_an_answer_stops():
    with StubChatServer(reply, always=stub.PAGE) as server, pytest.raises(ServerError, match="status 200 OK: <html>"):
        ask(server, requests_of(1))


def test_server_that_does_not_exist_is_named():
    with StubChatServer(reply) as server:
        pass
    with pytest.raises(ServerError, match=r"subgraph 0: the connection failed .* \(given up after 4 tries\)"):
        ask(server, requests_of(1))


@pytest.mark.parametrize(
    ("fault", "failure"),
    [
        (stub.INVALID, "invalid_json"),
        (stub.NO_CHOICE, "missing_fields"),
        (stub.EMPTY, "empty"),
        (stub.REFUSED, "refusal"),
        (stub.FILTERED, "refusal"),
        (stub.TOO_LONG, "cut_off"),
    ],
)
def test_answer_of_no_use_is_an_answer_with_a_failure(fault, failure):
    with StubChatServer(reply, {0: fault}) as server:
        (answer,) = ask(server, requests_of(1)).values()
    assert answer.failure == failure
    assert len(server.requests) == sum(server.paid.values()) == 1


def test_budget_of_tokens_stops_before_it_is_exceeded_and_says_what_was_spent():
    with StubChatServer(reply) as server:
        captioner = ChatServer({**CONFIG, "base_url": server.url, "max_total_tokens": 500}, "", PATIENCE)
        found = []
        with pytest.raises(BudgetError) as caught:
            found.extend(captioner.answer(requests_of(30)))
    n_paid = sum(server.paid.values())
    assert len(found) == n_paid == 9  # 50 tokens each, and no room for 26 guessed ones more
    assert "captioner.max_total_tokens 500" in str(caught.value)
    assert "360 tokens of prompts and 90 of answers, cost 0.0005; 21 requests of this round are left" in str(
        caught.value
    )
    assert "the same command goes on from there" in str(caught.value)


def test_budget_of_cost_counts_prompts_and_answers_over_all_calls():
    with StubChatServer(reply) as server:
        config = {**CONFIG, "base_url": server.url, "max_cost": 0.00027, "concurrency": 1}
        captioner = ChatServer(config, "", PATIENCE)
        assert len(list(captioner.answer(requests_of(2)))) == 2
        with pytest.raises(BudgetError, match=r"captioner.max_cost 0.00027\): .*cost 0.0002"):
            list(captioner.answer(requests_of(9)[2:]))
        assert sum(server.paid.values()) == 4  # 60 millionths each
    assert captioner.spending() == "160 tokens of prompts and 40 of answers, cost 0.0002"


def test_key_stands_in_no_log_error_answer_or_identity(caplog):
    with StubChatServer(lambda *_: f"my key is {KEY}", {0: stub.DENIED, 1: stub.BROKEN}) as server:
        captioner = ChatServer({**CONFIG, "base_url": server.url}, "", PATIENCE)
        with pytest.raises(ServerError) as caught:
            list(captioner.answer(requests_of(1)))
        logging.getLogger().error("it stopped", exc_info=caught.value)
        ((_, answer),) = captioner.answer(requests_of(1))
    assert answer.text == "my key is [key]"
    assert "bad key" in caplog.text
    assert KEY not in "\n".join([caplog.text, repr(caught.value), repr(captioner.identity), captioner.source])


@pytest.mark.parametrize("key", ["sk-key-with-a-line-end-000\n", " sk-key-with-a-line-end-000"])
def test_blanks_around_a_key_are_dropped(monkeypatch, key):
    monkeypatch.setenv("STUB_KEY", key)
    with StubChatServer(reply) as server:
        ask(server, requests_of(1))
    assert server.requests[0]["authorization"] == "Bearer sk-key-with-a-line-end-000"


def test_key_with_odd_characters_is_refused_unquoted(monkeypatch):
    monkeypatch.setenv("STUB_KEY", "sk-ключ-0123456789")
    with pytest.raises(ValueError, match="STUB_KEY holds no key") as caught:
        ChatServer({**CONFIG, "base_url": "http://127.0.0.1/v1"}, "")
    assert "0123456789" not in str(caught.value)


def test_without_a_key_none_is_sent_and_a_denial_says_so(monkeypatch):
    monkeypatch.delenv("STUB_KEY")
    with StubChatServer(reply, {1: stub.DENIED}) as server:
        ask(server, requests_of(1))
        assert server.requests[0]["authorization"] is None
        with pytest.raises(ServerError, match=r"\(no key is sent: STUB_KEY is not set\)"):
            ask(server, requests_of(1))


@pytest.mark.parametrize("url", ["https://me:password@example.org/v1", "https://example.org/v1?key=password"])
def test_address_with_a_password_is_refused_unquoted(url):
    with pytest.raises(ValueError, match=r"captioner\.base_url holds a password or a query") as caught:
        ChatServer({**CONFIG, "base_url": url}, "")
    assert "password@" not in str(caught.value) and "key=" not in str(caught.value)


@pytest.mark.parametrize("name", ["model", "base_url"])
def test_what_the_config_lacks_is_named(name):
    with pytest.raises(ValueError, match=f"needs a captioner.{name}"):
        ChatServer({**CONFIG, "base_url": "http://127.0.0.1/v1", name: None}, "")


def test_identity_holds_what_shapes_an_answer_and_nothing_else():
    def identity(**config):
        return ChatServer({**CONFIG, "base_url": "http://127.0.0.1:1/v1", **config}, "prompts").identity

    for change in ({"model": "b"}, {"revision": "b"}, {"temperature": 0.1}, {"max_tokens": 9}):
        assert identity(**change) != identity()
    for change in ({"base_url": "http://127.0.0.1:2/v1"}, {"concurrency": 1}, {"max_cost": 2.0}, {"timeout": 1}):
        assert identity(**change) == identity()
    assert ChatServer({**CONFIG, "base_url": "http://a/v1"}, "other prompts").identity != identity()
