"""Name a pair of layers of a sweep: crepebench.layer_sweep.set_layers."""

from crepebench.job import start_log
from crepebench.layer_sweep import set_layers

if __name__ == "__main__":
    start_log(snakemake)
    set_layers(
        layers_path=snakemake.output.layers,
        peak=int(snakemake.wildcards.peak),
        anchor=int(snakemake.wildcards.anchor),
    )
