"""Write raw_retrieval.csv: crepebench.raw_retrieval_tables.tabulate_raw_retrieval."""

from crepebench.job import start_log
from crepebench.raw_retrieval_tables import tabulate_raw_retrieval

if __name__ == "__main__":
    start_log(snakemake)
    tabulate_raw_retrieval(
        systematicity_paths=list(snakemake.input.systematicity),
        productivity_paths=list(snakemake.input.productivity),
        systematicity_index_paths=list(snakemake.input.systematicity_indexes),
        productivity_index_paths=list(snakemake.input.productivity_indexes),
        splits_paths=list(snakemake.input.splits),
        table_path=snakemake.output.table,
        cfg=snakemake.params.cfg,
    )
