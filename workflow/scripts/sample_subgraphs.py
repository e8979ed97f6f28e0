"""Sample subgraphs: crepebench.subgraph_parts.sample_subgraphs_of_part."""

from crepebench.job import start_log
from crepebench.subgraph_parts import sample_subgraphs_of_part

if __name__ == "__main__":
    start_log(snakemake)
    sample_subgraphs_of_part(
        images_path=snakemake.input.images,
        objects_path=snakemake.input.objects,
        relationships_path=snakemake.input.relationships,
        subgraphs_path=snakemake.output.subgraphs,
        accounting_path=snakemake.output.accounting,
        part=int(snakemake.wildcards.part),
        n_parts=int(snakemake.wildcards.n_parts),
        cfg=snakemake.params.cfg,
    )
