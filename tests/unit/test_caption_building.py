"""The rule build_captions, by template, with a scripted backend, and with servers that misbehave."""

import json
import logging
import os
import signal
import subprocess
import sys
import time
from itertools import product

import pytest

from crepebench import caption_building
from crepebench.accounting import read_accounting
from crepebench.answer_store import AnswerStore
from crepebench.caption_attempts import ask_in_rounds, needed_phrases
from crepebench.caption_building import build_captions
from crepebench.captioners import Answer, Captioner, attempt_seed
from crepebench.captions import Caption, write_template_caption
from crepebench.schema import CAPTIONS, SUBGRAPHS, read_table, write_table

from . import stub_chat_server as stub
from .stub_chat_server import StubChatServer

KEY = "sk-very-secret-key-0123456789"
PART = "part-00000-of-00001"
TEMPLATE_CONFIG = {"backend": "template"}
CONFIG = {
    "backend": "openai",
    "uniform": False,
    "model": "some-model",
    "revision": None,
    "api_key_variable": "STUB_KEY",
    "temperature": 0.7,
    "max_tokens": 96,
    "seed": 1,
    "attempts": 3,
    "on_failure": "template",
    "constrained": False,
    "concurrency": 3,
    "timeout": 0.5,
    "max_total_tokens": None,
    "max_cost": None,
    "price_per_million_tokens": {"input": 0, "output": 0},
}
BUILD = """
import json, logging, sys
from crepebench.caption_building import build_captions
logging.basicConfig(level=logging.DEBUG)
build_captions(**json.loads(sys.argv[1]))
"""
NAMES = ("jar", "box", "taxi", "lamp", "house", "tree", "chair")
PLACES = ("above", "behind", "near", "under")


def object_atom(name):
    box = {"x": 0, "y": 0, "width": 90, "height": 90}
    return {"kind": "object", "text": name, "name": name, "subject": -1, "object": -1, **box}


def relation_atom(name, subject, object_):
    box = dict.fromkeys(("x", "y", "width", "height"))
    return {"kind": "relation", "text": name, "name": name, "subject": subject, "object": object_, **box}


def subgraph(subgraph_id, names, relations, image_id=None):
    """A chain of objects, each in a relation to the next."""
    atoms = [object_atom(name) for name in names]
    atoms += [relation_atom(name, i, i + 1) for i, name in enumerate(relations)]
    row = dict.fromkeys(SUBGRAPHS.names, 0)
    sizes = {"complexity": len(atoms), "n_objects": len(names), "n_relations": len(relations)}
    ids = {"subgraph_id": subgraph_id, "image_id": image_id or subgraph_id}
    return {**row, **sizes, **ids, "shape": "chain", "atoms": atoms}


def subgraphs_of(n, complexity=5):
    """Subgraphs of so many atoms, no two alike."""
    n_objects = complexity // 2 + 1
    rows = []
    for names in product(NAMES, repeat=n_objects):
        if len(set(names)) == n_objects and len(rows) < n:
            relations = [PLACES[(len(rows) + i) % 4] for i in range(complexity - n_objects)]
            rows.append(subgraph(100 * complexity + len(rows), names, relations))
    return rows


@pytest.fixture(autouse=True)
def _wordnet(monkeypatch, wordnet_reader):
    """WordNet is read once for all tests."""
    monkeypatch.setattr(caption_building, "read_wordnet", lambda _: wordnet_reader)


@pytest.fixture
def paths(tmp_path, repository, wordnet_folder):
    """Arguments of `build_captions` for a table of 12 subgraphs of five atoms and 3 of three."""
    write_table(str(tmp_path / "subgraphs.parquet"), SUBGRAPHS, [*subgraphs_of(3, 3), *subgraphs_of(12)])
    return {
        "subgraphs_path": str(tmp_path / "subgraphs.parquet"),
        "tables_paths": sorted(map(str, (repository / "resources" / "foils").glob("*.csv"))),
        "prompts_paths": sorted(map(str, (repository / "resources" / "prompts").glob("*.yaml"))),
        "wordnet_path": wordnet_folder,
        "captions_path": str(tmp_path / "captions.parquet"),
        "accounting_path": str(tmp_path / "captions.accounting.csv"),
        "part": PART,
    }


def build(paths, config, **others):
    build_captions(**{**paths, **others}, cfg=json.dumps(config))
    return rows_of(paths)


def rows_of(paths):
    return read_table(paths["captions_path"], CAPTIONS).to_pylist()


