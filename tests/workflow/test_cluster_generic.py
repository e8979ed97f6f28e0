"""profiles/cluster-generic on made-up schedulers: commands that record how they are called and run a job at once."""

import os
import subprocess
from pathlib import Path

import pytest

from .conftest import ROOT

CLUSTER = ROOT / "profiles" / "cluster-generic" / "cluster.sh"
SUBMITTERS = {
    "lsf": ("bsub", 'bash -s; echo "Job <7> is submitted to queue <normal>."', "bjobs"),
    "sge": ("qsub", 'bash "${@: -1}"; echo 7', "qstat"),
    "pbs": ("qsub", 'bash "${@: -1}"; echo 7.server', "qstat"),
}
"""Of each scheduler: the command that submits, what it does here, the command that knows jobs."""
NUMBERS = {"lsf": "7", "sge": "7", "pbs": "7.server"}
QUEUED = {"lsf": "PEND", "sge": "job_state             1:    r", "pbs": "    job_state = Q"}
GONE = {"lsf": "Job <7> is not found", "sge": "Following jobs do not exist: 7", "pbs": "qstat: Unknown Job Id 7.server"}
ENDED = {"lsf": "EXIT", "sge": "job_state             1:    Eqw", "pbs": "    job_state = F"}
ASKED = {
    "lsf": ["-n 2", "-W 90", "-M 6000MB", "rusage[mem=6000MB]", "-gpu num=1"],
    "sge": ["-pe smp 2", "-l h_vmem=3000M", "-l h_rt=5400", "-l gpu=1"],
    "pbs": ["-l select=1:ncpus=2:mem=6000mb:ngpus=1", "-l walltime=1:30:00"],
}


class Scheduler:
    """A made-up scheduler whose commands lie in `folder/bin`."""

    def __init__(self, kind: str, folder: Path):
        self.kind, self.folder = kind, folder
        (folder / "bin").mkdir()
        self.submitter, self.does, self.knower = SUBMITTERS[kind]
        self.says(QUEUED)

    def command(self, name: str, text: str) -> None:
        path = self.folder / "bin" / name
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)

    def says(self, answers: dict[str, str]) -> None:
        """Sets what the scheduler says of every job."""
        self.command(self.knower, f"echo '{answers[self.kind]}'")

    def call(self, *arguments: str) -> str:
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        env = {**os.environ, "PATH": path, "CLUSTER_SCHEDULER": self.kind, "CLUSTER_SECONDS_UNTIL_VISIBLE": "0"}
        done = subprocess.run([CLUSTER, *arguments], cwd=self.folder, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def submit(self, script: str, does: str | None = None) -> str:
        self.command(self.submitter, f'echo "$@" > asked; {self.does if does is None else does}')
        (self.folder / "jobscript").write_text(script)
        return self.call("submit", "score", "2", "6000", "90", "1", str(self.folder / "jobscript")).splitlines()[-1]


@pytest.fixture(params=sorted(SUBMITTERS))
def scheduler(request, tmp_path) -> Scheduler:
    return Scheduler(request.param, tmp_path)


def test_a_job_asks_for_threads_memory_time_and_gpu(scheduler):
    assert scheduler.submit("true") == NUMBERS[scheduler.kind]
    asked = (scheduler.folder / "asked").read_text()
    for part in ASKED[scheduler.kind]:
        assert part in asked


@pytest.mark.parametrize(("script", "status"), [("exit 0", "success"), ("exit 3", "failed")])
def test_a_job_that_has_ended_says_how_itself(scheduler, script, status):
    number = scheduler.submit(script)
    scheduler.says(GONE)
    assert scheduler.call("status", number) == status


def test_a_job_without_a_status_runs_as_long_as_the_scheduler_knows_it_and_was_killed_then(scheduler):
    is_lsf = scheduler.kind == "lsf"
    number = scheduler.submit("true", does=f"echo '{'Job <7> is submitted' if is_lsf else NUMBERS[scheduler.kind]}'")
    assert scheduler.call("status", number) == "running"
    scheduler.says({kind: "cannot connect to the server" for kind in SUBMITTERS})
    assert scheduler.call("status", number) == "running"
    for answers in (ENDED, GONE):
        scheduler.says(answers)
        assert scheduler.call("status", number) == "failed"
