"""Draw what a correction changes: crepebench.correction_plots.plot_maps and plot_attention."""

from crepebench.correction_plots import plot_attention, plot_maps
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    plot_maps(points_path=snakemake.input.points, cosines_path=snakemake.input.cosines, plot_path=snakemake.output.maps)
    plot_attention(table_path=snakemake.input.heads, plot_path=snakemake.output.attention)
