"""Compute the token and layer features of captions: crepebench.peakpatch_features.extract_negation_features."""

from crepebench.job import start_log
from crepebench.peakpatch_features import extract_negation_features

if __name__ == "__main__":
    start_log(snakemake)
    extract_negation_features(
        pairs_path=snakemake.input.pairs,
        questions_path=snakemake.input.questions,
        layers_path=snakemake.input.layers,
        index_path=snakemake.output.index,
        weights_paths=list(snakemake.input.weights),
        cfg=snakemake.params.cfg,
    )
