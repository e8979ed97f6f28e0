"""Keep the regions of Visual Genome that can be test crops, and give each a canonical caption.

Source: paper section 4.1. The bounds are inclusive at both ends, as in the released boxes, and are applied to the
box after it has been clipped to its image.
"""

import json
import logging

import numpy as np
import polars as pl

from crepebench.accounting import KEPT, READ, write_accounting
from crepebench.schema import IMAGES, REGION_DESCRIPTIONS, REGIONS, read_table, write_table
from crepebench.texts import normalise_text

logger = logging.getLogger(__name__)

PERCENTILES = (0, 5, 25, 50, 75, 95, 100)


def canonical_caption(phrase: str) -> str:
    """Returns a region's caption: normalised text in lower case without a final full stop.

    # ASSUME: the paper does not say how region texts were normalised. The released captions are all lower case; a
    # final stop is an accident of single annotators and would tell truth and foil apart.
    """
    return normalise_text(phrase).lower().rstrip(" .")


def whole_pixels(edge: pl.Expr) -> pl.Expr:
    """Rounds an edge of a box to whole pixels: to the nearest, halves up; null where it is no finite number.

    # ASSUME: fractions in boxes round to the nearest edge. The annotations seen so far hold whole numbers only.
    """
    return (edge + 0.5).floor().cast(pl.Int64, strict=False)


def filter_regions(regions: pl.DataFrame, images: pl.DataFrame, config: dict) -> pl.DataFrame:
    """Rounds and clips boxes and finds the reason, if any, for which each region is dropped.

    Args:
        regions: table REGION_DESCRIPTIONS.
        images: table IMAGES.
        config: block `regions`: min_area (pixels), min_image_share (0-1), min_aspect and max_aspect (width/height),
            exclude_coco (whether regions of images that COCO holds, too, are dropped).

    Returns:
        Columns of REGIONS and `reason` ("" where kept), sorted by region_id.
    """
    sizes = images.select("image_id", "coco_id", image_width="width", image_height="height")
    joined = regions.join(sizes, on="image_id", how="left", validate="m:1").sort("region_id")
    raw = {f"{name}_raw": pl.col(name) for name in ("x", "y", "width", "height")}
    boxes = joined.with_columns(
        **raw,
        left=whole_pixels(pl.col("x")),
        top=whole_pixels(pl.col("y")),
        right=whole_pixels(pl.col("x") + pl.col("width")),
        bottom=whole_pixels(pl.col("y") + pl.col("height")),
    )
    is_box = (pl.col("left") < pl.col("right")) & (pl.col("top") < pl.col("bottom"))
    clipped = boxes.with_columns(
        is_box=is_box.fill_null(False),
        x=pl.col("left").clip(0, pl.col("image_width")),
        y=pl.col("top").clip(0, pl.col("image_height")),
    ).with_columns(
        width=pl.col("right").clip(0, pl.col("image_width")) - pl.col("x"),
        height=pl.col("bottom").clip(0, pl.col("image_height")) - pl.col("y"),
        caption_raw=pl.col("phrase"),
        caption=pl.col("phrase").map_elements(canonical_caption, return_dtype=pl.String),
    )
    area = pl.col("width") * pl.col("height")
    # numpy rounds a quotient once, so that exactly a tenth is 0.1 and is kept; polars multiplies by a reciprocal.
    columns = clipped.select("width", "height", "image_width", "image_height").to_numpy().T.astype(np.float64)
    widths, heights, image_widths, image_heights = columns
    with np.errstate(divide="ignore", invalid="ignore"):
        clipped = clipped.with_columns(share=widths * heights / (image_widths * image_heights), aspect=widths / heights)
    reason = (
        pl.when(pl.col("region_id").is_null())
        .then(pl.lit("region_id_missing"))
        .when(pl.col("region_id").is_duplicated() & ~pl.col("region_id").is_first_distinct())
        .then(pl.lit("region_id_repeated"))
        .when(pl.col("image_width").is_null())
        .then(pl.lit("image_unknown"))
        .when(pl.col("coco_id").is_not_null() & config["exclude_coco"])
        .then(pl.lit("coco_image"))
        .when(pl.col("caption") == "")
        .then(pl.lit("caption_empty"))
        .when(~pl.col("is_box"))
        .then(pl.lit("box_empty"))
        .when((pl.col("width") <= 0) | (pl.col("height") <= 0))
        .then(pl.lit("box_outside_image"))
        .when(area < config["min_area"])
        .then(pl.lit("area"))
        .when(pl.col("share") < config["min_image_share"])
        .then(pl.lit("image_share"))
        .when(~pl.col("aspect").is_between(config["min_aspect"], config["max_aspect"]))
        .then(pl.lit("aspect"))
        .otherwise(pl.lit(""))
    )
    return clipped.with_columns(reason=reason).select([*REGIONS.names, "reason"])


def log_shapes(crops: pl.DataFrame) -> None:
    """Logs how thin crops are, and how much of them a model sees that cuts a square from the middle.

    Args:
        crops: kept rows of REGIONS.
    """
    if crops.height:
        aspects = (crops["width"] / crops["height"]).to_numpy()
        shown = np.minimum(aspects, 1 / aspects)
        quantiles = ", ".join(f"{value:.2f}" for value in np.percentile(aspects, PERCENTILES))
        logger.info("width / height of the %d crops, percentiles %s: %s", crops.height, PERCENTILES, quantiles)
        logger.info(
            "a square from the middle shows %.1f%% of a crop on average, and under two thirds of %.1f%% of the crops",
            100 * shown.mean(),
            100 * (shown < 2 / 3).mean(),
        )


def write_regions(
    region_descriptions_path: str, images_path: str, regions_path: str, accounting_path: str, cfg: str
) -> None:
    """Writes the kept regions and the counts of the dropped ones.

    Args:
        region_descriptions_path: table REGION_DESCRIPTIONS.
        images_path: table IMAGES.
        regions_path: table REGIONS to write.
        accounting_path: counts to write.
        cfg: config block `regions` as JSON.
    """
    rows = filter_regions(
        pl.from_arrow(read_table(region_descriptions_path, REGION_DESCRIPTIONS)),
        pl.from_arrow(read_table(images_path, IMAGES)),
        json.loads(cfg),
    )
    log_shapes(rows.filter(pl.col("reason") == ""))
    reasons = rows["reason"].value_counts().iter_rows()
    counts = {READ: rows.height, KEPT: 0, **{reason or KEPT: count for reason, count in reasons}}
    write_table(regions_path, REGIONS, rows.filter(pl.col("reason") == "").drop("reason").iter_rows(named=True))
    write_accounting(accounting_path, "regions", {"region": counts})
