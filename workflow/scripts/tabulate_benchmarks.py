"""Tabulate the results on benchmarks: crepebench.benchmark_tables.tabulate_benchmarks."""

from crepebench.benchmark_tables import tabulate_benchmarks
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    tabulate_benchmarks(
        items_paths=list(snakemake.input.items_table),
        scores_paths=list(snakemake.input.scores),
        blind_paths=list(snakemake.input.blind),
        manifests_paths=list(snakemake.input.manifests),
        published_paths=list(snakemake.input.published),
        table_path=snakemake.output.table,
        cfg=snakemake.params.cfg,
    )
