"""Build captions: crepebench.caption_building.build_captions."""

from crepebench.caption_building import build_captions
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    build_captions(
        subgraphs_path=snakemake.input.subgraphs,
        tables_paths=list(snakemake.input.tables),
        prompts_paths=list(snakemake.input.prompts),
        wordnet_path=snakemake.input.wordnet,
        captions_path=snakemake.output.captions,
        accounting_path=snakemake.output.accounting,
        part=snakemake.wildcards.part,
        cfg=snakemake.params.cfg,
    )
