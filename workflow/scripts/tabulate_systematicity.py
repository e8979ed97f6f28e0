"""Write the systematicity tables: crepebench.systematicity_tables.tabulate_systematicity."""

from crepebench.job import start_log
from crepebench.systematicity_tables import tabulate_systematicity

if __name__ == "__main__":
    start_log(snakemake)
    tabulate_systematicity(
        sets_paths=list(snakemake.input.sets),
        scores_paths=list(snakemake.input.scores),
        splits_paths=list(snakemake.input.splits),
        blind_path=snakemake.input.blind,
        table_path=snakemake.output.table,
        gap_path=snakemake.output.gap,
        gap_seeds_path=snakemake.output.gap_seeds,
        by_kind_path=snakemake.output.by_kind,
        cfg=snakemake.params.cfg,
    )
