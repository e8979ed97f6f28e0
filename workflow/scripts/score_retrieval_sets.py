"""Rank the truth in retrieval sets: crepebench.scores.score_retrieval_sets."""

from crepebench.job import start_log
from crepebench.scores import score_retrieval_sets

if __name__ == "__main__":
    start_log(snakemake)
    score_retrieval_sets(
        sets_paths=list(snakemake.input.sets),
        index_path=snakemake.input.index,
        scores_path=snakemake.output.scores,
        accounting_path=snakemake.output.accounting,
        model=snakemake.wildcards.model,
        family=snakemake.wildcards.family,
        cfg=snakemake.params.cfg,
        weights_paths=list(snakemake.input.weights),
    )
