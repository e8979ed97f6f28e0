"""Turn a user's own captions into retrieval sets: crepebench.own_sets.build_own_sets."""

from crepebench.job import start_log
from crepebench.own_sets import build_own_sets

if __name__ == "__main__":
    start_log(snakemake)
    build_own_sets(
        table_path=snakemake.input.table,
        known_images_path=snakemake.input.known_images,
        pool_path=snakemake.input.pool,
        tables_paths=list(snakemake.input.tables),
        wordnet_path=snakemake.input.wordnet,
        sets_paths=list(snakemake.output.sets),
        images_path=snakemake.output.images,
        set_aside_path=snakemake.output.set_aside,
        accounting_path=snakemake.output.accounting,
        cfg=snakemake.params.cfg,
    )
