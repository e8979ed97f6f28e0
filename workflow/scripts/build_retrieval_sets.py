"""Write retrieval sets: crepebench.retrieval_sets.build_retrieval_sets."""

from crepebench.job import start_log
from crepebench.retrieval_sets import build_retrieval_sets

if __name__ == "__main__":
    start_log(snakemake)
    build_retrieval_sets(
        candidates_path=snakemake.input.candidates,
        choices_path=snakemake.input.choices,
        sets_path=snakemake.output.sets,
        accounting_path=snakemake.output.accounting,
        family=snakemake.wildcards.family,
    )
