"""Draw the tables and a sheet of retrieval sets, as PNG."""

import csv
import json
import textwrap
from itertools import islice

import numpy as np

from crepebench.accounting import KEPT, READ
from crepebench.files import atomic_path
from crepebench.images import BadImageError, ImageReader, cut_crop
from crepebench.schema import IMAGES, RETRIEVAL_SETS, read_table

SPLIT_COLOURS = {"SC": "#1b6ca8", "UC": "#d1732c", "UA": "#7a7a7a"}
SPLIT_NAMES = {"SC": "seen compounds", "UC": "unseen compounds", "UA": "unseen atoms"}
BLIND_COLOUR = "#b3123b"
BAR_WIDTH = 0.26
PANELS_PER_LINE = 3
REASON_COLOURS = ("#d1732c", "#e3a857", "#8c6bb1", "#7a7a7a", "#c05a75", "#5b9aa0", "#b5a642", "#444444")
BLUE = SPLIT_COLOURS["SC"]
RECALL_OFFSET = 0.8
"""Points of recall between two models' lines."""
REASONS_LENGTH = 78
"""Characters of a line of reasons beside the bars."""
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
    rows = _read_rows(table_path)
    if not rows:
        _draw_note("No query could be scored: see results/tables/accounting.csv.", plot_path)
        return
    panels = list(dict.fromkeys((row["training_corpus"], row["model"]) for row in rows))
    n_columns = min(len(panels), PANELS_PER_LINE)
    n_lines = -(-len(panels) // n_columns)
    plt = _pyplot()
    figure, axes = plt.subplots(
        n_lines, n_columns, figsize=(1.2 + 3.6 * n_columns, 0.9 + 3.3 * n_lines), sharey=True, squeeze=False
    )
    for ax in axes.flat[len(panels) :]:
        ax.axis("off")
    for ax, (corpus, model) in zip(axes.flat, panels, strict=False):
        _draw_panel(ax, [row for row in rows if (row["training_corpus"], row["model"]) == (corpus, model)])
        ax.set_title(f"{model}\non the splits of {corpus}", fontsize=9)
    for line in axes:
        line[0].set_ylabel("R@1 (%)")
    by_label = {}
    for ax in axes.flat:
        handles, labels = ax.get_legend_handles_labels()
        by_label |= dict(zip(labels, handles, strict=True))
    n_legend_lines = 2 if n_columns == 1 and len(by_label) > 4 else 1
    figure.legend(
        by_label.values(),
        by_label.keys(),
        loc="lower center",
        ncols=-(-len(by_label) // n_legend_lines),
        frameon=False,
        fontsize=8,  # with the narrow spaces, four entries fit below one panel
        handlelength=1.2,
        columnspacing=1.0,
    )
    figure.suptitle("Retrieval of the true caption: seen against unseen compounds", fontsize=11)
    figure.tight_layout(rect=(0, (0.12 + 0.18 * n_legend_lines) / figure.get_figheight(), 1, 1))
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
    for i, split in enumerate(splits):
        found = [row for row in rows if row["split"] == split]
        x = np.array([foil_types.index(row["foil_type"]) for row in found]) + (i - (len(splits) - 1) / 2) * BAR_WIDTH
        blind, label = [float(row["blind_recall_at_1"]) for row in found], None if i else "text alone"
        ax.hlines(blind, x - BAR_WIDTH / 2, x + BAR_WIDTH / 2, colors=BLIND_COLOUR, linewidth=1.8, label=label)
    ax.set_xticks(range(len(foil_types)), foil_types)
    ax.set_ylim(0, 100)
    ax.spines[["top", "right"]].set_visible(False)


def plot_systematicity_gap(table_path: str, plot_path: str) -> None:
    """Draws the gap between unseen and seen compounds with its interval, for each corpus, model and foil type.

    Args:
        table_path: systematicity_gap.csv.
        plot_path: PNG to write.
    """
    rows = _read_rows(table_path)
    if not rows:
        _draw_note("No model has scored queries in both SC and UC: see results/tables/systematicity.csv.", plot_path)
        return
    models = list(dict.fromkeys((row["training_corpus"], row["model"]) for row in rows))
    foil_types = list(dict.fromkeys(row["foil_type"] for row in rows))
    plt = _pyplot()
    figure, axes = plt.subplots(
        1, len(foil_types), figsize=(2.6 + 2.9 * len(foil_types), 1.5 + 0.34 * len(models)), sharey=True, squeeze=False
    )
    for ax, foil_type in zip(axes[0], foil_types, strict=True):
        found = [row for row in rows if row["foil_type"] == foil_type]
        y = np.array([models.index((row["training_corpus"], row["model"])) for row in found])
        gaps, lows, highs = (np.array([float(row[name]) for row in found]) for name in ("gap", "gap_low", "gap_high"))
        ax.axvline(0, color="black", linewidth=0.8)
        ax.errorbar(gaps, y, xerr=np.clip([gaps - lows, highs - gaps], 0, None), fmt="o", color=BLUE, capsize=3)
        ax.set_title(foil_type, fontsize=10)
        ax.set_xlabel("gap (points)")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0][0].set_yticks(range(len(models)), [f"{model}\n({corpus})" for corpus, model in models], fontsize=8)
    axes[0][0].set_ylim(len(models) - 0.5, -0.5)
    figure.suptitle("R@1 on unseen less R@1 on seen compounds: left of 0, unseen compounds are harder", fontsize=10)
    figure.tight_layout()
    _save(figure, plot_path)


def plot_thinned_gap(table_path: str, plot_path: str) -> None:
    """Draws the gap against the recall to which vocabularies are thinned: a panel a foil type, a line a model.

    Args:
        table_path: systematicity_gap_by_recall.csv.
        plot_path: PNG to write.
    """
    rows = _read_rows(table_path)
    if not rows:
        _draw_note("No model has scored queries in both SC and UC at any recall.", plot_path)
        return
    models = list(dict.fromkeys((row["training_corpus"], row["model"]) for row in rows))
    foil_types = list(dict.fromkeys(row["foil_type"] for row in rows))
    colours = (BLUE, *REASON_COLOURS[::2], *REASON_COLOURS[1::2])  # neighbours in that list are alike
    n_columns = min(len(models), PANELS_PER_LINE)
    legend_height = 0.1 + 0.2 * -(-len(models) // n_columns)
    plt = _pyplot()
    figure, axes = plt.subplots(
        1, len(foil_types), figsize=(1.2 + 3.4 * len(foil_types), 3.6 + legend_height), sharey=True, squeeze=False
    )
    for ax, foil_type in zip(axes[0], foil_types, strict=True):
        for i, (corpus, model) in enumerate(models):
            key = (corpus, model, foil_type)
            found = [row for row in rows if (row["training_corpus"], row["model"], row["foil_type"]) == key]
            x, gaps, lows, highs = (
                np.array([float(row[name]) for row in found]) for name in ("recall", "gap", "gap_low", "gap_high")
            )
            ax.errorbar(
                x + RECALL_OFFSET * (i - (len(models) - 1) / 2),  # else intervals hide each other
                gaps,
                np.clip([gaps - lows, highs - gaps], 0, None),
                fmt="o-",
                color=colours[i % len(colours)],
                markersize=4,
                linewidth=1.2,
                elinewidth=0.8,
                capsize=2,
                label=f"{model} ({corpus})",
            )
        ax.axhline(0, color="black", linewidth=0.8)
        ax.set_title(foil_type, fontsize=10)
        ax.set_xlabel("compounds' occurrences kept (%)")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0][0].set_ylabel("gap (points)")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=n_columns, frameon=False, fontsize=8)
    figure.suptitle("The gap if the parser had found fewer compounds in the training captions", fontsize=11)
    figure.tight_layout(rect=(0, legend_height / figure.get_figheight(), 1, 1))
    _save(figure, plot_path)


