"""Tabulate what people found on the review page: crepebench.review_tables.tabulate_human_review."""

from crepebench.job import start_log
from crepebench.review_tables import tabulate_human_review

if __name__ == "__main__":
    start_log(snakemake)
    tabulate_human_review(
        sample_path=snakemake.input.sample,
        answers_paths=list(snakemake.input.answers),
        checks_path=snakemake.input.checks,
        table_path=snakemake.output.table,
        disagreements_path=snakemake.output.disagreements,
        exclusions_path=snakemake.output.exclusions,
    )
