"""Add up vocabularies: crepebench.vocabularies.merge_vocabularies."""

from crepebench.job import start_log
from crepebench.vocabularies import merge_vocabularies

if __name__ == "__main__":
    start_log(snakemake)
    merge_vocabularies(
        shard_paths=list(snakemake.input.shards),
        accounting_paths=list(snakemake.input.accounting),
        record_path=snakemake.input.record,
        vocabulary_path=snakemake.output.vocabulary,
    )
