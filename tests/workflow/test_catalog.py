"""The Snakemake workflow catalog looks for workflow/Snakefile: it is the workflow, with its profiles and scripts."""

import re
import subprocess
import sys

import pytest
import yaml

from .conftest import ROOT, TINY, assert_ok


def run_from_root(root, *arguments: str) -> subprocess.CompletedProcess:
    """Runs snakemake on workflow/Snakefile in the root of a checkout, with the profile that is found there."""
    command = [sys.executable, "-m", "snakemake", *arguments, "-s", "workflow/Snakefile"]
    return subprocess.run(command, capture_output=True, text=True, cwd=root)


def test_a_finished_run_is_finished_for_both_snakefiles(tiny_run, checkout):
    arguments = ("-d", str(tiny_run), "--configfile", str(TINY), "-n", "--quiet", "rules")
    done = run_from_root(checkout, *arguments, "--forcerun", "plot_accounting")
    assert_ok(done)
    said = done.stdout + done.stderr
    assert "profile profiles/default" in said
    jobs = set(re.findall(r"^ ?([a-z][a-z ]*?) +1 *$", said, flags=re.MULTILINE))
    assert jobs == {"plot accounting", "write run record", "all"}, said


def test_scripts_are_found(checkout, tmp_path):
    assert_ok(run_from_root(checkout, "results/wordnet", "-d", str(tmp_path), "--cores", "1"))


@pytest.mark.slow
def test_lint_has_no_complaint(checkout):
    assert_ok(run_from_root(checkout, "--lint"))


def test_the_catalog_is_told_how_the_workflow_is_used():
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text(encoding="utf-8"))["usage"]
    assert "workflow" in (ROOT / "README.md").read_text(encoding="utf-8").lower()
    assert usage["software-stack-deployment"] == {
        "conda": True,
        "apptainer": False,
        "apptainer+conda": False,
        "report": True,
    }
