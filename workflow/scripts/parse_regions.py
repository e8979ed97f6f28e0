"""Parse regions into scene graphs: crepebench.region_parsing.parse_regions."""

from crepebench.job import start_log
from crepebench.region_parsing import parse_regions

if __name__ == "__main__":
    start_log(snakemake)
    parse_regions(
        regions_path=snakemake.input.regions,
        graphs_path=snakemake.output.graphs,
        part=int(snakemake.wildcards.part),
        n_parts=int(snakemake.wildcards.n_parts),
        cfg=snakemake.params.cfg,
    )
