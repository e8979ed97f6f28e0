"""Write the productivity tables: crepebench.productivity_tables.tabulate_productivity."""

from crepebench.job import start_log
from crepebench.productivity_tables import tabulate_productivity

if __name__ == "__main__":
    start_log(snakemake)
    tabulate_productivity(
        sets_paths=list(snakemake.input.sets),
        scores_paths=list(snakemake.input.scores),
        blind_path=snakemake.input.blind,
        table_path=snakemake.output.table,
        by_kind_path=snakemake.output.by_kind,
        cfg=snakemake.params.cfg,
    )
