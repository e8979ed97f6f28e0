"""Draw learning curves: crepebench.correction_plots.plot_learning_curves."""

from crepebench.correction_plots import plot_learning_curves
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    plot_learning_curves(
        curve_paths=list(snakemake.input.curves),
        labels=list(snakemake.params.labels),
        plot_path=snakemake.output.plot,
    )
