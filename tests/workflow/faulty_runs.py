"""Runs of Snakemake that are killed, hung, starved or alone with a full disk, and what has to hold afterwards."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pyarrow.parquet as pq
import pytest

from crepebench.feature_store import SHARD_FILES, read_shard

from .conftest import ROOT, TINY

FAULTS = Path(__file__).parent / "faults"
PATIENCE = 600
"""Seconds to wait for something that a run should do."""


class Background:
    """A run in a process group of its own, whose lines go to a file beside its folder."""

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        root: Path = ROOT,
        overlay: Path = TINY,
        env: dict | None = None,
        prefix: tuple[str, ...] = (),
    ):
        self.log = folder.with_name(f"{folder.name}.{uuid4().hex[:8]}.log")
        command = [*prefix, sys.executable, "-m", "snakemake", *arguments]
        command += ["-s", str(root / "Snakefile"), "-d", str(folder)]
        command += ["--workflow-profile", str(root / "profiles" / "plain"), "--configfile", str(overlay)]
        with self.log.open("w") as stream:
            self.process = subprocess.Popen(
                command,
                stdout=stream,
                stderr=subprocess.STDOUT,
                cwd=root,
                env={**os.environ, **(env or {})},
                start_new_session=True,
            )

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")

    def n_finished(self) -> int:
        """Number of jobs that are done."""
        return len(re.findall("^Finished jobid: ", self.said(), re.MULTILINE))

    def is_running(self) -> bool:
        return self.process.poll() is None

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Waits until something holds; fails if the run ends before."""
        wait_for(lambda: condition() or not self.is_running())
        assert condition(), self.said()[-3000:]

    def kill_all(self) -> None:
        """Ends the run and all its jobs, as a power cut does."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        wait_for(lambda: not self.has_jobs())

    def kill_main(self) -> None:
        """Ends Snakemake alone; its jobs live on."""
        self.process.kill()
        self.process.wait()

    def has_jobs(self) -> bool:
        """Says whether a process of the run lives."""
        try:
            os.killpg(self.process.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def end(self) -> int:
        """Waits for the end of the run; returns its exit status."""
        return self.process.wait(timeout=PATIENCE)


@contextmanager
def background(folder: Path, *arguments: str, **options) -> Iterator[Background]:
    """A run in the background, of which nothing is left afterwards."""
    run = Background(folder, *arguments, **options)
    try:
        yield run
    finally:
        if run.has_jobs():
            run.kill_all()


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"nothing happened in {PATIENCE} s"
        time.sleep(0.02)


def with_faults(*faults: str, release: Path | None = None) -> dict[str, str]:
    """Environment in which jobs fail while they write some files; see faults/sitecustomize.py."""
    return {"PYTHONPATH": str(FAULTS), "CREPE_FAULTS": "\n".join(faults), "CREPE_RELEASE": str(release or "")}


def partial_files(*folders: Path) -> list[Path]:
    """Temporary files of jobs under some folders; Snakemake's own folder is not looked at."""
    found = [path for folder in folders for path in folder.rglob(".*") if ".snakemake" not in path.parts]
    return sorted(path for path in found if path.is_file() and path.name != ".snakemake_timestamp")


def check_whole(*folders: Path) -> None:
    """Reads every Parquet file, and compares every shard of the stores with its name."""
    for path in (path for folder in folders for path in folder.rglob("*.parquet") if not path.name.startswith(".")):
        pq.ParquetFile(path).close()
        if path.match(SHARD_FILES):
            read_shard(path)


def check_settled(folder: Path) -> None:
    """Checks that nothing is left of what was broken off: temporary files, locks, outputs marked as incomplete."""
    assert partial_files(folder) == []
    for name in ("locks", "incomplete"):
        assert list((folder / ".snakemake").glob(f"{name}/*")) == []
    check_whole(folder)


def tables_of(folder: Path) -> dict[str, bytes]:
    """Contents of all tables by name."""
    return {path.name: path.read_bytes() for path in (folder / "results" / "tables").glob("*.csv")}


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    """A file system of a given size at a folder; needs root. Skips the test where none can be mounted."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], check=True, capture_output=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no file system can be mounted here ({getattr(error, 'stderr', b'') or error})")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def remount(folder: Path, options: str) -> None:
    """Changes the options of a mounted file system."""
    subprocess.run(["mount", "-o", f"remount,{options}", str(folder)], check=True)


def without_privileges() -> tuple[str, ...]:
    """Prefix of a command in which permission bits count for root, too. Skips the test where there is none."""
    if os.geteuid() != 0:
        return ()
    prefix = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
    try:
        subprocess.run([*prefix, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"permission bits do not count for root here ({error})")
    return prefix
