"""Write a sheet on which people check the parser: crepebench.parser_review.build_parser_review."""

from crepebench.job import start_log
from crepebench.parser_review import build_parser_review

if __name__ == "__main__":
    start_log(snakemake)
    build_parser_review(
        corpus_paths=snakemake.params.corpora,
        sheet_path=snakemake.output.sheet,
        cfg=snakemake.params.cfg,
    )
