"""Find candidates for the words of first sentences: crepebench.clic_candidates.build_clic_candidates."""

from crepebench.clic_candidates import build_clic_candidates
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    build_clic_candidates(
        rows_path=snakemake.input.rows,
        tables_paths=list(snakemake.input.tables),
        wordnet_path=snakemake.input.wordnet,
        candidates_path=snakemake.output.candidates,
        accounting_path=snakemake.output.accounting,
        cfg=snakemake.params.cfg,
    )
