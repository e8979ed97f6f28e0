import io
import json
import logging
import multiprocessing
from pathlib import Path

import pytest

from crepebench.answer_store import AnswerStore, _append
from crepebench.captioners import Answer

IDENTITY = {"backend": "openai", "model": "m", "temperature": 0.7}
ANSWER = Answer("a red jar", "stop", "", 40, 3, {"model": "m-1"})
ROUNDS = 40


@pytest.fixture
def store(tmp_path):
    return AnswerStore(str(tmp_path / "store"), IDENTITY)


def again(store):
    """The store as another job sees it."""
    return AnswerStore(str(store.folder.parent), IDENTITY)


def segments(store):
    return sorted(store.folder.glob("*.jsonl"))


def test_answer_is_found_as_it_was_added_by_this_and_other_jobs(store):
    assert store.find(["a"]) == {}
    assert store.add("a", ANSWER) == ANSWER
    bad = Answer("", "length", "cut_off")
    store.add("b", bad)
    for found in (store.find(["a", "b", "c"]), again(store).find(["b", "a"])):
        assert found == {"a": ANSWER, "b": bad}


def test_a_key_keeps_its_first_answer(store):
    other = again(store)
    other.find(["a"])
    store.add("a", ANSWER)
    assert other.add("a", Answer("another", "stop")) == ANSWER
    assert other.find(["a"]) == {"a": ANSWER}
    assert len(segments(store)) == 1


def test_identities_do_not_see_each_other_and_stand_beside_their_answers(store):
    store.add("a", ANSWER)
    assert AnswerStore(str(store.folder.parent), {**IDENTITY, "temperature": 0}).find(["a"]) == {}
    assert json.loads((store.folder / "identity.json").read_text()) == IDENTITY


def test_lines_are_json_without_times(store):
    store.add("a", ANSWER)
    (line,) = segments(store)[0].read_text().splitlines()
    assert json.loads(line).keys() == {
        *("key", "text", "finish_reason", "failure", "n_input_tokens", "n_output_tokens", "details", "digest")
    }


@pytest.mark.parametrize("kept", [1, 30, -1])
def test_torn_last_line_is_ignored_counted_and_written_anew(store, kept, caplog):
    store.add("a", ANSWER)
    store.add("b", ANSWER)
    (path,) = segments(store)
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + second[:kept])
    other = again(store)
    assert other.find(["a", "b"]) == {"a": ANSWER}
    assert other.n_torn() == 1
    assert f"{path}: its last line is torn" in caplog.text
    other.add("b", ANSWER)
    assert len(segments(store)) == 2
    assert again(store).find(["a", "b"]) == {"a": ANSWER, "b": ANSWER}


def test_line_that_a_slow_file_system_shows_in_two_parts_is_read_whole(store):
    store.add("a", ANSWER)
    (path,) = segments(store)
    whole = path.read_bytes()
    path.write_bytes(whole[:50])
    other = again(store)
    assert other.find(["a"]) == {}
    path.write_bytes(whole)
    assert other.find(["a"]) == {"a": ANSWER}


@pytest.mark.parametrize(
    "old, new", [(b"red", b"rid"), (b'"text"', b'"toxt"'), (b"{", b""), (b'{"details"', b'["details"')]
)
def test_damaged_line_is_ignored_and_the_others_stay(store, old, new, caplog):
    store.add("a", ANSWER)
    store.add("b", Answer("a cup", "stop"))
    (path,) = segments(store)
    path.write_bytes(path.read_bytes().replace(old, new, 1))
    assert again(store).find(["a", "b"]) == {"b": Answer("a cup", "stop")}
    assert f"{path}: a line is damaged" in caplog.text


def test_text_of_any_characters_comes_back(store):
    answer = Answer('a \u2028 naïve\n"jar"\r\\ \U0001f600\x00', "stop")
    store.add("a", answer)
    assert again(store).find(["a"]) == {"a": answer}


def test_full_disk_stops_and_leaves_what_is_there(store, monkeypatch):
    store.add("a", ANSWER)

    def fail(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="No space left") as caught:
        store.add("b", ANSWER)
    assert caught.value.filename == str(segments(store)[0])
    monkeypatch.undo()
    assert again(store).find(["a"]) == {"a": ANSWER}


def test_half_an_answer_that_fills_the_disk_is_taken_back(store, monkeypatch):
    class FullDisk(io.FileIO):
        def write(self, line):
            return super().write(line[:10])

    store.add("a", ANSWER)
    (segment,) = segments(store)
    before = segment.read_bytes()
    monkeypatch.setattr(Path, "open", lambda path, mode, buffering=-1: FullDisk(path, mode))
    with pytest.raises(OSError, match="No space left"):
        _append(segment, b"x" * 100)
    assert segment.read_bytes() == before


def add_in_rounds(root, name, barrier):
    logging.disable()
    store = AnswerStore(root, IDENTITY)
    for i in range(ROUNDS):
        barrier.wait()
        assert store.add(f"key {i}", Answer(name, "stop")).text in ("one", "two")


def test_two_processes_that_add_at_once_give_a_key_one_answer(store):
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(2)
    root = str(store.folder.parent)
    writers = [context.Process(target=add_in_rounds, args=(root, name, barrier)) for name in ("one", "two")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(timeout=120)
    assert [writer.exitcode for writer in writers] == [0, 0]
    lines = [json.loads(line) for path in segments(store) for line in path.read_text().splitlines()]
    assert sorted(line["key"] for line in lines) == sorted(f"key {i}" for i in range(ROUNDS))
    assert len(segments(store)) <= 2
