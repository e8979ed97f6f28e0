"""Draw what a correction of negation learns and changes, as PNG: sweep, learning curves, maps of texts, attention."""

from collections.abc import Sequence

import numpy as np

from crepebench.attention_by_type import SELECTIVE_RATIO
from crepebench.drawing import draw_note, pyplot, read_rows, save
from crepebench.negation_maps import NEGATED, STATES

COLOURS = ("#1b6ca8", "#d1732c", "#4c9f70", "#8c6bb1", "#c05a75", "#5b9aa0", "#b5a642", "#444444", "#7f5539", "#9aa0a6")
BLUE, ORANGE, RED = COLOURS[0], COLOURS[1], "#b3123b"
CHOSEN = "yes"
SWEEP_COLUMNS = ("model", "peak", "anchor", "accuracy", "frozen", "chosen")
"""Of the sweep's CSV: layers, accuracy in percent of the corrected and the frozen model, CHOSEN or ""."""
EPOCH = "epoch"
SHOWN = ("loss", "accuracy")
"""What a column of a learning curve is drawn for, if its name holds it, each in a panel."""
POLARITY_NAMES = {"affirmative": "two affirmed", "negated": "two denied", "mixed": "one of each"}


def plot_sweep(table_path: str, plot_path: str) -> None:
    """Draws the accuracy by peak layer: a panel for each model, a line for each anchor, the chosen layers marked.

    Args:
        table_path: CSV with the columns SWEEP_COLUMNS.
        plot_path: PNG to write.
    """
    rows = read_rows(table_path)
    if not rows:
        draw_note("No pair of layers was trained: the sweep is off.", plot_path)
        return
    models = list(dict.fromkeys(row["model"] for row in rows))
    figure, axes = pyplot().subplots(1, len(models), figsize=(1.6 + 4.4 * len(models), 4.3), sharey=True, squeeze=False)
    for ax, model in zip(axes[0], models, strict=True):
        found = [row for row in rows if row["model"] == model]
        for i, anchor in enumerate(sorted({int(row["anchor"]) for row in found})):
            line = sorted((int(row["peak"]), float(row["accuracy"])) for row in found if int(row["anchor"]) == anchor)
            colour = COLOURS[i % len(COLOURS)]
            label = f"anchor layer {anchor}"
            ax.plot(*zip(*line, strict=True), "o-", color=colour, markersize=4, linewidth=1.3, label=label)
        for row in found:
            if row["chosen"] == CHOSEN:
                place = int(row["peak"]), float(row["accuracy"])
                ax.plot(*place, "o", color=RED, markersize=13, fillstyle="none", markeredgewidth=1.8, label="chosen")
        frozen = [float(row["frozen"]) for row in found if row["frozen"]]
        if frozen:
            ax.axhline(frozen[0], color="black", linestyle="dotted", linewidth=1.2, label="frozen model")
        ax.set_xticks(sorted({int(row["peak"]) for row in found}))
        ax.set_xlabel("peak layer")
        ax.set_title(model, fontsize=10)
        ax.legend(frameon=False, fontsize=8)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0][0].set_ylabel("accuracy (%)")
    figure.suptitle("Accuracy of the corrected model by the layers that it reads", fontsize=11)
    figure.tight_layout()
    save(figure, plot_path)


