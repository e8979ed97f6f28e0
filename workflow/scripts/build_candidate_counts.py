"""Count the candidates of a shard: crepebench.candidates.write_candidate_counts."""

from crepebench.candidates import write_candidate_counts
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    write_candidate_counts(
        corpus_paths=list(snakemake.input.captions),
        wave_path=snakemake.input.wave,
        counts_path=snakemake.output.counts,
        part=int(snakemake.wildcards.part),
        n_parts=int(snakemake.wildcards.n_parts),
        cfg=snakemake.params.cfg,
    )
