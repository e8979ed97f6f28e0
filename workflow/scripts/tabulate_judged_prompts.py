"""Tabulate a judge's answers: crepebench.judged_prompts.tabulate_judged_prompts."""

from crepebench.job import start_log
from crepebench.judged_prompts import tabulate_judged_prompts

if __name__ == "__main__":
    start_log(snakemake)
    tabulate_judged_prompts(
        prompts_path=snakemake.input.prompts,
        judgements_path=snakemake.input.judgements,
        table_path=snakemake.output.table,
        accounting_path=snakemake.output.accounting,
        cfg=snakemake.params.cfg,
    )
