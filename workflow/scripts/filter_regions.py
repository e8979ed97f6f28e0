"""Keep the regions that can be test crops: crepebench.regions.write_regions."""

from crepebench.job import start_log
from crepebench.regions import write_regions

if __name__ == "__main__":
    start_log(snakemake)
    write_regions(
        region_descriptions_path=snakemake.input.region_descriptions,
        images_path=snakemake.input.images,
        regions_path=snakemake.output.regions,
        accounting_path=snakemake.output.accounting,
        cfg=snakemake.params.cfg,
    )
