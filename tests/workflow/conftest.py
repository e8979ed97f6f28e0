import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TINY = ROOT / "tests" / "data" / "tiny.yaml"


def run_snakemake(
    folder: Path, *arguments: str, overlay: Path | None = TINY, env: dict | None = None, root: Path = ROOT
):
    """Runs snakemake in `folder` on the Snakefile of `root`, with plain lines, and returns the finished process.

    Targets among the arguments must come before options that take several values.
    """
    command = [sys.executable, "-m", "snakemake", *arguments, "-s", str(root / "Snakefile"), "-d", str(folder)]
    command += ["--workflow-profile", str(root / "profiles" / "plain")]
    if overlay is not None:
        command += ["--configfile", str(overlay)]
    return subprocess.run(command, capture_output=True, text=True, cwd=root, env={**os.environ, **(env or {})})


def assert_ok(done: subprocess.CompletedProcess) -> None:
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]


def assert_nothing_to_do(done: subprocess.CompletedProcess) -> None:
    assert_ok(done)
    assert "Nothing to be done" in done.stdout + done.stderr, done.stdout[-3000:]


@pytest.fixture(scope="session")
def checkout(tmp_path_factory) -> Path:
    """A copy of the repository's files, which tests may edit if they restore them."""
    folder = tmp_path_factory.mktemp("checkout")
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in listed.stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory, checkout) -> Path:
    """Folder of a finished run of tests/data/tiny.yaml by the checkout, on two cores; tests leave it as it is."""
    folder = tmp_path_factory.mktemp("tiny")
    assert_ok(run_snakemake(folder, "--cores", "2", root=checkout, env={"PYTHONHASHSEED": "1"}))
    return folder


@contextmanager
def edited(path: Path, old: str, new: str) -> Iterator[None]:
    """Replaces text in a file, once, and restores the file afterwards."""
    text = path.read_text(encoding="utf-8")
    assert text.count(old) >= 1, f"{path} does not hold {old!r}"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(text, encoding="utf-8")
