"""Build systematicity sets: crepebench.retrieval_sets.build_retrieval_sets."""

from crepebench.job import start_log
from crepebench.retrieval_sets import build_retrieval_sets

if __name__ == "__main__":
    start_log(snakemake)
    build_retrieval_sets(
        regions_path=snakemake.input.regions,
        graphs_path=snakemake.input.graphs,
        unfiltered_paths=list(snakemake.input.unfiltered),
        objects_path=snakemake.input.objects,
        relationships_path=snakemake.input.relationships,
        attributes_table_path=snakemake.input.attributes_table,
        relations_table_path=snakemake.input.relations_table,
        wordnet_path=snakemake.input.wordnet,
        sets_path=snakemake.output.sets,
        accounting_path=snakemake.output.accounting,
        part=int(snakemake.wildcards.part),
        n_parts=int(snakemake.wildcards.n_parts),
        cfg=snakemake.params.cfg,
    )