def counts_of(paths):
    rows = read_accounting([paths["accounting_path"]])
    assert {row["stage"] for row in rows} <= {"captions"}
    return {(row["unit"], row["reason"]): row["count"] for row in rows}


def template_of(row):
    return write_template_caption(row["atoms"], frozenset()).text


def faithful(prompt, seed):
    """What a model answers that words every subgraph as a template would."""
    found = [row for row in subgraphs_of(12) if prompt.endswith(caption_building.prompt_suffix(row["atoms"]))]
    return template_of(found[0])


def clumsy(prompt, seed):
    """Words a third of the subgraphs wrongly at first, and one of them always."""
    text = faithful(prompt, seed)
    number = [template_of(row) for row in subgraphs_of(12)].index(text)
    return "a dog" if number == 3 or (number % 3 == 0 and seed == attempt_seed(1, 0)) else text


@pytest.fixture
def _key(monkeypatch):
    monkeypatch.setenv("STUB_KEY", KEY)


def server_config(server, tmp_path, **config):
    return {**CONFIG, "base_url": server.url, "store": str(tmp_path / "store"), **config}


def test_template_words_all_subgraphs(paths):
    rows = build(paths, TEMPLATE_CONFIG)
    assert [row["caption"] for row in rows] == [template_of(row) for row in [*subgraphs_of(3, 3), *subgraphs_of(12)]]
    assert {(row["caption_source"], row["n_attempts"], row["reason"]) for row in rows} == {("template", 0, "")}
    for row in rows:
        words = [row["caption"][m["start"] : m["end"]] for m in row["mentions"] if m["atom"] == 0]
        assert words and all(word in NAMES for word in words)
    assert counts_of(paths) == {
        ("subgraph_n3", "read"): 3,
        ("subgraph_n3", "kept"): 3,
        ("subgraph_n5", "read"): 12,
        ("subgraph_n5", "kept"): 12,
    }


def test_parts_share_the_images_and_make_the_same_captions(paths):
    whole = build(paths, TEMPLATE_CONFIG)
    parts = [build(paths, TEMPLATE_CONFIG, part=f"part-0000{i}-of-00002") for i in range(2)]
    assert sorted(parts[0] + parts[1], key=lambda row: row["subgraph_id"]) == sorted(
        whole, key=lambda row: row["subgraph_id"]
    )
    assert [len(part) for part in parts] == [8, 7]


def test_part_without_images_is_an_empty_table(paths):
    assert build(paths, TEMPLATE_CONFIG, part="part-00020-of-00030") == []
    assert counts_of(paths) == {}


@pytest.mark.parametrize("uniform", [False, True])
def test_backend_words_five_atoms_and_more_or_all(paths, tmp_path, uniform, _key):
    sources = {row["subgraph_id"]: template_of(row) for row in [*subgraphs_of(3, 3), *subgraphs_of(12)]}
    by_suffix = {caption_building.prompt_suffix(row["atoms"]): row for row in [*subgraphs_of(3, 3), *subgraphs_of(12)]}

    def reply(prompt, seed):
        return next(template_of(row) for suffix, row in by_suffix.items() if prompt.endswith(suffix))

    with StubChatServer(reply) as server:
        rows = build(paths, server_config(server, tmp_path, uniform=uniform))
    assert {row["subgraph_id"]: row["caption"] for row in rows} == sources
    asked = [row["subgraph_id"] for row in rows if row["caption_source"] == "openai:some-model"]
    assert asked == [row["subgraph_id"] for row in rows if uniform or row["subgraph_id"] >= 500]
    assert all(row["n_attempts"] == (row["subgraph_id"] in asked) for row in rows)


@pytest.mark.parametrize("on_failure", ["template", "drop"])
def test_refused_answers_are_asked_for_again_with_other_seeds(paths, tmp_path, on_failure, _key):
    with StubChatServer(clumsy) as server:
        rows = build(paths, server_config(server, tmp_path, on_failure=on_failure))
    rows = [row for row in rows if row["subgraph_id"] >= 500]
    n_attempts = [row["n_attempts"] for row in rows]
    assert n_attempts == [2, 1, 1, 3, 1, 1, 2, 1, 1, 2, 1, 1]
    assert [len(row["failures"]) for row in rows] == [1, 0, 0, 3, 0, 0, 1, 0, 0, 1, 0, 0]
    failed, counts = rows[3], counts_of(paths)
    if on_failure == "drop":
        assert (failed["caption"], failed["caption_source"], failed["reason"]) == (None, "", "caption_failed")
        assert (failed["mentions"], counts["subgraph_n5", "caption_failed"]) == ([], 1)
    else:
        assert (failed["caption"], failed["caption_source"]) == (template_of(subgraphs_of(12)[3]), "template")
        assert counts["subgraph_n5", "kept"] == 12
    assert counts["answer", "read"] == sum(n_attempts)
    assert counts["answer", "kept"] == 11
    assert {seed for _, seed in server.paid} == {attempt_seed(1, attempt) for attempt in range(3)}


