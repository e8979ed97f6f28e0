"""Join what text alone can solve: crepebench.audit.tabulate_blind_baselines."""

from crepebench.audit import tabulate_blind_baselines
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    tabulate_blind_baselines(audits_paths=list(snakemake.input.audits), table_path=snakemake.output.table)
