"""Choose foils: crepebench.foil_choices.filter_foils."""

from crepebench.foil_choices import filter_foils
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    filter_foils(
        candidates_paths=list(snakemake.input.candidates),
        scores_paths=list(snakemake.input.scores),
        entailment_paths=list(snakemake.input.entailment),
        exclusions_paths=list(snakemake.input.exclusions),
        choices_path=snakemake.output.choices,
        exclusions_path=snakemake.output.exclusions,
        family=snakemake.wildcards.family,
        cfg=snakemake.params.cfg,
    )
