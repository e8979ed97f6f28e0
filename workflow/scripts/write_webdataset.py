"""Export sets with their crops as tar shards: crepebench.export_webdataset.write_webdataset."""

from crepebench.export_webdataset import write_webdataset
from crepebench.families import PRODUCTIVITY, SYSTEMATICITY
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    write_webdataset(
        sets_paths={
            SYSTEMATICITY: list(snakemake.input.systematicity),
            PRODUCTIVITY: list(snakemake.input.productivity),
        },
        images_path=snakemake.input.images,
        splits_paths=list(snakemake.input.splits),
        folder=snakemake.output.folder,
        accounting_path=snakemake.output.accounting,
        cfg=snakemake.params.cfg,
    )
