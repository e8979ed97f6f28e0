"""Read a benchmark and find its pictures: crepebench.benchmark_building.build_benchmark_items."""

from crepebench.benchmark_building import build_benchmark_items
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    build_benchmark_items(
        files_paths=list(snakemake.input.files),
        items_path=snakemake.output.items_table,
        images_path=snakemake.output.images,
        sets_path=snakemake.output.sets,
        missing_path=snakemake.output.missing,
        accounting_path=snakemake.output.accounting,
        frames_path=snakemake.output.frames,
        benchmark=snakemake.wildcards.benchmark,
        cfg=snakemake.params.cfg,
    )
