"""Build foils: crepebench.foil_candidates.build_foils."""

from crepebench.foil_candidates import build_foils
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    build_foils(
        regions_path=snakemake.input.regions,
        graphs_path=snakemake.input.graphs,
        unfiltered_paths=list(snakemake.input.unfiltered),
        objects_path=snakemake.input.objects,
        relationships_path=snakemake.input.relationships,
        descriptions_path=snakemake.input.descriptions,
        pool_path=snakemake.input.pool,
        tables_paths=list(snakemake.input.tables),
        wordnet_path=snakemake.input.wordnet,
        candidates_path=snakemake.output.candidates,
        part=snakemake.wildcards.part,
        cfg=snakemake.params.cfg,
    )
