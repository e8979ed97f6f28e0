"""Put our recalls beside the paper's: crepebench.published.tabulate_published_comparison."""

from crepebench.job import start_log
from crepebench.published import tabulate_published_comparison

if __name__ == "__main__":
    start_log(snakemake)
    tabulate_published_comparison(
        systematicity_path=snakemake.input.systematicity,
        productivity_path=snakemake.input.productivity,
        published_path=snakemake.input.published,
        recalls_path=snakemake.input.recalls,
        released_path=snakemake.input.released,
        known_path=snakemake.input.known,
        table_path=snakemake.output.table,
        cfg=snakemake.params.cfg,
    )
