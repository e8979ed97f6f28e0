"""Write a table in Markdown, LaTeX and HTML: crepebench.table_formats.write_table_formats."""

from crepebench.job import start_log
from crepebench.table_formats import write_table_formats

if __name__ == "__main__":
    start_log(snakemake)
    write_table_formats(
        table_path=snakemake.input.table,
        manual_path=snakemake.input.manual,
        markdown_path=snakemake.output.markdown,
        latex_path=snakemake.output.latex,
        page_path=snakemake.output.page,
        table=snakemake.wildcards.table,
    )
