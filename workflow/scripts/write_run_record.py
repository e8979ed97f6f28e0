"""Record what a run rests on: crepebench.run_record.write_run_record."""

from crepebench.job import start_log
from crepebench.run_record import write_run_record

if __name__ == "__main__":
    start_log(snakemake)
    write_run_record(
        table_paths=list(snakemake.input.tables),
        identity_paths=list(snakemake.input.identities),
        resource_paths=list(snakemake.input.resources),
        file_index_paths=list(snakemake.input.files),
        corpus_paths=list(snakemake.input.corpora),
        requirements_path=snakemake.input.requirements,
        benchmarks_path=snakemake.params.benchmarks,
        record_path=snakemake.output.record,
        page_path=snakemake.output.page,
        cfg=snakemake.params.cfg,
    )
