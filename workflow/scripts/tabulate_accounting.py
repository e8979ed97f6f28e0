"""Join the counts of all stages: crepebench.accounting_tables.tabulate_accounting."""

from crepebench.accounting_tables import tabulate_accounting
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    tabulate_accounting(
        accounting_paths=list(snakemake.input.accounting),
        table_path=snakemake.output.table,
    )
