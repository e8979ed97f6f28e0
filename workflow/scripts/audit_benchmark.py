"""Answer a benchmark without its pictures: crepebench.benchmark_blind.audit_benchmark."""

from crepebench.benchmark_blind import audit_benchmark
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    audit_benchmark(
        items_path=snakemake.input.items_table,
        blind_path=snakemake.output.blind,
        accounting_path=snakemake.output.accounting,
        benchmark=snakemake.wildcards.benchmark,
        cfg=snakemake.params.cfg,
    )
