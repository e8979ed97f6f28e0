"""Score how likely truths entail swap foils: crepebench.entailment.score_entailment."""

from crepebench.entailment import score_entailment
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    score_entailment(
        candidates_path=snakemake.input.candidates,
        entailment_path=snakemake.output.entailment,
        cfg=snakemake.params.cfg,
    )
