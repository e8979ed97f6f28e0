"""Estimate a run before it starts: crepebench.plan.show_plan."""

from crepebench.job import start_log
from crepebench.plan import show_plan

if __name__ == "__main__":
    start_log(snakemake)
    show_plan(
        source_paths=snakemake.params.sources,
        image_paths=snakemake.params.images,
        other_paths=snakemake.params.others,
        downloads=snakemake.params.downloads,
        corpus_paths=snakemake.params.corpora,
        costs_path=snakemake.input.costs,
        architectures_path=snakemake.input.architectures,
        snakefile=snakemake.params.snakefile,
        profile=snakemake.params.profile,
        n_cores=snakemake.params.n_cores,
        cfg=snakemake.params.cfg,
    )
