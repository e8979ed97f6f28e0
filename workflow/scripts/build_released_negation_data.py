"""Build negation data by the released recipe: crepebench.negation_recipe.build_released_data."""

from crepebench.job import start_log
from crepebench.negation_recipe import build_released_data

if __name__ == "__main__":
    start_log(snakemake)
    build_released_data(
        instances_path=snakemake.input.instances,
        captions_path=snakemake.input.captions,
        images_place=snakemake.input.images_place,
        pairs_path=snakemake.output.pairs,
        questions_path=snakemake.output.questions,
        images_path=snakemake.output.images,
        sets_path=snakemake.output.sets,
        accounting_path=snakemake.output.accounting,
        negcap_path=snakemake.output.negcap,
        mcq_path=snakemake.output.mcq,
        cfg=snakemake.params.cfg,
    )
