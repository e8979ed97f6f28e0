"""Train a mini CLIP: icons_world.training.train_mini_clip."""

from crepebench.job import start_log
from icons_world.training import train_mini_clip

if __name__ == "__main__":
    start_log(snakemake)
    train_mini_clip(
        captions_path=snakemake.input.captions,
        images_path=snakemake.input.images,
        config_path=snakemake.output.config,
        weights_path=snakemake.output.weights,
        n_layers=int(snakemake.wildcards.n_layers),
        seed=int(snakemake.wildcards.seed),
        cfg=snakemake.params.cfg,
    )
