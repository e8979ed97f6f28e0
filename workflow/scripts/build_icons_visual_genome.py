"""Draw the miniature Visual Genome: icons_world.visual_genome.write_visual_genome."""

from crepebench.job import start_log
from icons_world.visual_genome import write_visual_genome

if __name__ == "__main__":
    start_log(snakemake)
    write_visual_genome(
        world_path=snakemake.input.world,
        output_path=snakemake.params.folder,
        cfg=snakemake.params.cfg,
    )
