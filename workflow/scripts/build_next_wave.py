"""List what is not known yet of a corpus after a wave: crepebench.waves.write_next_wave."""

from crepebench.job import start_log
from crepebench.waves import write_next_wave

if __name__ == "__main__":
    start_log(snakemake)
    write_next_wave(
        wave_path=snakemake.input.wave,
        found_paths=list(snakemake.input.found),
        next_wave_path=snakemake.output.wave,
        cfg=snakemake.params.cfg,
    )
