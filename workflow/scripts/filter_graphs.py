"""Keep usable graphs: crepebench.graphs.filter_graphs."""

from crepebench.graphs import filter_graphs
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    filter_graphs(
        part_paths=list(snakemake.input.graphs),
        graphs_path=snakemake.output.graphs,
        accounting_path=snakemake.output.accounting,
        cfg=snakemake.params.cfg,
    )
