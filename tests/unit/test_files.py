import errno
import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from crepebench.files import atomic_path, remove_leftovers

SCRIPTS = Path(__file__).resolve().parents[2] / "workflow" / "scripts"
WRITER = """
import sys
from crepebench.files import atomic_path
with atomic_path(sys.argv[1]) as partial:
    open(partial, "w").write(sys.argv[2])
    print(partial, flush=True)
    sys.stdin.readline()
"""


class Writer:
    """Another process that has written half a file and waits."""

    def __init__(self, target: Path, text: str = "half"):
        self._process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(target), text],
            env={**os.environ, "PYTHONPATH": str(SCRIPTS)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.partial = Path(self._process.stdout.readline().strip())

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.communicate()

    def finish(self) -> int:
        self._process.communicate("\n")
        return self._process.returncode


def test_file_appears_only_when_it_is_whole(tmp_path):
    target = tmp_path / "table.csv"
    with atomic_path(str(target)) as partial:
        Path(partial).write_text("half")
        assert not target.exists()
        Path(partial).write_text("whole")
    assert target.read_text() == "whole"


def test_failure_keeps_the_old_file_and_leaves_no_other(tmp_path):
    target = tmp_path / "table.csv"
    target.write_text("old")
    with pytest.raises(KeyError, match="record 7"), atomic_path(str(target)) as partial:
        Path(partial).write_text("half")
        raise KeyError("record 7")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("name", ["table.csv", "plot.png", "images.zip"])
def test_temporary_name_keeps_suffix_and_folder(tmp_path, name):
    with atomic_path(str(tmp_path / name)) as partial:
        Path(partial).write_text("")
        assert Path(partial).suffix == Path(name).suffix
        assert Path(partial).parent == tmp_path


def test_missing_folders_are_made(tmp_path):
    target = tmp_path / "a" / "b" / "table.csv"
    with atomic_path(str(target)) as partial:
        Path(partial).write_text("whole")
    assert target.read_text() == "whole"


def test_what_a_killed_writer_left_is_removed_by_the_next_writer_of_the_file(tmp_path):
    target = tmp_path / "table.csv"
    writer = Writer(target)
    writer.kill()
    assert list(tmp_path.iterdir()) == [writer.partial]
    with atomic_path(str(target)) as partial:
        assert not writer.partial.exists()
        Path(partial).write_text("whole")
    assert list(tmp_path.iterdir()) == [target]


def test_two_writers_of_a_file_do_not_disturb_each_other(tmp_path):
    target = tmp_path / "table.csv"
    late = Writer(target, "late")
    with atomic_path(str(target)) as partial:
        Path(partial).write_text("whole")
    assert late.partial.exists()
    assert target.read_text() == "whole"
    assert late.finish() == 0
    assert target.read_text() == "late"
    assert list(tmp_path.iterdir()) == [target]


def test_leftovers_of_other_files_stay(tmp_path):
    (tmp_path / ".other.1.partial.csv").write_text("half")
    with atomic_path(str(tmp_path / "table.csv")) as partial:
        Path(partial).write_text("whole")
    assert (tmp_path / ".other.1.partial.csv").exists()


def test_names_with_special_characters_are_no_patterns(tmp_path):
    (tmp_path / ".t.1.partial.csv").write_text("half")
    with atomic_path(str(tmp_path / "[t].csv")) as partial:
        Path(partial).write_text("whole")
    assert (tmp_path / ".t.1.partial.csv").exists()


def test_nothing_is_removed_where_the_file_system_knows_no_locks(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(fcntl, "flock", refuse)
    leftover = tmp_path / ".table.1.partial.csv"
    leftover.write_text("half")
    assert remove_leftovers(tmp_path, ".*.partial.csv") == []
    with atomic_path(str(tmp_path / "table.csv")) as partial:
        Path(partial).write_text("whole")
    assert sorted(tmp_path.iterdir()) == [leftover, tmp_path / "table.csv"]


def test_a_file_that_was_taken_for_a_leftover_before_it_was_locked_is_made_again(tmp_path, monkeypatch):
    lock, others = fcntl.flock, []

    def remove_first(descriptor, operation):
        if not others:
            others.extend(tmp_path.iterdir())
            others[0].unlink()
        lock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", remove_first)
    with atomic_path(str(tmp_path / "table.csv")) as partial:
        assert others == [Path(partial)]
        assert remove_leftovers(tmp_path, ".*.partial.csv") == []
        Path(partial).write_text("whole")
    assert (tmp_path / "table.csv").read_text() == "whole"


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_reported_with_the_name_of_the_file(tmp_path, code):
    target = tmp_path / "table.csv"
    with pytest.raises(OSError, match=os.strerror(code)) as caught, atomic_path(str(target)):
        raise OSError(code, "Error writing bytes to file")  # as pyarrow has it
    assert caught.value.filename == str(target)
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_another_file_keeps_its_name(tmp_path):
    with pytest.raises(FileNotFoundError) as caught, atomic_path(str(tmp_path / "table.csv")):
        (tmp_path / "input.csv").read_text()
    assert caught.value.filename == str(tmp_path / "input.csv")


def test_other_errors_say_what_was_being_written(tmp_path):
    with pytest.raises(KeyError) as caught, atomic_path(str(tmp_path / "table.csv")):
        raise KeyError("record 7")
    assert caught.value.__notes__ == [f"while {tmp_path / 'table.csv'} was being written"]


def test_a_folder_that_cannot_be_written_is_reported_with_the_name_of_the_file(tmp_path):
    (tmp_path / "table.csv").mkdir()
    with pytest.raises(IsADirectoryError) as caught, atomic_path(str(tmp_path / "table.csv")) as partial:
        Path(partial).write_text("whole")
    assert caught.value.filename == str(tmp_path / "table.csv")
    assert list(tmp_path.iterdir()) == [tmp_path / "table.csv"]


def test_permissions_are_those_of_any_new_file(tmp_path):
    (tmp_path / "plain").touch()
    with atomic_path(str(tmp_path / "table.csv")):
        pass
    assert (tmp_path / "table.csv").stat().st_mode == (tmp_path / "plain").stat().st_mode
