"""Turn released files into retrieval sets: crepebench.released_sets.build_released_sets."""

from crepebench.job import start_log
from crepebench.released_sets import build_released_sets

if __name__ == "__main__":
    start_log(snakemake)
    build_released_sets(
        released_paths=list(snakemake.input.released),
        images_path=snakemake.input.images,
        sets_path=snakemake.output.sets,
        accounting_path=snakemake.output.accounting,
        family=snakemake.wildcards.family,
        part=int(snakemake.wildcards.part),
        n_parts=int(snakemake.wildcards.n_parts),
    )
