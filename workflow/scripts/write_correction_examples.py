"""Show what a correction does to texts: crepebench.correction_examples.write_correction_examples."""

from crepebench.correction_examples import write_correction_examples
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    write_correction_examples(
        templates_path=snakemake.input.templates,
        attention_path=snakemake.input.attention,
        prompts_path=snakemake.input.get("prompts") or "",
        weights_paths=list(snakemake.input.weights),
        points_path=snakemake.output.points,
        cosines_path=snakemake.output.cosines,
        heads_path=snakemake.output.heads,
        embeddings_path=snakemake.output.embeddings,
        lines_path=snakemake.output.lines,
        cfg=snakemake.params.cfg,
    )
