"""Write the gap for vocabularies thinned to a given recall: crepebench.thinning.tabulate_thinned_gap."""

from crepebench.job import start_log
from crepebench.thinning import tabulate_thinned_gap

if __name__ == "__main__":
    start_log(snakemake)
    tabulate_thinned_gap(
        sets_paths=list(snakemake.input.sets),
        scores_paths=list(snakemake.input.scores),
        graphs_path=snakemake.input.graphs,
        vocabulary_paths=list(snakemake.input.vocabularies),
        table_path=snakemake.output.table,
        cfg=snakemake.params.cfg,
    )
