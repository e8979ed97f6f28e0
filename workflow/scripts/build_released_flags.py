"""Flag the artefacts of released sets: crepebench.released_flags.build_released_flags."""

from crepebench.job import start_log
from crepebench.released_flags import build_released_flags

if __name__ == "__main__":
    start_log(snakemake)
    build_released_flags(
        sets_paths=[list(snakemake.input.systematicity), list(snakemake.input.productivity)],
        wordnet_path=snakemake.input.wordnet,
        flags_path=snakemake.output.flags,
    )
