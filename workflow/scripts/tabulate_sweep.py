"""Write the table of a sweep of layers: crepebench.layer_sweep.tabulate_sweep."""

from crepebench.job import start_log
from crepebench.layer_sweep import tabulate_sweep

if __name__ == "__main__":
    start_log(snakemake)
    tabulate_sweep(
        layers_paths=list(snakemake.input.layers),
        configs_paths=list(snakemake.input.configs),
        table_path=snakemake.output.table,
        models=list(snakemake.params.models),
    )
