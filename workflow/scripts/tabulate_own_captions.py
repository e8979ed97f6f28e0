"""Tabulate the scores of a user's own captions: crepebench.own_tables.tabulate_own_captions."""

from crepebench.job import start_log
from crepebench.own_tables import tabulate_own_captions

if __name__ == "__main__":
    start_log(snakemake)
    tabulate_own_captions(
        sets_paths=list(snakemake.input.sets),
        scores_paths=list(snakemake.input.scores),
        table_path=snakemake.output.table,
        cfg=snakemake.params.cfg,
    )
