"""Decide what a corpus shows: crepebench.waves.write_candidate_vocabulary."""

from crepebench.job import start_log
from crepebench.waves import write_candidate_vocabulary

if __name__ == "__main__":
    start_log(snakemake)
    write_candidate_vocabulary(
        wave_path=snakemake.input.wave,
        found_paths=list(snakemake.input.found),
        draws_paths=list(snakemake.input.draws),
        accounting_paths=list(snakemake.input.accounting),
        vocabulary_path=snakemake.output.vocabulary,
        cfg=snakemake.params.cfg,
    )
