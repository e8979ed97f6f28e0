"""Build the gallery of retrieval sets: crepebench.gallery.build_gallery."""

from crepebench.gallery import build_gallery
from crepebench.job import start_log

if __name__ == "__main__":
    start_log(snakemake)
    build_gallery(
        sets_paths={family: list(snakemake.input[family]) for family in ("systematicity", "productivity")},
        scores_paths={
            "systematicity": list(snakemake.input.systematicity_scores),
            "productivity": list(snakemake.input.productivity_scores),
        },
        splits_paths=list(snakemake.input.splits),
        images_path=snakemake.input.images,
        body_path=snakemake.input.body,
        styles_paths=list(snakemake.input.styles),
        scripts_paths=list(snakemake.input.scripts),
        page_path=snakemake.output.page,
        report_path=snakemake.output.report_page,
        cfg=snakemake.params.cfg,
    )
