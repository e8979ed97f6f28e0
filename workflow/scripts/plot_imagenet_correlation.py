"""Draw recalls against ImageNet top-1: crepebench.correlation_plots.plot_imagenet_correlation."""

from crepebench.correlation_plots import plot_imagenet_correlation
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    plot_imagenet_correlation(
        systematicity_path=snakemake.input.systematicity,
        productivity_path=snakemake.input.productivity,
        published_path=snakemake.input.published,
        recalls_path=snakemake.input.recalls,
        checkpoints_path=snakemake.input.checkpoints,
        known_path=snakemake.input.known,
        plot_path=snakemake.output.plot,
        cfg=snakemake.params.cfg,
    )
