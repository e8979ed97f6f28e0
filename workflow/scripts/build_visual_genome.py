"""Turn Visual Genome's files into tables: crepebench.visual_genome.write_visual_genome."""

from crepebench.job import start_log
from crepebench.visual_genome import write_visual_genome

if __name__ == "__main__":
    start_log(snakemake)
    write_visual_genome(
        annotation_paths=list(snakemake.input.annotations),
        alias_paths=list(snakemake.input.aliases),
        image_places=list(snakemake.params.image_places),
        images_path=snakemake.output.images,
        missing_images_path=snakemake.output.missing_images,
        objects_path=snakemake.output.objects,
        relationships_path=snakemake.output.relationships,
        region_descriptions_path=snakemake.output.region_descriptions,
        accounting_path=snakemake.output.accounting,
        cfg=snakemake.params.cfg,
    )
