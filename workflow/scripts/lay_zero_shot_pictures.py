"""Lay the pictures of a set of classification: crepebench.zero_shot_sets.lay_pictures."""

from crepebench.job import start_log
from crepebench.zero_shot_sets import lay_pictures

if __name__ == "__main__":
    start_log(snakemake)
    lay_pictures(
        folder=snakemake.input.folder,
        pictures_folder=snakemake.output.pictures,
        list_path=snakemake.output.list,
        cfg=snakemake.params.cfg,
    )
