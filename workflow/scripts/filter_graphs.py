"""Keep usable graphs: crepebench.region_parsing.filter_graphs."""

from crepebench.job import start_log
from crepebench.region_parsing import filter_graphs

if __name__ == "__main__":
    start_log(snakemake)
    filter_graphs(
        part_paths=list(snakemake.input.graphs),
        graphs_path=snakemake.output.graphs,
        accounting_path=snakemake.output.accounting,
        cfg=snakemake.params.cfg,
    )
