"""List what is not known yet of a corpus: crepebench.waves.write_first_wave."""

from crepebench.job import start_log
from crepebench.waves import write_first_wave

if __name__ == "__main__":
    start_log(snakemake)
    write_first_wave(
        keys_path=snakemake.input.test_keys,
        record_path=snakemake.input.record,
        wave_path=snakemake.output.wave,
        cfg=snakemake.params.cfg,
    )