def test_second_run_asks_for_nothing(paths, tmp_path, _key):
    with StubChatServer(clumsy) as server:
        config = server_config(server, tmp_path)
        rows = build(paths, config)
        n_requests = len(server.requests)
        assert build(paths, config) == rows
        assert len(server.requests) == n_requests == sum(server.paid.values())
        build(paths, {**config, "temperature": 0.8})
        assert len(server.requests) == 2 * n_requests


def test_equal_prompts_are_asked_once(paths, tmp_path, _key):
    row = subgraphs_of(1)[0]
    write_table(paths["subgraphs_path"], SUBGRAPHS, [{**row, "subgraph_id": i, "image_id": i} for i in (7, 8, 9)])
    with StubChatServer(faithful) as server:
        rows = build(paths, server_config(server, tmp_path))
        assert len(server.requests) == 1
    assert {row["caption"] for row in rows} == {template_of(row)} and len(rows) == 3


def test_faults_change_no_caption_and_pay_nothing_twice(paths, tmp_path, monkeypatch, _key):
    monkeypatch.setattr("crepebench.chat_servers.BACKOFF", 0.01)
    with StubChatServer(clumsy) as server:
        expected = build(paths, server_config(server, tmp_path / "calm"))
    faults = [stub.BUSY, stub.BROKEN, stub.LATE, stub.HALF, stub.CUT, stub.REPORTED]
    with StubChatServer(clumsy, {2 * i: fault for i, fault in enumerate(faults)}) as server:
        assert build(paths, server_config(server, tmp_path / "rough")) == expected
        assert len(server.requests) == sum(server.paid.values()) + len(faults)
        assert set(server.paid.values()) == {1}


def test_answers_of_no_use_are_failures_of_one_attempt(paths, tmp_path, _key):
    faults = [stub.INVALID, stub.NO_CHOICE, stub.EMPTY, stub.REFUSED, stub.TOO_LONG]
    with StubChatServer(faithful, dict(enumerate(faults))) as server:
        config = server_config(server, tmp_path)
        rows = build(paths, config)
        assert len(server.requests) == 12 + len(faults)
        assert build(paths, config) == rows
        assert len(server.requests) == 12 + len(faults)
    assert sorted(failure for row in rows for failure in row["failures"]) == [
        *("cut_off", "empty", "invalid_json", "missing_fields", "refusal")
    ]
    assert {row["caption_source"] for row in rows if row["subgraph_id"] >= 500} == {"openai:some-model"}
    assert counts_of(paths)["answer", "refusal"] == 1


def test_spent_budget_stops_and_the_next_run_goes_on(paths, tmp_path, _key):
    with StubChatServer(faithful) as server:
        config = server_config(server, tmp_path, concurrency=1, max_tokens=10)
        config["max_total_tokens"] = 2200
        for _ in range(20):
            n_paid = sum(server.paid.values())
            try:
                rows = build(paths, config)
                break
            except RuntimeError as error:
                assert "the budget of this job is spent" in str(error)
                assert sum(server.paid.values()) > n_paid
                assert not os.path.exists(paths["captions_path"])
        assert set(server.paid.values()) == {1} and len(server.paid) == 12
        assert [row["caption"] for row in rows[3:]] == [template_of(row) for row in subgraphs_of(12)]


def test_killed_run_goes_on_and_pays_nothing_twice(paths, tmp_path, repository, _key):
    with StubChatServer(clumsy) as server:
        expected = build(paths, server_config(server, tmp_path / "calm"))
        n_calm = sum(server.paid.values())
    os.unlink(paths["captions_path"])
    with StubChatServer(clumsy, dict.fromkeys(range(5, 100), stub.HELD)) as server:
        config = server_config(server, tmp_path, timeout=60)
        log = tmp_path / "log"
        with log.open("w") as stream:
            arguments = json.dumps({**paths, "cfg": json.dumps(config)})
            folder = repository / "workflow" / "scripts"
            process = subprocess.Popen([sys.executable, "-c", BUILD, arguments], cwd=folder, stderr=stream)
        deadline = time.monotonic() + 60
        while count_lines(tmp_path / "store") < 5 or len(server.requests) < 8:
            assert process.poll() is None and time.monotonic() < deadline, log.read_text()
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert not os.path.exists(paths["captions_path"])
        server.release.set()
        server._faults.clear()
        assert sum(server.paid.values()) == 5
        assert build(paths, config) == expected
        assert set(server.paid.values()) == {1}
        assert sum(server.paid.values()) == n_calm


