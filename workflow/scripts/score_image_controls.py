"""Score questions with the controls of a corrected model: crepebench.image_controls.score_image_controls."""

from crepebench.image_controls import score_image_controls
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    score_image_controls(
        items_path=snakemake.input.items_table,
        index_path=snakemake.input.index,
        frozen_index_path=snakemake.input.frozen_index,
        controls_path=snakemake.output.controls,
        changes_path=snakemake.output.changes,
        cfg=snakemake.params.cfg,
        weights_paths=list(snakemake.input.weights),
    )
