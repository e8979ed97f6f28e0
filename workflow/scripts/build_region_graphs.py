"""Take the graphs of regions from Visual Genome's annotations: crepebench.region_graphs.build_region_graphs."""

from crepebench.job import start_log
from crepebench.region_graphs import build_region_graphs

if __name__ == "__main__":
    start_log(snakemake)
    build_region_graphs(
        regions_path=snakemake.input.regions,
        objects_path=snakemake.input.objects,
        relationships_path=snakemake.input.relationships,
        region_graph_paths=list(snakemake.input.region_graphs),
        graphs_path=snakemake.output.graphs,
        accounting_path=snakemake.output.accounting,
    )
