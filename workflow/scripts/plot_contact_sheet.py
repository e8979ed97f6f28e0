"""Draw a sheet of retrieval sets: crepebench.plots.plot_contact_sheet."""

from crepebench.job import start_log
from crepebench.plots import plot_contact_sheet

if __name__ == "__main__":
    start_log(snakemake)
    plot_contact_sheet(
        sets_paths=list(snakemake.input.sets),
        images_path=snakemake.input.images,
        sheet_path=snakemake.output.sheet,
        cfg=snakemake.params.cfg,
    )
