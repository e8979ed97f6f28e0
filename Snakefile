from snakemake.utils import min_version

min_version("9.27")


configfile: f"{workflow.current_basedir}/config/config.yaml"


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/sources.smk"
include: "workflow/rules/waves.smk"
include: "workflow/rules/plan.smk"
include: "workflow/rules/wordnet.smk"
include: "workflow/rules/icons.smk"
include: "workflow/rules/downloads.smk"
include: "workflow/rules/visual_genome.smk"
include: "workflow/rules/regions.smk"
include: "workflow/rules/graphs.smk"
include: "workflow/rules/corpora.smk"
include: "workflow/rules/vocabularies.smk"
include: "workflow/rules/candidates.smk"
include: "workflow/rules/splits.smk"
include: "workflow/rules/foils.smk"
include: "workflow/rules/subgraphs.smk"
include: "workflow/rules/captions.smk"
include: "workflow/rules/productivity_foils.smk"
include: "workflow/rules/entailment.smk"
include: "workflow/rules/retrieval_sets.smk"
include: "workflow/rules/own_captions.smk"
include: "workflow/rules/weights.smk"
include: "workflow/rules/features.smk"
include: "workflow/rules/scores.smk"
include: "workflow/rules/raw_retrieval.smk"
include: "workflow/rules/model_comparison.smk"
include: "workflow/rules/audit.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/parser_quality.smk"
include: "workflow/rules/thinning.smk"
include: "workflow/rules/published.smk"
include: "workflow/rules/plots.smk"
include: "workflow/rules/benchmarks.smk"
include: "workflow/rules/negation.smk"
include: "workflow/rules/layer_sweep.smk"
include: "workflow/rules/clic.smk"
include: "workflow/rules/gallery.smk"
include: "workflow/rules/review.smk"
include: "workflow/rules/human_review.smk"
include: "workflow/rules/exports.smk"
include: "workflow/rules/run_record.smk"


if IS_RELEASED:

    include: "workflow/rules/released.smk"


rule all:
    """Make every table and picture."""
    default_target: True
    input:
        expand("results/tables/{table}.md", table=TABLES),
        PLOTS,
        "results/gallery/index.html",
        "results/run.json",
