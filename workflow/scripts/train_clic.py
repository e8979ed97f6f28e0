"""Fine-tune a model by CLIC: crepebench.clic_runs.train_clic."""

from crepebench.clic_runs import train_clic
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    train_clic(
        rows_path=snakemake.input.rows,
        images_path=snakemake.input.images,
        candidates_path=snakemake.input.candidates or None,
        vision_path=snakemake.input.vision or None,
        weights_path=snakemake.output.weights,
        config_path=snakemake.output.config,
        curve_path=snakemake.output.curve,
        accounting_path=snakemake.output.accounting,
        checkpoints_folder=snakemake.params.checkpoints,
        weights_paths=list(snakemake.input.weights),
        seed=int(snakemake.wildcards.seed),
        cfg=snakemake.params.cfg,
    )
