"""Choose foils: crepebench.foil_choices.filter_foils."""

from crepebench.foil_choices import filter_foils
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    filter_foils(
        candidates_paths=list(snakemake.input.candidates),
        scores_paths=list(snakemake.input.scores),
        choices_path=snakemake.output.choices,
        cfg=snakemake.params.cfg,
    )
