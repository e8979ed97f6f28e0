"""Draw what CLIC's trainings learn and gain: crepebench.clic_plots.plot_clic_curves and plot_clic_gains."""

from crepebench.clic_plots import plot_clic_curves, plot_clic_gains
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    plot_clic_curves(
        curve_paths=list(snakemake.input.curves),
        labels=list(snakemake.params.labels),
        plot_path=snakemake.output.curves,
    )
    plot_clic_gains(
        table_path=snakemake.input.table,
        plot_path=snakemake.output.gains,
        cells=list(snakemake.params.cells),
    )
