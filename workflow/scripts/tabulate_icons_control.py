"""Compare a mini CLIP with its twin: icons_world.control.tabulate_icons_control."""

from crepebench.job import start_log
from icons_world.control import tabulate_icons_control

if __name__ == "__main__":
    start_log(snakemake)
    tabulate_icons_control(
        sets_paths=list(snakemake.input.sets),
        splits_path=snakemake.input.splits,
        scores_path=snakemake.input.scores,
        twin_scores_path=snakemake.input.twin_scores,
        table_path=snakemake.output.table,
        cfg=snakemake.params.cfg,
    )
