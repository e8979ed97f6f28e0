"""Export sets as Parquet with a card: crepebench.export_datasets.write_datasets_folder."""

from crepebench.export_datasets import write_datasets_folder
from crepebench.families import PRODUCTIVITY, SYSTEMATICITY
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    write_datasets_folder(
        sets_paths={
            SYSTEMATICITY: list(snakemake.input.systematicity),
            PRODUCTIVITY: list(snakemake.input.productivity),
        },
        splits_paths=list(snakemake.input.splits),
        folder=snakemake.output.folder,
        cfg=snakemake.params.cfg,
    )
