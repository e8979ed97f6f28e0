"""Write what text alone can solve: crepebench.audit.tabulate_blind_baselines."""

from crepebench.audit import tabulate_blind_baselines
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    tabulate_blind_baselines(
        sets_paths=list(snakemake.input.sets),
        splits_paths=list(snakemake.input.splits),
        table_path=snakemake.output.table,
        cfg=snakemake.params.cfg,
    )
