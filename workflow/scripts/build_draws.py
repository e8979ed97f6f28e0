"""Draw the candidates that are parsed: crepebench.draws.write_draws."""

from crepebench.draws import write_draws
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    write_draws(
        count_paths=list(snakemake.input.counts),
        draws_path=snakemake.output.draws,
        cfg=snakemake.params.cfg,
    )
