"""Take the splits of the regions from the released files: crepebench.released_splits.build_released_splits."""

from crepebench.job import start_log
from crepebench.released_splits import build_released_splits

if __name__ == "__main__":
    start_log(snakemake)
    build_released_splits(
        released_paths=list(snakemake.input.released),
        splits_path=snakemake.output.splits,
        accounting_path=snakemake.output.accounting,
        corpus=snakemake.wildcards.corpus,
        cfg=snakemake.params.cfg,
    )
