"""Write the table of corrections of negation: crepebench.negation_tables.tabulate_negation."""

from crepebench.families import FOIL_TYPES
from crepebench.job import start_log
from crepebench.negation_tables import tabulate_negation

if __name__ == "__main__":
    start_log(snakemake)
    tabulate_negation(
        items_paths=list(snakemake.input.items_table),
        scores_paths=list(snakemake.input.scores),
        blind_paths=list(snakemake.input.blind),
        controls_paths=list(snakemake.input.controls),
        changes_paths=list(snakemake.input.changes),
        sets_paths={family: list(snakemake.input[f"{family}_sets"]) for family in FOIL_TYPES},
        sets_scores_paths={family: list(snakemake.input[f"{family}_scores"]) for family in FOIL_TYPES},
        manifests_paths=list(snakemake.input.manifests),
        published_paths=list(snakemake.input.published),
        table_path=snakemake.output.table,
        cfg=snakemake.params.cfg,
    )
