"""Correlate recalls with what is known of models: crepebench.correlations.tabulate_imagenet_correlation."""

from crepebench.correlations import tabulate_imagenet_correlation
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    tabulate_imagenet_correlation(
        systematicity_path=snakemake.input.systematicity,
        productivity_path=snakemake.input.productivity,
        published_path=snakemake.input.published,
        recalls_path=snakemake.input.recalls,
        correlations_path=snakemake.input.correlations,
        checkpoints_path=snakemake.input.checkpoints,
        known_path=snakemake.input.known,
        table_path=snakemake.output.table,
        cfg=snakemake.params.cfg,
    )