def plot_learning_curves(curve_paths: Sequence[str], labels: Sequence[str], plot_path: str) -> None:
    """Draws losses and accuracies by epoch: a panel for each column, a line for each training.

    Args:
        curve_paths: CSV files with a column `epoch`; columns whose name holds "loss" or "accuracy" are drawn.
        labels: name of each training.
        plot_path: PNG to write.

    Raises:
        ValueError: a file has rows and no column `epoch`.
    """
    curves = [read_rows(path) for path in curve_paths]
    for path, rows in zip(curve_paths, curves, strict=True):
        if rows and EPOCH not in rows[0]:
            raise ValueError(f"{path}: a learning curve needs a column {EPOCH}; it has {', '.join(rows[0])}")
    found = dict.fromkeys(column for rows in curves if rows for column in rows[0])
    columns = [column for name in SHOWN for column in found if name in column]
    if not columns:
        draw_note("Nothing was trained, so there are no learning curves.", plot_path)
        return
    n_columns = min(len(columns), 3)
    n_lines = -(-len(columns) // n_columns)
    legend_lines = -(-len(labels) // 3)
    figure, axes = pyplot().subplots(
        n_lines, n_columns, figsize=(0.8 + 3.4 * n_columns, 0.9 + 2.7 * n_lines + 0.2 * legend_lines), squeeze=False
    )
    for ax in axes.flat[len(columns) :]:
        ax.axis("off")
    for ax, column in zip(axes.flat, columns, strict=False):
        for i, (rows, label) in enumerate(zip(curves, labels, strict=True)):
            points = [(float(row[EPOCH]), float(row[column])) for row in rows if row.get(column)]
            if points:
                colour = COLOURS[i % len(COLOURS)]
                ax.plot(*zip(*points, strict=True), "o-", color=colour, markersize=3, linewidth=1.3, label=label)
        ax.set_title(column.replace("_", " "), fontsize=10)
        ax.set_xlabel(EPOCH, fontsize=9)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.tick_params(labelsize=8)
        ax.spines[["top", "right"]].set_visible(False)
    handles: dict = {}
    for ax in axes.flat[: len(columns)]:
        handles |= dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    figure.legend(handles.values(), handles.keys(), loc="lower center", ncols=3, frameon=False, fontsize=8)
    figure.suptitle("Learning curves of the corrections", fontsize=11)
    figure.tight_layout(rect=(0, (0.1 + 0.2 * legend_lines) / figure.get_figheight(), 1, 1))
    save(figure, plot_path)


def plot_maps(points_path: str, cosines_path: str, plot_path: str) -> None:
    """Draws the maps of texts before and after a correction, and their mean cosines beside them.

    Args:
        points_path: CSV of `crepebench.negation_maps` (POINT_COLUMNS).
        cosines_path: CSV of mean cosines (COLUMNS).
        plot_path: PNG to write.
    """
    points, cosines = read_rows(points_path), read_rows(cosines_path)
    categories = list(dict.fromkeys(row["category"] for row in points))
    colour_of = {category: COLOURS[i % len(COLOURS)] for i, category in enumerate(categories)}
    plt = pyplot()
    figure, axes = plt.subplots(1, 3, figsize=(12.6, 4.7), width_ratios=(1, 1, 0.75))
    for ax, state in zip(axes, STATES, strict=False):
        for row in (row for row in points if row["state"] == state):
            is_negated = row["polarity"] == NEGATED
            marker, fill = ("X", "full") if is_negated else ("o", "none")
            style = {"color": colour_of[row["category"]], "markersize": 6.5, "fillstyle": fill, "markeredgewidth": 1.2}
            ax.plot(float(row["x"]), float(row["y"]), marker, **style | ({"markeredgewidth": 0} if is_negated else {}))
        ax.set_xticks([])
        ax.set_yticks([])
        ax.set_title(f"{state} the correction (t-SNE)", fontsize=10)
    _draw_cosines(axes[2], cosines)
    none = {"linestyle": "none", "markersize": 6.5}
    handles = [plt.Line2D([], [], marker="s", color=colour_of[category], **none) for category in categories]
    handles += [plt.Line2D([], [], marker="o", color="black", fillstyle="none", **none)]
    handles += [plt.Line2D([], [], marker="X", color="black", markeredgewidth=0, **none)]
    names = [*categories, "affirmed", "denied"]
    figure.legend(handles, names, loc="lower center", ncols=len(names), frameon=False, fontsize=8, handletextpad=0.1)
    figure.suptitle("Texts of ten categories, affirmed and denied", fontsize=11)
    figure.tight_layout(rect=(0, 0.35 / figure.get_figheight(), 1, 1))
    save(figure, plot_path)


def _draw_cosines(ax, rows: Sequence[dict]) -> None:
    """Draws the mean cosines: a line from before to after for each relation and polarity of two texts."""
    keys = list(dict.fromkeys((row["relation"], row["polarity"]) for row in rows))
    for y, key in enumerate(keys):
        values = [
            float(row["cosine"])
            for state in STATES
            for row in rows
            if (row["relation"], row["polarity"]) == key and row["state"] == state and row["cosine"]
        ]
        ax.plot(values, [y] * len(values), color="#bbbbbb", linewidth=2, zorder=0)
        for value, colour in zip(values, (BLUE, ORANGE), strict=False):
            ax.plot(value, y, "o", color=colour, markersize=6)
    ax.set_yticks(
        range(len(keys)), [f"{POLARITY_NAMES[polarity]},\n{relation} categories" for relation, polarity in keys]
    )
    ax.yaxis.tick_right()
    ax.tick_params(labelsize=8)
    ax.set_ylim(len(keys) - 0.5, -0.5)
    ax.set_xlabel("mean cosine", fontsize=9)
    ax.set_title("before (blue) and after (orange)", fontsize=10)
    ax.spines[["top", "left"]].set_visible(False)


def plot_attention(table_path: str, plot_path: str) -> None:
    """Draws the mean attention of each head on negation words and on content words, with their ratio.

    Args:
        table_path: CSV of `crepebench.attention_by_type` (COLUMNS).
        plot_path: PNG to write.
    """
    rows = read_rows(table_path)
    if not rows:
        draw_note("No correction with heads of attention was trained.", plot_path)
        return
    figure, ax = pyplot().subplots(figsize=(1.8 + 0.75 * len(rows), 4.0))
    x = np.arange(len(rows))
    kinds = (("negation", BLUE, -0.2), ("content", ORANGE, 0.2))
    for kind, colour, offset in kinds:
        ax.bar(x + offset, [float(row[kind]) for row in rows], 0.4, color=colour, label=f"{kind} words")
    top = max(float(row[kind]) for row in rows for kind, *_ in kinds)
    for i, row in enumerate(rows):
        height = max(float(row["negation"]), float(row["content"])) + 0.02 * top
        is_selective = row["selective"] == CHOSEN
        weight, colour = ("bold", RED) if is_selective else ("normal", "black")
        words = f"{float(row['ratio']):.2f}" if row["ratio"] else "no ratio"
        ax.text(i, height, words, ha="center", va="bottom", fontsize=8, color=colour, weight=weight)
    ax.set_xticks(x, [row["head"] for row in rows])
    ax.set_ylim(0, 1.25 * top)
    ax.set_xlabel("head")
    ax.set_ylabel("mean attention on a word")
    ax.legend(frameon=False, fontsize=8, loc="upper right", ncols=2)
    ax.spines[["top", "right"]].set_visible(False)
    n_selective = sum(row["selective"] == CHOSEN for row in rows)
    figure.suptitle(
        f"Attention by kind of word, {rows[0]['n_prompts']} prompts; above the bars their ratio,\nred over "
        f"{SELECTIVE_RATIO}: {n_selective} of {len(rows)} heads",
        fontsize=10,
    )
    figure.tight_layout()
    save(figure, plot_path)
