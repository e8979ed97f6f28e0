"""Draw R@1 by number of atoms: crepebench.productivity_plots.plot_productivity."""

from crepebench.job import start_log
from crepebench.productivity_plots import plot_productivity

if __name__ == "__main__":
    start_log(snakemake)
    plot_productivity(table_path=snakemake.input.table, plot_path=snakemake.output.plot)
