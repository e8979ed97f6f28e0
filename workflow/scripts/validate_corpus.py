"""Record what the files of a corpus are: crepebench.corpus_ids.write_corpus_record."""

from crepebench.corpus_ids import write_corpus_record
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    write_corpus_record(
        corpus=snakemake.wildcards.corpus,
        corpus_paths=list(snakemake.input.files),
        manifest_paths=list(snakemake.input.manifest),
        record_path=snakemake.output.record,
        cfg=snakemake.params.cfg,
    )
