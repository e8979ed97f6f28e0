"""Analyse the layers of a text tower: crepebench.analyse_layers.analyse_layers."""

from crepebench.analyse_layers import analyse_layers
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    analyse_layers(
        pairs_path=snakemake.input.pairs,
        images_path=snakemake.input.images,
        index_path=snakemake.input.index,
        paraphrases_path=snakemake.input.paraphrases,
        aliases_path=snakemake.input.get("aliases", ""),
        weights_paths=list(snakemake.input.get("weights", [])),
        layers_path=snakemake.output.layers,
        curves_path=snakemake.output.curves,
        accounting_path=snakemake.output.accounting,
        model=snakemake.wildcards.model,
        cfg=snakemake.params.cfg,
    )
