"""Draw the miniature Visual Genome: icons_world.visual_genome.write_visual_genome."""

from crepebench.job import start_log
from icons_world.visual_genome import write_visual_genome

if __name__ == "__main__":
    start_log(snakemake)
    write_visual_genome(
        world_path=snakemake.input.world,
        annotation_paths=list(snakemake.output.annotations),
        image_zip_paths=list(snakemake.output.images),
        cfg=snakemake.params.cfg,
    )
