"""Count pairs, sets and foils beside the paper's: crepebench.dataset_statistics.tabulate_dataset_statistics."""

from crepebench.dataset_statistics import tabulate_dataset_statistics
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    tabulate_dataset_statistics(
        systematicity_paths=list(snakemake.input.systematicity),
        productivity_paths=list(snakemake.input.productivity),
        splits_paths=list(snakemake.input.splits),
        accounting_paths=list(snakemake.input.accounting),
        counts_path=snakemake.input.counts,
        released_path=snakemake.input.released,
        table_path=snakemake.output.table,
        cfg=snakemake.params.cfg,
    )
