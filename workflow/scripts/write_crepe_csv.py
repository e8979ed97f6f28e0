"""Export sets in the format of CREPE's released files: crepebench.export_csv.write_crepe_csv."""

from crepebench.export_csv import write_crepe_csv
from crepebench.families import PRODUCTIVITY, SYSTEMATICITY
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    write_crepe_csv(
        sets_paths={
            SYSTEMATICITY: list(snakemake.input.systematicity),
            PRODUCTIVITY: list(snakemake.input.productivity),
        },
        subgraphs_paths=list(snakemake.input.subgraphs),
        splits_paths=list(snakemake.input.splits),
        folder=snakemake.output.folder,
        accounting_path=snakemake.output.accounting,
        cfg=snakemake.params.cfg,
    )
