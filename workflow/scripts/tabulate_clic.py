"""Write the table of models that CLIC tuned: crepebench.clic_tables.tabulate_clic."""

from crepebench.clic_tables import tabulate_clic
from crepebench.families import FOIL_TYPES
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    tabulate_clic(
        items_paths=list(snakemake.input.items_table),
        scores_paths=list(snakemake.input.scores),
        sets_paths={family: list(snakemake.input[f"{family}_sets"]) for family in FOIL_TYPES},
        sets_scores_paths={family: list(snakemake.input[f"{family}_scores"]) for family in FOIL_TYPES},
        splits_paths=list(snakemake.input.splits),
        manifests_paths=list(snakemake.input.manifests),
        published_paths=list(snakemake.input.published),
        table_path=snakemake.output.table,
        cfg=snakemake.params.cfg,
    )
