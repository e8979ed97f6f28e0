"""Build the items that CLIC trains on: crepebench.clic_data.build_clic_data."""

from crepebench.clic_data import build_clic_data
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    build_clic_data(
        rules_path=snakemake.input.rules,
        rows_path=snakemake.output.rows,
        images_path=snakemake.output.images,
        held_out_path=snakemake.output.held_out,
        accounting_path=snakemake.output.accounting,
        packed_path=snakemake.output.get("packed"),
        cfg=snakemake.params.cfg,
    )
