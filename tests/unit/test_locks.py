import fcntl
import logging
import os
import threading

from filelock import FileLock

from crepebench import locks
from crepebench.locks import held


def test_a_job_that_waits_for_long_says_for_what_and_goes_on(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(locks, "SECONDS", 0.1)
    other = os.open(tmp_path / "store.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(other, fcntl.LOCK_EX)
    threading.Timer(0.5, os.close, [other]).start()
    with caplog.at_level(logging.WARNING), held(FileLock(tmp_path / "store.lock")):
        pass
    assert f"waiting for {tmp_path / 'store.lock'}, which another job has held" in caplog.text


def test_a_free_lock_is_held_without_a_word_also_when_nested(tmp_path, caplog):
    lock = FileLock(tmp_path / "store.lock")
    with held(lock), held(lock):
        assert lock.is_locked
    assert not lock.is_locked
    assert caplog.text == ""
