"""Draw what every stage kept and dropped: crepebench.plots.plot_accounting."""

from crepebench.job import start_log
from crepebench.plots import plot_accounting

if __name__ == "__main__":
    start_log(snakemake)
    plot_accounting(table_path=snakemake.input.table, plot_path=snakemake.output.plot)
