"""Build pairs and questions of negation: crepebench.negation_data.build_negation_data."""

from crepebench.job import start_log
from crepebench.negation_data import build_negation_data

if __name__ == "__main__":
    start_log(snakemake)
    build_negation_data(
        forms_path=snakemake.input.forms,
        tables_paths=list(snakemake.input.tables),
        wordnet_path=snakemake.input.wordnet,
        objects_path=snakemake.input.get("objects"),
        pairs_path=snakemake.output.pairs,
        questions_path=snakemake.output.questions,
        images_path=snakemake.output.images,
        sets_path=snakemake.output.sets,
        accounting_path=snakemake.output.accounting,
        packed_path=snakemake.output.get("packed"),
        cfg=snakemake.params.cfg,
    )
