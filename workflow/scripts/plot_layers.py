"""Draw the analysis of text layers: crepebench.negation_plots."""

from crepebench.job import start_log
from crepebench.negation_plots import plot_controls, plot_layer_curves, plot_probe

if __name__ == "__main__":
    start_log(snakemake)
    plot_layer_curves(layers_paths=list(snakemake.input.layers), plot_path=snakemake.output.curves)
    plot_controls(layers_paths=list(snakemake.input.layers), plot_path=snakemake.output.controls)
    plot_probe(
        layers_paths=list(snakemake.input.layers),
        plot_path=snakemake.output.probe,
        published_path=snakemake.input.get("published", ""),
    )
