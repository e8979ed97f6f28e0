"""Score the items of a benchmark: crepebench.benchmark_scores.score_benchmark."""

from crepebench.benchmark_scores import score_benchmark
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    score_benchmark(
        items_path=snakemake.input.items_table,
        index_path=snakemake.input.index,
        scores_path=snakemake.output.scores,
        accounting_path=snakemake.output.accounting,
        model=snakemake.wildcards.model,
        benchmark=snakemake.wildcards.benchmark,
        cfg=snakemake.params.cfg,
        weights_paths=list(snakemake.input.weights),
    )
