"""Decode the images of one part: crepebench.image_checks.validate_images."""

from crepebench.image_checks import validate_images
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    validate_images(
        images_path=snakemake.input.images,
        checks_path=snakemake.output.checks,
        part=int(snakemake.wildcards.part),
        n_parts=int(snakemake.wildcards.n_parts),
    )
