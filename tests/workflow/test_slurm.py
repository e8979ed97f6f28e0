"""profiles/slurm on a true Slurm of one node, which the tests bring up themselves (slurm_cluster.sh).

A Slurm job starts snakemake twice before its script, so these tests run few jobs, all at the same time.
"""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from .conftest import ROOT, TINY
from .slurm import end, rule_of, slurm_cluster, slurm_jobs, start_through_profile, states, submit_again, wait_until
from .test_tiny_run import TABLES

MODEL = "mini_clip_cc12m"
FEATURES = f"results/features/{MODEL}/systematicity"
SCORES = f"results/scores/{MODEL}/systematicity.parquet"
LOCAL_TABLE = "results/tables/blind_baselines.csv"
CREPE_FILES = """
    visual_genome/image_data.json.zip visual_genome/objects_v1_2.json.zip visual_genome/attributes.json.zip
    visual_genome/relationships_v1_2.json.zip visual_genome/region_descriptions.json.zip
    visual_genome/images.zip visual_genome/images2.zip cc12m/cc12m.tsv laion400m/part-00000.parquet
    yfcc100m/yfcc100m_dataset-0.bz2 yfcc100m/yfcc100m_subset_data.tsv.bz2
""".split()
RETRIED_RULES = """
rule all:
    input: "too_small.txt", "cancelled.txt"

rule too_small:
    output: "too_small.txt"
    shell:
        '''
        echo half > {output}
        memory=$(scontrol show job $SLURM_JOB_ID | sed -n "s/^ *TRES=.*mem=\\\\([0-9]*\\\\)M.*/\\\\1/p")
        [ $memory -ge 5000 ]
        echo whole > {output}
        '''

rule cancelled:
    output: "cancelled.txt"
    shell:
        '''
        if [ ! -e started ]; then echo half > {output}; touch started; sleep 600; fi
        echo whole > {output}
        '''
"""
"""Rules that fail at their first attempt, with the profile's own memory and time."""


@pytest.fixture(scope="module")
def cluster():
    with slurm_cluster():
        yield


@pytest.fixture(scope="module")
def runs(cluster, tiny_run, checkout, tmp_path_factory) -> SimpleNamespace:
    """A slice of the tiny run again and the rules that are retried, both through the profile, at the same time."""
    folder = tmp_path_factory.mktemp("slurm")
    run = Path(shutil.copytree(tiny_run, folder / "slice"))
    for path in (f"{FEATURES}.parquet", SCORES, LOCAL_TABLE):
        (run / path).unlink()
    retried = folder / "retried"
    retried.mkdir()
    (folder / "Snakefile").write_text(RETRIED_RULES)
    profiles = checkout / "profiles"
    started = [
        start_through_profile(
            checkout / "Snakefile", run, profiles, SCORES, LOCAL_TABLE, "--configfile", str(TINY), "--notemp"
        ),
        start_through_profile(folder / "Snakefile", retried, profiles),
    ]
    try:
        wait_until((retried / "started").exists, "the job that is to be cancelled runs")
        (job,) = slurm_jobs(retried, "cancelled")
        subprocess.run(["scancel", job["JobId"]], check=True)
        for process, name in zip(started, (run, retried), strict=True):
            assert process.wait(timeout=600) == 0, name.with_suffix(".log").read_text()[-6000:]
    finally:
        for process in started:
            end(process)
    return SimpleNamespace(slice=run, retried=retried)


def test_a_rule_with_a_gpu_asks_slurm_for_one_and_others_do_not(runs):
    (features,) = slurm_jobs(runs.slice, "extract_features")
    (scores,) = slurm_jobs(runs.slice, "score_retrieval_sets")
    assert (features["TresPerJob"], features["Partition"]) == ("gres:gpu:1", "gpu")
    assert "TresPerJob" not in scores
    assert scores["Partition"] == "main"


def test_a_rule_asks_for_its_own_memory_and_time(runs):
    (features,) = slurm_jobs(runs.slice, "extract_features")
    assert (features["MinMemoryNode"], features["TimeLimit"]) == ("8000M", "04:00:00")


def test_small_rules_run_where_snakemake_runs(runs):
    assert (runs.slice / LOCAL_TABLE).is_file()
    assert Counter(map(rule_of, slurm_jobs(runs.slice))) == {"extract_features": 1, "score_retrieval_sets": 1}


def test_results_of_a_cluster_are_those_of_one_machine(runs, tiny_run):
    for path in (f"{FEATURES}.parquet", SCORES, LOCAL_TABLE):
        assert (runs.slice / path).read_bytes() == (tiny_run / path).read_bytes(), path


