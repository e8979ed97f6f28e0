"""Draw a training corpus of the icons world: icons_world.corpora.write_corpus."""

from crepebench.job import start_log
from icons_world.corpora import write_corpus

if __name__ == "__main__":
    start_log(snakemake)
    write_corpus(
        world_path=snakemake.input.world,
        corpus=snakemake.wildcards.corpus,
        captions_path=snakemake.output.captions,
        images_path=snakemake.output.images,
        truth_path=snakemake.output.truth,
        cfg=snakemake.params.cfg,
    )
