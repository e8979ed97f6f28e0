"""Keep the regions of Visual Genome that can be test crops, and give each a canonical caption.

Source: paper section 4.1. The bounds are inclusive at both ends, as in the released boxes, and are applied to the
box after it has been clipped to its image.
"""

import json

import numpy as np
import polars as pl

from crepebench.accounting import KEPT, READ, write_accounting
from crepebench.corpora import normalise_text
from crepebench.schema import IMAGES, REGION_DESCRIPTIONS, REGIONS, read_table, write_table


def canonical_caption(phrase: str) -> str:
    """Returns a region's caption: normalised text in lower case without a final full stop.

    # ASSUME: the paper does not say how region texts were normalised. The released captions are all lower case; a
    # final stop is an accident of single annotators and would tell truth and foil apart.
    """
    return normalise_text(phrase).lower().rstrip(" .")


def filter_regions(regions: pl.DataFrame, images: pl.DataFrame, config: dict) -> pl.DataFrame:
    """Clips boxes and finds the reason, if any, for which each region is dropped.

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
    boxes = joined.with_columns(**raw).with_columns(
        left=pl.col("x").clip(0, pl.col("image_width")),
        top=pl.col("y").clip(0, pl.col("image_height")),
        right=(pl.col("x") + pl.col("width")).clip(0, pl.col("image_width")),
        bottom=(pl.col("y") + pl.col("height")).clip(0, pl.col("image_height")),
    )
    clipped = boxes.with_columns(
        x=pl.col("left"),
        y=pl.col("top"),
        width=pl.col("right") - pl.col("left"),
        height=pl.col("bottom") - pl.col("top"),
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
    reasons = rows["reason"].value_counts().iter_rows()
    counts = {READ: rows.height, KEPT: 0, **{reason or KEPT: count for reason, count in reasons}}
    write_table(regions_path, REGIONS, rows.filter(pl.col("reason") == "").drop("reason").iter_rows(named=True))
    write_accounting(accounting_path, "regions", {"region": counts})
