"""Compare two models set by set: crepebench.model_comparison.tabulate_model_comparison."""

from crepebench.job import start_log
from crepebench.model_comparison import tabulate_model_comparison

if __name__ == "__main__":
    start_log(snakemake)
    tabulate_model_comparison(
        sets_paths={family: list(snakemake.input[family]) for family in ("systematicity", "productivity")},
        one_paths={
            "systematicity": snakemake.input.one_systematicity,
            "productivity": snakemake.input.one_productivity,
        },
        other_paths={
            "systematicity": snakemake.input.other_systematicity,
            "productivity": snakemake.input.other_productivity,
        },
        splits_paths=list(snakemake.input.splits),
        table_path=snakemake.output.table,
        changes_path=snakemake.output.changes,
        one=snakemake.wildcards.one,
        other=snakemake.wildcards.other,
        cfg=snakemake.params.cfg,
    )
