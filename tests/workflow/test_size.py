"""The full run as a whole: its plan, the number of its jobs, and a merge of very many shards on a cluster."""

import os
import re
import subprocess
import sys
from collections import Counter

import polars as pl
import pytest
import yaml

from crepebench.accounting import write_accounting
from crepebench.schema import VOCABULARY, write_table
from crepebench.vocabularies import vocabulary_rows

from .conftest import ROOT, assert_ok, run_snakemake
from .test_dag import ANNOTATIONS, IMAGES

FILES = [f"visual_genome/{name}" for name in (*ANNOTATIONS, *IMAGES)]
FILES += ["cc12m/cc12m.tsv", "yfcc100m/yfcc100m_dataset-0.bz2", "yfcc100m/yfcc100m_subset_data.tsv.bz2"]
FILES += [f"laion400m/part-{part:05d}.parquet" for part in range(32)]
EVERY_CAPTION = {"vocabularies": {"mode": "exhaustive"}, "corpora": {"shards": 6500}}
"""Sizes with which the full run comes near its most jobs."""


@pytest.mark.parametrize("changes", [{}, pytest.param(EVERY_CAPTION, marks=pytest.mark.slow)], ids=["crepe", "most"])
def test_the_full_run_is_planned_on_files_under_their_true_names_in_a_minute_and_two_gigabytes(tmp_path, changes):
    for name in FILES:
        (tmp_path / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "data" / name).touch()
    (tmp_path / "changes.yaml").write_text(yaml.safe_dump(changes), encoding="utf-8")
    command = [sys.executable, "-m", "snakemake", "-n", "--quiet", "rules", "-s", ROOT / "Snakefile", "-d", tmp_path]
    command += ["--configfile", ROOT / "config" / "crepe.yaml", tmp_path / "changes.yaml"]
    with open(tmp_path / "plan.txt", "w+", encoding="utf-8") as file:
        process = subprocess.Popen([*command, "--workflow-profile", ROOT / "profiles" / "plain"], stdout=file)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    plan = (tmp_path / "plan.txt").read_text(encoding="utf-8")
    assert process.returncode == 0, plan[-3000:]
    assert "extract_features" in plan
    assert "train_icons_model" not in plan
    assert "download_file" not in plan
    n_jobs = int(re.search(r"^total +(\d+)$", plan, re.MULTILINE)[1])
    seconds, megabytes = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e3
    print(f"{n_jobs} jobs, {seconds:.1f} s of one processor, {megabytes:.0f} MB")
    assert 500 < n_jobs <= 20_000
    assert (seconds < 60, megabytes < 2_000) == (True, True)


SUBMIT = """#!/bin/sh
for script; do :; done
cp "$script" "{folder}/job_$$.sh"
sh "$script" > "{folder}/job_$$.log" 2>&1
echo $$
"""
"""Stands in for a scheduler: keeps the job's script, and runs it."""


@pytest.mark.parametrize("n_shards", [300, pytest.param(20_000, marks=pytest.mark.slow)])
def test_a_merge_of_very_many_shards_names_none_of_them_to_the_scheduler(tmp_path, n_shards):
    (tmp_path / "mine.csv").write_text("caption\na red jar\n", encoding="utf-8")
    os.utime(tmp_path / "mine.csv", (1e9, 1e9))
    folder = tmp_path / "results" / "vocabularies" / "shards" / "mine"
    folder.mkdir(parents=True)
    counts = Counter({("attribute_object", "", "", "jar", "red"): 2, ("object", "", "", "jar", ""): 3})
    write_table(str(tmp_path / "shard"), VOCABULARY, vocabulary_rows(counts, 5))
    write_accounting(str(tmp_path / "counts"), "vocabularies/mine", {"caption": {"read": 5, "kept": 5}})
    for shard in range(n_shards):
        name = f"part-{shard:05d}-of-{n_shards:05d}"
        os.link(tmp_path / "shard", folder / f"{name}.parquet")
        os.link(tmp_path / "counts", folder / f"{name}.accounting.csv")
    definition = {"source": "files", "format": "csv", "caption": "caption", "files": ["mine.csv"]}
    corpora = {"use": ["mine"], "shards": n_shards, "definitions": {"mine": definition}}
    overlay = tmp_path / "overlay.yaml"
    overlay.write_text(yaml.safe_dump({"corpora": corpora, "evaluation": {"cross_corpus": True}}), encoding="utf-8")
    submit, jobs = tmp_path / "submit.sh", tmp_path / "jobs"
    jobs.mkdir()
    submit.write_text(SUBMIT.format(folder=jobs), encoding="utf-8")

    options = ["--executor", "cluster-generic", "--cluster-generic-submit-cmd", f"sh {submit}", "--jobs", "1"]
    target = "results/vocabularies/mine.parquet"
    done = run_snakemake(tmp_path, target, *options, overlay=overlay)
    assert_ok(done)
    rows = pl.read_parquet(tmp_path / target)
    assert dict(zip(rows["kind"], rows["count"], strict=True)) == {
        "attribute_object": 2 * n_shards,
        "object": 3 * n_shards,
    }
    scripts = [path.read_text(encoding="utf-8") for path in jobs.glob("*.sh")]
    assert len(scripts) == 2, "one job for the record of the corpus, one for the merge"
    assert all("part-" not in script and len(script) < 20_000 for script in scripts)
    assert "parse_corpus" not in done.stdout
