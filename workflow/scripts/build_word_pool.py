"""Collect the words of foils: crepebench.word_pool.build_word_pool."""

from crepebench.job import start_log
from crepebench.word_pool import build_word_pool

if __name__ == "__main__":
    start_log(snakemake)
    build_word_pool(
        graphs_paths=list(snakemake.input.graphs),
        objects_path=snakemake.input.objects,
        relationships_path=snakemake.input.relationships,
        pool_path=snakemake.output.pool,
        cfg=snakemake.params.cfg,
    )
