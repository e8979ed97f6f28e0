"""Keep some subgraphs of each complexity: crepebench.subgraph_parts.filter_subgraphs."""

from crepebench.job import start_log
from crepebench.subgraph_parts import filter_subgraphs

if __name__ == "__main__":
    start_log(snakemake)
    filter_subgraphs(
        part_paths=list(snakemake.input.parts),
        subgraphs_path=snakemake.output.subgraphs,
        accounting_path=snakemake.output.accounting,
        cfg=snakemake.params.cfg,
    )