def count_lines(folder):
    return sum(path.read_bytes().count(b"\n") for path in folder.glob("*/*.jsonl"))


def test_key_stands_in_no_file_and_no_log(paths, tmp_path, caplog, capfd, _key):
    caplog.set_level(logging.DEBUG)
    with StubChatServer(lambda *_: f"a {KEY} on a jar", {0: stub.BROKEN, 30: stub.DENIED}) as server:
        config = server_config(server, tmp_path)
        with pytest.raises(RuntimeError, match="status 401") as caught:
            build(paths, config)
        logging.getLogger("crepebench").critical("%s", caught.value, exc_info=caught.value)
        build(paths, config)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert count_lines(tmp_path / "store") == 36 and len(files) > 5
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
    assert "[key]" in caplog.text and KEY not in caplog.text
    assert KEY not in "".join(capfd.readouterr())


def test_template_loads_no_library_of_a_backend(paths, repository):
    code = f"{BUILD}\nprint(sorted({{'torch', 'transformers', 'requests', 'urllib3'}} & set(sys.modules)))"
    arguments = json.dumps({**paths, "cfg": json.dumps(TEMPLATE_CONFIG)})
    found = subprocess.run(
        [sys.executable, "-c", code, arguments],
        cwd=repository / "workflow" / "scripts",
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout == "[]\n"


class ScriptedCaptioner(Captioner):
    """Answers at once; its answers are counted."""

    def __init__(self, reply):
        self.identity, self.source, self._reply, self.asked = {"backend": "scripted"}, "scripted:1", reply, []

    def answer(self, requests):
        self.asked.append([request.about for request in requests])
        for request in requests:
            yield request, Answer(self._reply(request), "stop")


def rounds(tmp_path, reply, n=3, **config):
    captioner = ScriptedCaptioner(reply)
    outcomes = ask_in_rounds(
        subgraphs_of(n),
        captioner,
        AnswerStore(str(tmp_path), captioner.identity),
        lambda row: ("prefix", template_of(row)),
        lambda text, row: Caption(text, (), "scripted:1") if text == "good" else text,
        {**CONFIG, **config},
    )
    return captioner, outcomes


def test_a_round_asks_for_all_that_failed_before_at_once(tmp_path):
    captioner, outcomes = rounds(
        tmp_path, lambda r: "good" if r.about == "subgraph 501" or r.seed == attempt_seed(1, 1) else "bad"
    )
    assert captioner.asked == [["subgraph 500", "subgraph 501", "subgraph 502"], ["subgraph 500", "subgraph 502"]]
    assert [(o.n_attempts, o.failures) for o in outcomes.values()] == [(2, ["bad"]), (1, []), (2, ["bad"])]


def test_greedy_answers_are_not_asked_for_again(tmp_path):
    captioner, outcomes = rounds(tmp_path, lambda r: "bad", temperature=0)
    assert len(captioner.asked) == 1
    assert all((o.caption, o.failures) == (None, ["bad"]) for o in outcomes.values())


def test_answers_before_a_fault_are_kept(tmp_path):
    def reply(request):
        if request.about == "subgraph 502":
            raise RuntimeError("the server is gone")
        return "good"

    with pytest.raises(RuntimeError, match="the server is gone"):
        rounds(tmp_path, reply)
    captioner, _ = rounds(tmp_path, lambda r: "good")
    assert captioner.asked == [["subgraph 502"]]


def test_needed_phrases_are_names_and_relations_as_participles():
    atoms = [object_atom("Fire  hydrant"), object_atom("man"), relation_atom("wears", 1, 0)]
    assert needed_phrases(atoms) == ("fire hydrant", "man", "wearing")


def test_progress_says_how_many_and_what_was_spent(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    rounds(tmp_path, lambda r: "good")
    assert "3 prompts, 0 of them with a stored answer" in caplog.text
    assert "3 of 3 answers, " in caplog.text and " a second; " in caplog.text
