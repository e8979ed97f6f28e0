"""Parse the candidates of a shard: crepebench.candidates.write_found."""

from crepebench.candidates import write_found
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    write_found(
        corpus_paths=list(snakemake.input.captions),
        wave_path=snakemake.input.wave,
        draws_paths=list(snakemake.input.draws),
        corpus=snakemake.wildcards.corpus,
        found_path=snakemake.output.found,
        accounting_path=snakemake.output.accounting,
        part=int(snakemake.wildcards.part),
        n_parts=int(snakemake.wildcards.n_parts),
        cfg=snakemake.params.cfg,
    )
