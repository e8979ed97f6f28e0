"""Write the page on which people review a sample: crepebench.review_pages.build_review_page."""

from crepebench.job import start_log
from crepebench.review_pages import build_review_page

if __name__ == "__main__":
    start_log(snakemake)
    build_review_page(
        sets_paths={
            "systematicity": list(snakemake.input.systematicity),
            "productivity": list(snakemake.input.productivity),
        },
        captions_paths=list(snakemake.input.captions),
        subgraphs_path=next(iter(snakemake.input.subgraphs), None),
        images_path=snakemake.input.images,
        corpus_paths=snakemake.params.corpora,
        body_path=snakemake.input.body,
        styles=list(snakemake.input.styles),
        scripts=list(snakemake.input.scripts),
        page_path=snakemake.output.page,
        sample_path=snakemake.output.sample,
        cfg=snakemake.params.cfg,
    )
