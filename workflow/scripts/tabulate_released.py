"""Tabulate the scores of released sets with and without artefacts: crepebench.released_tables.tabulate_released."""

from crepebench.families import PRODUCTIVITY, SYSTEMATICITY
from crepebench.job import start_log
from crepebench.released_tables import tabulate_released

if __name__ == "__main__":
    start_log(snakemake)
    tabulate_released(
        sets_paths={
            SYSTEMATICITY: list(snakemake.input.systematicity),
            PRODUCTIVITY: list(snakemake.input.productivity),
        },
        scores_paths={
            SYSTEMATICITY: list(snakemake.input.systematicity_scores),
            PRODUCTIVITY: list(snakemake.input.productivity_scores),
        },
        splits_paths=list(snakemake.input.splits),
        flags_path=snakemake.input.flags,
        table_path=snakemake.output.table,
        cfg=snakemake.params.cfg,
    )
