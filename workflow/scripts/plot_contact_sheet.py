"""Draw a sheet of retrieval sets: crepebench.contact_sheets.plot_contact_sheet."""

from crepebench.contact_sheets import plot_contact_sheet
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    complexity = snakemake.wildcards.complexity.removeprefix("_n")
    plot_contact_sheet(
        sets_paths=list(snakemake.input.sets),
        images_path=snakemake.input.images,
        sheet_path=snakemake.output.sheet,
        family=snakemake.wildcards.family,
        complexity=int(complexity) if complexity else None,
        cfg=snakemake.params.cfg,
    )
