from pathlib import Path

import pytest

from crepebench.files import atomic_path


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


def test_two_writers_of_one_file_never_share_a_temporary_one(tmp_path):
    target = tmp_path / "table.csv"
    with atomic_path(str(target)) as early, atomic_path(str(target)) as late:
        Path(early).write_text("whole")
        Path(late).write_text("whole, later")
        assert Path(early).read_text() == "whole"
