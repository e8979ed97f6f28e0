"""Encode texts and crops: crepebench.features.extract_features."""

from crepebench.features import extract_features
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    extract_features(
        sets_paths=list(snakemake.input.sets),
        images_path=snakemake.input.images,
        image_places=list(snakemake.params.image_places),
        index_path=snakemake.output.index,
        accounting_path=snakemake.output.accounting,
        weights_paths=list(snakemake.input.weights),
        model=snakemake.wildcards.model,
        family=snakemake.wildcards.family,
        cfg=snakemake.params.cfg,
        n_loaders=snakemake.threads,
    )