def plot_accounting(table_path: str, plot_path: str) -> None:
    """Draws what each stage kept and dropped as shares of what it read, and names the reasons beside the bar.

    Stages that dropped nothing are left out.

    Args:
        table_path: accounting.csv.
        plot_path: PNG to write.
    """
    by_stage: dict[str, dict[str, int]] = {}
    for row in _read_rows(table_path):
        by_stage.setdefault(f"{row['stage']} ({row['unit']})", {})[row["reason"]] = int(row["count"])
    stages = {stage: counts for stage, counts in by_stage.items() if counts[KEPT] < counts[READ]}
    if not stages:
        _draw_note("No stage dropped anything.", plot_path)
        return
    plt = _pyplot()
    figure, ax = plt.subplots(figsize=(12, 1.3 + 0.42 * len(stages)))
    for y, counts in enumerate(stages.values()):
        dropped = sorted((r for r in counts if r not in (READ, KEPT)), key=lambda reason: -counts[reason])
        left = 0.0
        for i, reason in enumerate([KEPT, *dropped]):
            share = 100.0 * counts[reason] / counts[READ]
            colour = REASON_COLOURS[(i - 1) % len(REASON_COLOURS)] if i else BLUE
            ax.barh(y, share, left=left, color=colour, height=0.7)
            left += share
        ax.text(1, y, f"{counts[KEPT]:,} of {counts[READ]:,} kept", va="center", color="white", fontsize=7.5)
        words = textwrap.fill(", ".join(f"{reason} {counts[reason]:,}" for reason in dropped), REASONS_LENGTH)
        ax.text(101, y, words, va="center", fontsize=7)
    ax.set_yticks(range(len(stages)), list(stages), fontsize=8)
    ax.set_ylim(len(stages) - 0.4, -0.6)
    ax.set_xlim(0, 100)
    ax.set_xlabel("% of what the stage read")
    ax.spines[["top", "right"]].set_visible(False)
    figure.suptitle("What every stage kept (blue) and dropped, by reason", fontsize=11)
    figure.tight_layout()
    _save(figure, plot_path)


def _read_rows(table_path: str) -> list[dict]:
    """Reads a table for people."""
    with open(table_path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _draw_note(note: str, plot_path: str) -> None:
    """Draws a picture that says why there is nothing to draw, so that the run and its report are complete."""
    plt = _pyplot()
    figure = plt.figure(figsize=(8, 1.5))
    figure.text(0.5, 0.5, note, ha="center", va="center", fontsize=10)
    _save(figure, plot_path)


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
    with ImageReader() as reader:
        for foil_type, n_wanted in (("atom", n_sets - n_sets // 2), ("comp", n_sets // 2)):
            pool = [row for row in rows if row["foil_type"] == foil_type]
            drawable = ((row, _crop(row, images, reader)) for row in (pool[i] for i in rng.permutation(len(pool))))
            chosen += islice(((row, crop) for row, crop in drawable if crop is not None), n_wanted)
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


def _crop(row: dict, images: dict[int, dict], reader: ImageReader):
    """Returns the crop of a set, None where its image cannot be used."""
    try:
        picture = reader.read(images[row["image_id"]]).picture
    except BadImageError:
        return None
    return cut_crop(picture, (row["x"], row["y"], row["width"], row["height"]))


def _pyplot():
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def _save(figure, path: str) -> None:
    with atomic_path(path) as partial:
        figure.savefig(partial, dpi=120, metadata=PNG_METADATA)
    _pyplot().close(figure)