def test_a_cancelled_job_runs_again_and_its_half_output_counts_for_nothing(runs):
    assert [job["JobState"] for job in slurm_jobs(runs.retried, "cancelled")] == ["CANCELLED", "COMPLETED"]
    assert (runs.retried / "cancelled.txt").read_text() == "whole\n"


def test_a_job_whose_allocation_is_too_small_runs_again_in_one_of_twice_the_memory_and_time(runs):
    first, second = slurm_jobs(runs.retried, "too_small")
    assert (first["JobState"], first["MinMemoryNode"], first["TimeLimit"]) == ("FAILED", "4000M", "02:00:00")
    assert (second["JobState"], second["MinMemoryNode"], second["TimeLimit"]) == ("COMPLETED", "8000M", "04:00:00")
    assert (runs.retried / "too_small.txt").read_text() == "whole\n"


def test_duplicated_and_late_jobs_leave_the_output_as_it_was(runs):
    (job,) = slurm_jobs(runs.slice, "score_retrieval_sets")
    scores = runs.slice / SCORES
    whole = scores.read_bytes()
    late = [submit_again(job) for _ in range(2)]
    seen = set()

    def have_ended() -> bool:
        try:
            seen.add(scores.read_bytes())
        except FileNotFoundError:  # a job removes the output that it makes anew
            seen.add(None)
        return not states(late) & {"PENDING", "CONFIGURING", "RUNNING", "COMPLETING"}

    wait_until(have_ended, "both jobs have ended")
    assert states(late) == {"COMPLETED"}
    for number in late:
        assert "Finished jobid" in (runs.slice / f"late-{number}.log").read_text()
    assert seen <= {whole, None}
    assert scores.read_bytes() == whole
    assert not list(scores.parent.glob(".*.partial*"))


@pytest.mark.slow
def test_the_whole_tiny_run_through_slurm_gives_the_same_tables(cluster, tiny_run, checkout, tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    process = start_through_profile(
        checkout / "Snakefile", run, checkout / "profiles", "all", "--configfile", str(TINY)
    )
    try:
        assert process.wait(timeout=3600) == 0, run.with_suffix(".log").read_text()[-6000:]
    finally:
        end(process)
    for name in TABLES:
        path = Path("results", "tables", name)
        assert (run / path).read_bytes() == (tiny_run / path).read_bytes(), name
    assert {job["JobState"] for job in slurm_jobs(run)} == {"COMPLETED"}


@pytest.fixture(scope="module")
def planned(tmp_path_factory) -> dict[int, list[dict]]:
    """Jobs of the full run as profiles/slurm would submit them, by attempt."""
    folder = tmp_path_factory.mktemp("planned")
    for name in CREPE_FILES:
        (folder / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "data" / name).touch()
    command = [
        sys.executable,
        str(Path(__file__).with_name("list_jobs.py")),
        "--dry-run",
        "-s",
        str(ROOT / "Snakefile"),
    ]
    command += ["-d", str(folder), "--configfile", str(ROOT / "config" / "crepe.yaml"), "--nolock"]
    command += ["--workflow-profile", str(ROOT / "profiles" / "slurm")]
    started = {
        attempt: subprocess.Popen(
            [*command, "--attempt", str(attempt)],
            cwd=ROOT,
            env={**os.environ, "PWD": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for attempt in (1, 2)
    }
    texts = {attempt: process.communicate()[0] for attempt, process in started.items()}
    return {
        attempt: [json.loads(line) for line in text.splitlines() if line.startswith('{"rule"')]
        for attempt, text in texts.items()
    }


def test_every_job_has_memory_and_time_and_twice_as_much_at_its_second_attempt(planned):
    def needs(attempt: int) -> dict[str, tuple]:
        return {job["rule"]: (job["mem_mb"], job["runtime"]) for job in planned[attempt] if not job["is_local"]}

    first, second = needs(1), needs(2)
    assert len(first) > 25
    assert first["parse_candidates"] == (4000, 240)
    assert second == {rule: (2 * memory, 2 * minutes) for rule, (memory, minutes) in first.items()}


def test_rules_with_a_gpu_are_those_of_neural_models(planned):
    rules = {job["rule"] for job in planned[1] if job.get("gpu")}
    assert rules == {"build_captions", "extract_features", "score_entailment"}


def test_what_needs_the_network_is_no_job_of_the_cluster(planned):
    local = {job["rule"] for job in planned[1] if job["is_local"]}
    assert {"build_wordnet", "fetch_weights", "write_table_formats"} <= local
    assert not local & {"extract_features", "parse_candidates", "tabulate_systematicity"}
