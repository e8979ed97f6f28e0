"""Write a tuned model as checkpoints of open_clip and of transformers: crepebench.clic_export.export_clic."""

from crepebench.clic_export import export_clic
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    export_clic(
        folder=snakemake.output.folder,
        weights_paths=list(snakemake.input.weights),
        cfg=snakemake.params.cfg,
    )
