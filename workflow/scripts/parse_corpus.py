"""Parse one shard of a corpus: crepebench.vocabularies.parse_corpus."""

from crepebench.job import start_log
from crepebench.vocabularies import parse_corpus

if __name__ == "__main__":
    start_log(snakemake)
    parse_corpus(
        corpus_paths=list(snakemake.input.captions),
        corpus=snakemake.wildcards.corpus,
        vocabulary_path=snakemake.output.vocabulary,
        accounting_path=snakemake.output.accounting,
        shard=int(snakemake.wildcards.part),
        n_shards=int(snakemake.wildcards.n_parts),
        cfg=snakemake.params.cfg,
    )
