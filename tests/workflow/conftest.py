import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TINY = ROOT / "tests" / "data" / "tiny.yaml"


def run_snakemake(folder: Path, *arguments: str, overlay: Path | None = TINY, env: dict | None = None):
    """Runs snakemake in `folder` on this repository's Snakefile and returns the finished process."""
    command = [sys.executable, "-m", "snakemake", "-s", str(ROOT / "Snakefile"), "-d", str(folder), *arguments]
    if overlay is not None:
        command += ["--configfile", str(overlay)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env={**os.environ, **(env or {})})


def assert_ok(done: subprocess.CompletedProcess) -> None:
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory) -> Path:
    """Folder of a finished run of tests/data/tiny.yaml on two cores, every table and picture made."""
    folder = tmp_path_factory.mktemp("tiny")
    assert_ok(run_snakemake(folder, "--cores", "2"))
    return folder
