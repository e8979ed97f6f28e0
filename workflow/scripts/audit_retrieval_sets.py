"""Measure what text alone can solve: crepebench.audit.audit_retrieval_sets."""

from crepebench.audit import audit_retrieval_sets
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    audit_retrieval_sets(
        sets_paths=list(snakemake.input.sets),
        splits_paths=list(snakemake.input.splits),
        table_path=snakemake.output.table,
        family=snakemake.wildcards.family,
        cfg=snakemake.params.cfg,
    )
