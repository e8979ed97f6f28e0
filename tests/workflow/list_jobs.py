"""Runs snakemake with the given arguments, and prints rule, place and resources of each job as one line of JSON.

Snakemake prints the resources of no job whose rule has a message, and a dry run does not say which rules are local.
"""

import json
import sys

from snakemake import cli, jobs


def print_job(job: jobs.Job, **_) -> None:
    facts = {name: value for name, value in job.resources.items() if isinstance(value, str | int)}
    is_local = job.rule.norun or job.rule.name in job.dag.workflow._localrules
    print(json.dumps({"rule": job.rule.name, "is_local": is_local, **facts}))


if __name__ == "__main__":
    jobs.Job.log_info = print_job
    cli.main(sys.argv[1:])
