"""Encode the single images of CLIC's plain steps once: crepebench.clic_vision.extract_clic_vision."""

from crepebench.clic_vision import extract_clic_vision
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    extract_clic_vision(
        images_path=snakemake.input.images,
        index_path=snakemake.output.index,
        features_path=snakemake.output.features,
        accounting_path=snakemake.output.accounting,
        weights_paths=list(snakemake.input.weights),
        n_loaders=snakemake.threads,
        cfg=snakemake.params.cfg,
    )
