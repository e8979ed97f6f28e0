from snakemake.utils import min_version

min_version("9.27")


configfile: f"{workflow.basedir}/config/config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/wordnet.smk"
include: "workflow/rules/icons.smk"
include: "workflow/rules/visual_genome.smk"
include: "workflow/rules/regions.smk"
include: "workflow/rules/graphs.smk"
include: "workflow/rules/vocabularies.smk"
include: "workflow/rules/splits.smk"
include: "workflow/rules/retrieval_sets.smk"
include: "workflow/rules/features.smk"
include: "workflow/rules/scores.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/plots.smk"


rule all:
    """Make every table and picture."""
    default_target: True
    input:
        "results/tables/systematicity.csv",
        "results/tables/accounting.csv",
        "results/plots/systematicity.png",
        "results/plots/contact_sheet_systematicity.png",
