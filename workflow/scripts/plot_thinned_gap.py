"""Draw the gap against the recall of the parser: crepebench.plots.plot_thinned_gap."""

from crepebench.job import start_log
from crepebench.plots import plot_thinned_gap

if __name__ == "__main__":
    start_log(snakemake)
    plot_thinned_gap(table_path=snakemake.input.table, plot_path=snakemake.output.plot)
