"""Build the foils of subgraphs: crepebench.productivity_candidates.build_productivity_foils."""

from crepebench.job import start_log
from crepebench.productivity_candidates import build_productivity_foils

if __name__ == "__main__":
    start_log(snakemake)
    build_productivity_foils(
        subgraphs_path=snakemake.input.subgraphs,
        captions_path=snakemake.input.captions,
        unfiltered_paths=list(snakemake.input.unfiltered),
        objects_path=snakemake.input.objects,
        relationships_path=snakemake.input.relationships,
        descriptions_path=snakemake.input.descriptions,
        pool_path=snakemake.input.pool,
        tables_paths=list(snakemake.input.tables),
        wordnet_path=snakemake.input.wordnet,
        candidates_path=snakemake.output.candidates,
        cfg=snakemake.params.cfg,
    )
