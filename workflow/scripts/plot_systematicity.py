"""Draw the systematicity plot: crepebench.plots.plot_systematicity."""

from crepebench.job import start_log
from crepebench.plots import plot_systematicity

if __name__ == "__main__":
    start_log(snakemake)
    plot_systematicity(table_path=snakemake.input.table, plot_path=snakemake.output.plot)
