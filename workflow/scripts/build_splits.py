"""Split the regions by a corpus: crepebench.splits.write_splits."""

from crepebench.job import start_log
from crepebench.splits import write_splits

if __name__ == "__main__":
    start_log(snakemake)
    write_splits(
        graphs_path=snakemake.input.graphs,
        vocabulary_path=snakemake.input.vocabulary,
        record_path=snakemake.input.record,
        splits_path=snakemake.output.splits,
        accounting_path=snakemake.output.accounting,
        corpus=snakemake.wildcards.corpus,
        cfg=snakemake.params.cfg,
    )
