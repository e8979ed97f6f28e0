"""Build the test of negation: crepebench.negation_benchmark.build_negation_benchmark."""

from crepebench.job import start_log
from crepebench.negation_benchmark import build_negation_benchmark

if __name__ == "__main__":
    start_log(snakemake)
    build_negation_benchmark(
        images_path=snakemake.input.images,
        objects_path=snakemake.input.objects,
        relationships_path=snakemake.input.relationships,
        descriptions_path=snakemake.input.get("descriptions"),
        forms_path=snakemake.input.forms,
        tables_paths=list(snakemake.input.tables),
        wordnet_path=snakemake.input.wordnet,
        questions_path=snakemake.output.questions,
        captions_path=snakemake.output.captions,
        classes_path=snakemake.output.classes,
        accounting_path=snakemake.output.accounting,
        cfg=snakemake.params.cfg,
    )
