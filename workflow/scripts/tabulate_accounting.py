"""Join the counts of all stages: crepebench.tables.tabulate_accounting."""

from crepebench.job import start_log
from crepebench.tables import tabulate_accounting

if __name__ == "__main__":
    start_log(snakemake)
    tabulate_accounting(
        accounting_paths=list(snakemake.input.accounting),
        table_path=snakemake.output.table,
    )
