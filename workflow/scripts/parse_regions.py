"""Parse regions into scene graphs: crepebench.graphs.parse_regions."""

from crepebench.graphs import parse_regions
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    parse_regions(
        regions_path=snakemake.input.regions,
        graphs_path=snakemake.output.graphs,
        part=int(snakemake.wildcards.part),
        n_parts=int(snakemake.wildcards.n_parts),
        cfg=snakemake.params.cfg,
    )
