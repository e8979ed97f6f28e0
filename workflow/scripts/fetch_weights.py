"""Fetch the weights of a model: crepebench.weights.fetch_weights."""

from crepebench.job import start_log
from crepebench.weights import fetch_weights

if __name__ == "__main__":
    start_log(snakemake)
    fetch_weights(
        table_path=snakemake.input.table,
        index_path=snakemake.output.index,
        cfg=snakemake.params.cfg,
    )
