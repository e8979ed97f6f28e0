"""Measure the parser on labelled captions: crepebench.parser_quality.tabulate_parser_quality."""

from crepebench.job import start_log
from crepebench.parser_quality import tabulate_parser_quality

if __name__ == "__main__":
    start_log(snakemake)
    tabulate_parser_quality(
        captions_path=snakemake.input.captions,
        sheet_paths=list(snakemake.input.sheets),
        table_path=snakemake.output.table,
        cfg=snakemake.params.cfg,
    )
