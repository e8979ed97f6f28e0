"""Draw the sweep over layers: crepebench.correction_plots.plot_sweep."""

from crepebench.correction_plots import plot_sweep
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    plot_sweep(table_path=snakemake.input.table, plot_path=snakemake.output.plot)
