"""Draw a sheet of retrieval sets: crop, true caption and foils, as PNG."""

import json
import textwrap
from itertools import islice

import numpy as np

from crepebench.drawing import draw_note, pyplot, save
from crepebench.families import PARTS_OF_TYPE, SYSTEMATICITY
from crepebench.images import BadImageError, ImageReader, cut_crop
from crepebench.schema import IMAGES, RETRIEVAL_SETS, read_table

LINE_LENGTH = 50
"""Characters of a line."""
LINE_HEIGHT = 0.17
"""Inches."""


def plot_contact_sheet(
    sets_paths: list[str], images_path: str, sheet_path: str, family: str, complexity: int | None, cfg: str
) -> None:
    """Draws retrieval sets side by side: the crop, the true caption in green, the foils below it.

    Args:
        sets_paths: tables RETRIEVAL_SETS.
        images_path: table IMAGES.
        sheet_path: PNG to write.
        family: family of the sets.
        complexity: number of atoms of the captions; any where None.
        cfg: config block `plots` as JSON: contact_sheet_sets (as many of each foil type that is no mixture) and seed.
    """
    config = json.loads(cfg)
    images = {row["image_id"]: row for row in read_table(images_path, IMAGES).to_pylist()}
    rows = [row for path in sets_paths for row in read_table(path, RETRIEVAL_SETS).to_pylist()]
    rows = [row for row in rows if complexity in (None, row["complexity"])]
    rng = np.random.default_rng(config["seed"])
    chosen: list[tuple[dict, object]] = []
    foil_types = [name for name, parts in PARTS_OF_TYPE[family].items() if len(parts) == 1]
    n_each, n_more = divmod(config["contact_sheet_sets"], len(foil_types))
    with ImageReader() as reader:
        for place, foil_type in enumerate(foil_types):
            n_wanted = n_each + (place < n_more)
            pool = [row for row in rows if row["foil_type"] == foil_type]
            drawable = ((row, _crop(row, images, reader)) for row in (pool[i] for i in rng.permutation(len(pool))))
            chosen += islice(((row, crop) for row, crop in drawable if crop is not None), n_wanted)
    if not chosen:
        draw_note("There is no retrieval set to draw: see results/tables/accounting.csv.", sheet_path)
        return
    plt = pyplot()
    n_columns = 3
    n_lines = -(-len(chosen) // n_columns)
    height = max(2.9, (3 + max(len(_lines(row)) for row, _ in chosen)) * LINE_HEIGHT)
    figure, axes = plt.subplots(
        n_lines, 2 * n_columns, figsize=(17, height * n_lines), squeeze=False, width_ratios=[1, 1.6] * n_columns
    )
    for ax in axes.flat:
        ax.axis("off")
    for i, (row, crop) in enumerate(chosen):
        picture, text = axes[i // n_columns][2 * (i % n_columns) : 2 * (i % n_columns) + 2]
        picture.imshow(crop)
        source = f"region {row['region_id']}" if family == SYSTEMATICITY else f"set {row['set_id']}"
        picture.set_title(f"image {row['image_id']}, {source}", fontsize=7, loc="left")
        _write_texts(text, row, height)
    figure.suptitle("Retrieval sets: the true caption (green) and its foils", fontsize=12)
    figure.tight_layout(rect=(0, 0, 1, 0.985))
    save(figure, sheet_path)


def _lines(row: dict) -> list[tuple[str, str]]:
    """Returns the lines beside a crop, each with its colour."""
    lines = [(f"HN-{row['foil_type'].capitalize()}, {row['complexity']} atoms", "#555555")]
    lines += [(line, "#117733") for line in textwrap.wrap(row["caption"], LINE_LENGTH)]
    for foil in row["foils"]:
        wrapped = textwrap.wrap(f"({foil['kind']}) {foil['text']}", LINE_LENGTH, subsequent_indent="   ")
        lines += [(line, "black") for line in wrapped]
    return lines


def _write_texts(ax, row: dict, height: float) -> None:
    """Writes the lines beside a crop, `height` inches high."""
    for i, (line, colour) in enumerate(_lines(row)):
        y = 0.97 - i * LINE_HEIGHT / height
        ax.text(0, y, line, color=colour, fontsize=7.5, va="top", transform=ax.transAxes, parse_math=False)


def _crop(row: dict, images: dict[int, dict], reader: ImageReader):
    """Returns the crop of a set, None where its image cannot be used."""
    try:
        picture = reader.read(images[row["image_id"]]).picture
    except BadImageError:
        return None
    return cut_crop(picture, (row["x"], row["y"], row["width"], row["height"]))
