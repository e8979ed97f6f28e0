"""Show negatives of CLIC to people: crepebench.clic_negatives.write_clic_negatives."""

from crepebench.clic_negatives import write_clic_negatives
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    write_clic_negatives(
        rows_path=snakemake.input.rows,
        images_path=snakemake.input.images,
        candidates_path=snakemake.input.get("candidates"),
        table_path=snakemake.output.table,
        page_path=snakemake.output.page,
        cfg=snakemake.params.cfg,
    )
