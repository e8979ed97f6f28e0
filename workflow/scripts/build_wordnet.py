"""Prepare WordNet: crepebench.wordnet.write_wordnet."""

from crepebench.job import start_log
from crepebench.wordnet import write_wordnet

if __name__ == "__main__":
    start_log(snakemake)
    write_wordnet(output_path=snakemake.output.wordnet, cfg=snakemake.params.cfg)
