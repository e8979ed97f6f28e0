import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "workflow" / "scripts"
SCRIPT = """
import sys, time
from types import SimpleNamespace
from crepebench.files import atomic_path
from crepebench.job import start_log
start_log(SimpleNamespace(log=[sys.argv[1]]))
with atomic_path(sys.argv[2]) as partial:
    open(partial, "w").write("half")
    print("begun", flush=True)
    {what}
"""


def start(log: Path | str, table: Path, what: str) -> subprocess.Popen:
    """Starts a script that begins a file and then does something else."""
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(what=what), str(log), str(table)],
        env={**os.environ, "PYTHONPATH": str(SCRIPTS)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_uncaught_exceptions_stand_in_the_log_and_only_there(tmp_path):
    process = start(tmp_path / "logs" / "rule.log", tmp_path / "table.csv", "raise ValueError('record 7')")
    _, said = process.communicate()
    assert process.returncode == 1
    assert "CRITICAL crepebench: record 7" in (tmp_path / "logs" / "rule.log").read_text()
    assert said == ""


def test_an_exception_without_a_message_is_named_by_its_kind(tmp_path):
    start(tmp_path / "rule.log", tmp_path / "table.csv", "raise MemoryError").communicate()
    assert "CRITICAL crepebench: MemoryError" in (tmp_path / "rule.log").read_text()


def test_time_limit_of_a_scheduler_is_named_in_the_log_and_leaves_no_partial_file(tmp_path):
    process = start(tmp_path / "rule.log", tmp_path / "table.csv", "time.sleep(60)")
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGTERM)
    process.communicate()
    assert process.returncode == 128 + signal.SIGTERM
    assert "ended by SIGTERM: the time limit of a scheduler, or cancelled" in (tmp_path / "rule.log").read_text()
    assert list(tmp_path.iterdir()) == [tmp_path / "rule.log"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a file that is always full")
def test_what_a_log_on_a_full_disk_cannot_hold_goes_to_the_terminal(tmp_path):
    process = start("/dev/full", tmp_path / "table.csv", "raise OSError(28, 'No space left on device')")
    _, said = process.communicate()
    assert "/dev/full cannot be written ([Errno 28] No space left on device); it should say:" in said
    assert f"the file is not written: '{tmp_path / 'table.csv'}'" in said
