"""Train PeakPatch on a frozen model: crepebench.peakpatch_runs.train_peakpatch."""

from crepebench.job import start_log
from crepebench.peakpatch_runs import train_peakpatch

if __name__ == "__main__":
    start_log(snakemake)
    train_peakpatch(
        pairs_path=snakemake.input.pairs,
        questions_path=snakemake.input.questions,
        images_path=snakemake.input.images,
        features_path=snakemake.input.features,
        captions_path=snakemake.input.captions,
        weights_path=snakemake.output.weights,
        config_path=snakemake.output.config,
        curve_path=snakemake.output.curve,
        accounting_path=snakemake.output.accounting,
        checkpoints_folder=snakemake.params.checkpoints,
        weights_paths=list(snakemake.input.weights),
        seed=int(snakemake.wildcards.seed),
        cfg=snakemake.params.cfg,
    )
