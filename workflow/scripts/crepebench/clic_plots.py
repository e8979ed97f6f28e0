"""Draw what CLIC's trainings learn and gain, as PNG: learning curves, and gains over the base by variant."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from crepebench.clic_tables import BASE, MEAN
from crepebench.correction_plots import COLOURS
from crepebench.drawing import draw_note, pyplot, read_rows, save
from crepebench.negation_tables import GAIN

SPLIT, STEP, KIND = "split", "step", "kind"
VALIDATION, PLAIN = "validation", "plain"
RIGHT = "negative_right"
PANELS = {
    "loss_contrastive": ("contrastive loss", "loss"),
    "loss_negative": ("S-Neg loss: caption against its negative", "loss"),
    "loss_unimodal": ("unimodal loss: two orders of one caption", "squared distance"),
    RIGHT: ("negatives below their captions", "share (%)"),
}
"""Columns of a learning curve that have a panel: title and unit; others are not drawn."""
SEED = " seed "
"""Between the name of a variant and its seed, in the label of a training."""
MOST_POINTS = 60
"""Points of a training line; each is the mean of as many steps as it takes to have no more."""
N_COLUMNS = 2
GREY = "#9aa0a6"
ROW_HEIGHT = 0.34
"""Inches of a variant in the plot of gains."""


def plot_clic_curves(curve_paths: Sequence[str], labels: Sequence[str], plot_path: str) -> None:
    """Draws the losses of trainings by step: a panel for each, a line for each training, its validation with circles.

    What plain steps have is drawn dotted.

    Args:
        curve_paths: learning_curve.csv of each training, with the columns SPLIT, STEP, KIND and some of PANELS.
        labels: name of each training, `<variant> seed <seed>`; the seeds of a variant share a colour.
        plot_path: PNG to write.

    Raises:
        ValueError: a file has rows and lacks one of the three.
    """
    curves = [read_rows(path) for path in curve_paths]
    for path, rows in zip(curve_paths, curves, strict=True):
        if rows and (missing := [name for name in (SPLIT, STEP, KIND) if name not in rows[0]]):
            raise ValueError(f"{path}: a learning curve needs the columns {', '.join(missing)}")
    panels = [column for column in PANELS if any(row.get(column) for rows in curves for row in rows)]
    if not panels:
        draw_note("Nothing was trained, so there are no learning curves.", plot_path)
        return
    variants = list(dict.fromkeys(label.rpartition(SEED)[0] or label for label in labels))
    colour_of = {variant: COLOURS[i % len(COLOURS)] for i, variant in enumerate(variants)}
    n_lines = -(-len(panels) // N_COLUMNS)
    legend_lines = 1 + -(-len(variants) // 3)
    plt = pyplot()
    figure, axes = plt.subplots(
        n_lines, N_COLUMNS, figsize=(10.4, 0.9 + 3.0 * n_lines + 0.2 * legend_lines), squeeze=False
    )
    for ax in axes.flat[len(panels) :]:
        ax.axis("off")
    for ax, column in zip(axes.flat, panels, strict=False):
        for rows, label in zip(curves, labels, strict=True):
            colour = colour_of[label.rpartition(SEED)[0] or label]
            _draw_training(ax, rows, column, colour)
        title, unit = PANELS[column]
        ax.set_title(title, fontsize=10)
        ax.set_xlabel("step", fontsize=9)
        ax.set_ylabel(unit, fontsize=9)
        ax.tick_params(labelsize=8)
        ax.spines[["top", "right"]].set_visible(False)
    lines = [plt.Line2D([], [], color=colour) for colour in colour_of.values()]
    black = {"color": "black", "linewidth": 1.0, "markersize": 4}
    marks = {
        "training, joined images": plt.Line2D([], [], **black),
        "plain steps": plt.Line2D([], [], linestyle="dotted", **black),
        "validation, joined images": plt.Line2D([], [], marker="o", linestyle="dashed", **black),
        "plain": plt.Line2D([], [], marker="o", linestyle="dotted", fillstyle="none", **black),
    }
    height = figure.get_figheight()
    style = {"loc": "lower center", "frameon": False, "fontsize": 8}
    figure.legend(lines, variants, ncols=3, bbox_to_anchor=(0.5, 0.22 / height), **style)
    figure.legend(marks.values(), marks.keys(), ncols=4, bbox_to_anchor=(0.5, 0), **style)
    figure.suptitle("Learning curves of CLIC, a line for each seed", fontsize=11)
    figure.tight_layout(rect=(0, (0.15 + 0.2 * legend_lines) / height, 1, 1))
    save(figure, plot_path)


def _draw_training(ax, rows: Sequence[Mapping], column: str, colour: str) -> None:
    """Draws one training in a panel: its steps as means of neighbours, and its validation."""
    scale = 100.0 if column == RIGHT else 1.0
    groups = defaultdict(list)
    for row in rows:
        if row[column]:
            groups[row[SPLIT], row[KIND]].append((float(row[STEP]), scale * float(row[column])))
    for (split, kind), found in groups.items():
        points, is_plain = np.array(found), kind == PLAIN
        if split == VALIDATION:
            fill = "none" if is_plain else "full"
            style = ":" if is_plain else "--"
            ax.plot(*points.T, "o", linestyle=style, color=colour, markersize=4, fillstyle=fill, linewidth=1.0)
            continue
        parts = np.array_split(points, min(len(points), MOST_POINTS))
        means = np.array([part.mean(axis=0) for part in parts])
        style = "dotted" if is_plain else "solid"
        ax.plot(*means.T, linestyle=style, color=colour, linewidth=1.2, alpha=0.6)


def plot_clic_gains(table_path: str, plot_path: str, cells: Sequence[Sequence[str]]) -> None:
    """Draws what each variant gains over its base: a panel for each base and cell, a line for each variant.

    Each seed is a point with its interval, the mean of the seeds an upright mark.

    Args:
        table_path: clic.csv.
        plot_path: PNG to write.
        cells: benchmark, subset and metric (without "_gain") of each cell that is drawn, if the table has it.
    """
    rows = [row for row in read_rows(table_path) if row["metric"].endswith(GAIN) and row["variant"] != BASE]
    by_cell: dict[tuple, list[dict]] = {}
    for row in rows:
        by_cell.setdefault((row["benchmark"], row["subset"], row["metric"]), []).append(row)
    drawn = [key for benchmark, subset, metric in cells if (key := (benchmark, subset, metric + GAIN)) in by_cell]
    if not drawn:
        draw_note("No tuned model has a gain in the cells that are to be drawn.", plot_path)
        return
    lines = list(dict.fromkeys((row["base"], row["variant"]) for row in rows))
    n_columns = min(len(drawn), 4)
    n_lines = -(-len(drawn) // n_columns)
    figure, axes = pyplot().subplots(
        n_lines,
        n_columns,
        figsize=(2.2 + 2.7 * n_columns, 0.7 + n_lines * (0.9 + ROW_HEIGHT * len(lines))),
        sharey=True,
        squeeze=False,
    )
    for ax in axes.flat[len(drawn) :]:
        ax.axis("off")
    for ax, key in zip(axes.flat, drawn, strict=False):
        ax.axvline(0, color="black", linewidth=0.8, zorder=0)
        for y, line in enumerate(lines):
            _draw_gains(ax, y, [row for row in by_cell[key] if (row["base"], row["variant"]) == line])
        ax.set_title(f"{key[0]}\n{key[1]}\n{key[2].removesuffix(GAIN)}", fontsize=8)
        ax.set_xlabel("gain (points)", fontsize=8)
        ax.tick_params(labelsize=8)
        ax.spines[["top", "right"]].set_visible(False)
    bases = {base for base, _ in lines}
    names = [variant if len(bases) == 1 else f"{variant}\n{base}" for base, variant in lines]
    for ax in axes[:, 0]:
        ax.set_yticks(range(len(lines)), names, fontsize=8)
    axes[0][0].set_ylim(len(lines) - 0.5, -0.5)
    of_base = f" {next(iter(bases))}" if len(bases) == 1 else ""
    figure.suptitle(f"Gains over the base{of_base}: seeds with 95% intervals, their mean upright", fontsize=10)
    figure.tight_layout()
    save(figure, plot_path)


def _draw_gains(ax, y: int, rows: Sequence[Mapping]) -> None:
    """Draws the gains of a variant in a line: its seeds one under the other, and their mean."""
    trained = [row for row in rows if row["low"]]
    for i, row in enumerate(trained):
        value, low, high = (float(row[name]) for name in ("value", "low", "high"))
        place = y + 0.5 * ((i + 0.5) / len(trained) - 0.5)
        errors = np.clip([[value - low], [high - value]], 0, None)
        colour = GREY if low <= 0 <= high else COLOURS[0] if value > 0 else COLOURS[1]
        ax.errorbar(value, place, xerr=errors, fmt="o", color=colour, markersize=3.5, capsize=2, elinewidth=0.9)
    for row in rows:
        if row["seed"] == MEAN and len(trained) > 1:
            ax.plot([float(row["value"])] * 2, [y - 0.38, y + 0.38], color="black", linewidth=1.3)
