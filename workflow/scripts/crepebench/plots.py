"""Draw the tables and a sheet of retrieval sets, as PNG."""

import csv
import json
import textwrap
import zipfile

import numpy as np

from crepebench.features import IMAGE_ERRORS, read_image
from crepebench.files import atomic_path
from crepebench.schema import IMAGES, RETRIEVAL_SETS, read_table

SPLIT_COLOURS = {"SC": "#1b6ca8", "UC": "#d1732c", "UA": "#7a7a7a"}
SPLIT_NAMES = {"SC": "seen compounds", "UC": "unseen compounds", "UA": "unseen atoms"}
BAR_WIDTH = 0.26
LINE_LENGTH = 50
"""Characters of a line on the contact sheet."""
PNG_METADATA = {"Software": None}
"""No version of matplotlib in the file, so that equal pictures are equal files."""


def plot_systematicity(table_path: str, plot_path: str) -> None:
    """Draws R@1 by foil type and split, one panel per corpus and model, with intervals and random line.

    Args:
        table_path: systematicity.csv.
        plot_path: PNG to write.
    """
    with open(table_path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    panels = list(dict.fromkeys((row["training_corpus"], row["model"]) for row in rows))
    if not panels:
        raise ValueError(f"{table_path} has no row: no query could be scored; see results/tables/accounting.csv")
    plt = _pyplot()
    figure, axes = plt.subplots(1, len(panels), figsize=(1.2 + 3.6 * len(panels), 4.2), sharey=True, squeeze=False)
    for ax, (corpus, model) in zip(axes[0], panels, strict=True):
        _draw_panel(ax, [row for row in rows if (row["training_corpus"], row["model"]) == (corpus, model)])
        ax.set_title(f"{model}\non the splits of {corpus}", fontsize=9)
    axes[0][0].set_ylabel("R@1 (%)")
    by_label = {}
    for ax in axes[0]:
        handles, labels = ax.get_legend_handles_labels()
        by_label |= dict(zip(labels, handles, strict=True))
    figure.legend(
        by_label.values(), by_label.keys(), loc="lower center", ncols=len(by_label), frameon=False, fontsize=9
    )
    figure.suptitle("Retrieval of the true caption: seen against unseen compounds", fontsize=11)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    _save(figure, plot_path)


def _draw_panel(ax, rows: list[dict]) -> None:
    foil_types = list(dict.fromkeys(row["foil_type"] for row in rows))
    splits = [split for split in SPLIT_COLOURS if any(row["split"] == split for row in rows)]
    for i, split in enumerate(splits):
        found = [row for row in rows if row["split"] == split]
        x = np.array([foil_types.index(row["foil_type"]) for row in found]) + (i - (len(splits) - 1) / 2) * BAR_WIDTH
        values, lows, highs = (
            np.array([float(row[column]) for row in found])
            for column in ("recall_at_1", "recall_at_1_low", "recall_at_1_high")
        )
        errors = np.clip([values - lows, highs - values], 0, None)
        ax.bar(x, values, BAR_WIDTH, color=SPLIT_COLOURS[split], label=SPLIT_NAMES[split])
        ax.errorbar(x, values, errors, fmt="none", ecolor="black", elinewidth=0.8, capsize=2)
    for i, foil_type in enumerate(foil_types):
        random_line = next(float(row["random_recall_at_1"]) for row in rows if row["foil_type"] == foil_type)
        label = "random" if i == 0 else None
        ax.hlines(random_line, i - 0.45, i + 0.45, colors="black", linestyles="dotted", linewidth=1.2, label=label)
    ax.set_xticks(range(len(foil_types)), foil_types)
    ax.set_ylim(0, 100)
    ax.spines[["top", "right"]].set_visible(False)


def plot_contact_sheet(sets_paths: list[str], images_path: str, sheet_path: str, cfg: str) -> None:
    """Draws retrieval sets side by side: the crop, the true caption in green, the foils below it.

    Args:
        sets_paths: tables RETRIEVAL_SETS.
        images_path: table IMAGES.
        sheet_path: PNG to write.
        cfg: config block `plots` as JSON: contact_sheet_sets (half of them HN-Atom, half HN-Comp) and seed.
    """
    config = json.loads(cfg)
    n_sets = config["contact_sheet_sets"]
    images = {row["image_id"]: row for row in read_table(images_path, IMAGES).to_pylist()}
    rows = [row for path in sets_paths for row in read_table(path, RETRIEVAL_SETS).to_pylist()]
    rng = np.random.default_rng(config["seed"])
    chosen: list[tuple[dict, object]] = []
    for foil_type, n_wanted in (("atom", n_sets - n_sets // 2), ("comp", n_sets // 2)):
        pool = [row for row in rows if row["foil_type"] == foil_type]
        drawable = ((row, _crop(row, images)) for row in (pool[i] for i in rng.permutation(len(pool))))
        chosen += _first(((row, crop) for row, crop in drawable if crop is not None), n_wanted)
    plt = _pyplot()
    n_columns = 3
    n_lines = -(-len(chosen) // n_columns) or 1
    figure, axes = plt.subplots(
        n_lines, 2 * n_columns, figsize=(17, 2.9 * n_lines), squeeze=False, width_ratios=[1, 1.6] * n_columns
    )
    for ax in axes.flat:
        ax.axis("off")
    for i, (row, crop) in enumerate(chosen):
        picture, text = axes[i // n_columns][2 * (i % n_columns) : 2 * (i % n_columns) + 2]
        picture.imshow(crop)
        picture.set_title(f"image {row['image_id']}, region {row['region_id']}", fontsize=7, loc="left")
        _write_texts(text, row)
    figure.suptitle("Retrieval sets: the true caption (green) and its foils", fontsize=12)
    figure.tight_layout(rect=(0, 0, 1, 0.985))
    _save(figure, sheet_path)


def _write_texts(ax, row: dict) -> None:
    lines = [(f"HN-{row['foil_type'].capitalize()}, {row['complexity']} atoms", "#555555")]
    lines += [(line, "#117733") for line in textwrap.wrap(row["caption"], LINE_LENGTH)]
    for foil in row["foils"]:
        wrapped = textwrap.wrap(f"({foil['kind']}) {foil['text']}", LINE_LENGTH, subsequent_indent="   ")
        lines += [(line, "black") for line in wrapped]
    for i, (line, colour) in enumerate(lines):
        ax.text(
            0, 0.97 - i / 15.0, line, color=colour, fontsize=7.5, va="top", transform=ax.transAxes, parse_math=False
        )


def _crop(row: dict, images: dict[int, dict]):
    """Returns the crop of a set, None where its image cannot be read."""
    image = images[row["image_id"]]
    if image["archive"] is None:
        return None
    try:
        with zipfile.ZipFile(image["archive"]) as archive:
            picture = read_image(archive, image["path"])
    except IMAGE_ERRORS:
        return None
    return picture.crop((row["x"], row["y"], row["x"] + row["width"], row["y"] + row["height"]))


def _first(items, n: int) -> list:
    return [item for item, _ in zip(items, range(n), strict=False)]


def _pyplot():
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def _save(figure, path: str) -> None:
    with atomic_path(path) as partial:
        figure.savefig(partial, dpi=120, metadata=PNG_METADATA)
    _pyplot().close(figure)
