"""Draw the gap between unseen and seen compounds: crepebench.plots.plot_systematicity_gap."""

from crepebench.job import start_log
from crepebench.plots import plot_systematicity_gap

if __name__ == "__main__":
    start_log(snakemake)
    plot_systematicity_gap(table_path=snakemake.input.table, plot_path=snakemake.output.plot)
