"""Write a table in Markdown, LaTeX and HTML: crepebench.twins.write_table_twins."""

from crepebench.job import start_log
from crepebench.twins import write_table_twins

if __name__ == "__main__":
    start_log(snakemake)
    write_table_twins(
        table_path=snakemake.input.table,
        manual_path=snakemake.input.manual,
        markdown_path=snakemake.output.markdown,
        latex_path=snakemake.output.latex,
        page_path=snakemake.output.page,
        table=snakemake.wildcards.table,
    )
