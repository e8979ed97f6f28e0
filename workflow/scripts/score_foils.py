"""Score foils with a language model: crepebench.plausibility.score_foils."""

from crepebench.job import start_log
from crepebench.plausibility import score_foils

if __name__ == "__main__":
    start_log(snakemake)
    score_foils(
        candidates_path=snakemake.input.candidates,
        scores_path=snakemake.output.scores,
        cfg=snakemake.params.cfg,
    )
