"""A Slurm of one node for tests, runs through profiles/slurm on it, and what it knows of its jobs."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("slurm_cluster.sh")
REQUIRED = "CREPE_REQUIRE_SLURM"
"""Environment variable that makes an error of what is a skip without it: a machine that cannot have the cluster."""
IMPOSSIBLE = 3
"""Exit status of the script for such a machine."""


@contextmanager
def slurm_cluster() -> Iterator[None]:
    """Brings the cluster up, and down again at the end."""
    folder = Path(tempfile.mkdtemp(prefix="crepe-slurm-"))
    folder.chmod(0o755)  # munged wants to be reached by everybody
    done = subprocess.run([SCRIPT, "up", folder], capture_output=True, text=True)
    try:
        if done.returncode == IMPOSSIBLE and not os.environ.get(REQUIRED):
            pytest.skip(done.stderr.strip())
        assert done.returncode == 0, done.stdout + done.stderr
        yield
    finally:
        down = subprocess.run([SCRIPT, "down", folder], capture_output=True, text=True)
        shutil.rmtree(folder)
        assert down.returncode == 0, down.stdout + down.stderr


def start_through_profile(snakefile: Path, folder: Path, profiles: Path, *arguments: str) -> subprocess.Popen:
    """Starts snakemake with the profile `slurm` of a folder of profiles; its output goes to `<folder>.log`.

    The executor asks for its jobs for the first time after 15 seconds: about what a job takes.
    """
    command = [sys.executable, "-m", "snakemake", *arguments, "-s", str(snakefile), "-d", str(folder)]
    command += ["--workflow-profile", str(profiles / "slurm"), "--slurm-init-seconds-before-status-checks", "15"]
    root = profiles.parent
    with open(folder.with_suffix(".log"), "w") as log:
        return subprocess.Popen(
            command, cwd=root, env={**os.environ, "PWD": str(root)}, stdout=log, stderr=subprocess.STDOUT
        )


def end(process: subprocess.Popen) -> None:
    """Ends a process that a failed test has left."""
    if process.poll() is None:
        process.terminate()
        process.wait()


def slurm_jobs(folder: Path, rule: str | None = None) -> list[dict[str, str]]:
    """Facts of the jobs of a run, ended ones too, in the order in which they came, by the names that scontrol uses."""
    shown = subprocess.run(["scontrol", "--oneliner", "show", "jobs"], capture_output=True, text=True, check=True)
    jobs = [dict(re.findall(r"(\S+?)=(\S*)", line)) for line in shown.stdout.splitlines()]
    jobs = [job for job in jobs if job.get("WorkDir") == str(folder)]
    if rule is not None:
        jobs = [job for job in jobs if rule_of(job) == rule]
    return sorted(jobs, key=lambda job: int(job["JobId"]))


def rule_of(job: dict[str, str]) -> str:
    """The rule that a job runs; the executor writes it into the job's comment."""
    return job["Comment"].removeprefix("rule_").partition("_wildcards_")[0]


def submit_again(job: dict[str, str]) -> str:
    """Submits what a job has run once more, with the same script; returns the number of the new job.

    It writes to `late-<number>.log`; the executor has removed the folder of the first one's log. A job does nothing if
    the temporary folder of its run is gone; a run that was killed leaves it, so it is made here.
    """
    script = subprocess.run(
        ["scontrol", "write", "batch_script", job["JobId"], "-"], capture_output=True, text=True, check=True
    ).stdout
    for folder in re.findall(r"[^\s'\"]+/\.snakemake/tmp\.\w+", script):
        Path(folder).mkdir(exist_ok=True)
    command = ["sbatch", "--parsable", "--chdir", job["WorkDir"], "--output", "late-%j.log", "--mem=1000", "--time=10"]
    command += ["--gpus=1"] if "gpu" in job.get("TresPerJob", "") else []
    done = subprocess.run(command, input=script, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def states(job_ids: Sequence[str]) -> set[str]:
    """States of some jobs."""
    shown = subprocess.run(
        ["squeue", "--noheader", "--states=all", "--format=%T", "--jobs", ",".join(job_ids)],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(shown.stdout.split())


def wait_until(holds: Callable[[], bool], what: str, seconds: int = 300) -> None:
    """Waits for a condition; the test fails if it does not come true."""
    end_of_wait = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end_of_wait, f"not within {seconds} s: {what}"
        time.sleep(0.3)
