"""Draw the tables of the productivity family, as PNG."""

import numpy as np

from crepebench.drawing import draw_note, pyplot, read_rows, save
from crepebench.productivity_tables import ALL

COLOURS = ("#1b6ca8", "#d1732c", "#4c9f70", "#8c6bb1", "#c05a75", "#5b9aa0", "#b5a642", "#444444")
BLIND_COLOUR = "#b3123b"
OFFSET = 0.08
"""Atoms between two models' points."""
STEP = 20
"""Points of recall to which the axis is rounded up."""


def complexity_rows(rows: list[dict]) -> list[dict]:
    """Returns one row for each complexity, ascending: that of all sources of captions where there are several."""
    by_complexity: dict[int, dict] = {}
    for row in rows:
        if row["complexity"] != ALL:
            n = int(row["complexity"])
            if n not in by_complexity or row["caption_source"] == ALL:
                by_complexity[n] = row
    return [by_complexity[n] for n in sorted(by_complexity)]


def stretches(rows: list[dict]) -> list[list[dict]]:
    """Cuts rows where the source of the captions changes: such complexities are not to be compared along one line."""
    found: list[list[dict]] = []
    for row in rows:
        if not found or found[-1][-1]["caption_source"] != row["caption_source"]:
            found.append([])
        found[-1].append(row)
    return found


def plot_productivity(table_path: str, plot_path: str) -> None:
    """Draws R@1 against the number of atoms: a panel for each foil type, a line for each model, with intervals.

    Args:
        table_path: productivity.csv.
        plot_path: PNG to write.
    """
    rows = read_rows(table_path)
    if not rows:
        draw_note("No query could be scored: see results/tables/accounting.csv.", plot_path)
        return
    models = list(dict.fromkeys(row["model"] for row in rows))
    foil_types = list(dict.fromkeys(row["foil_type"] for row in rows))
    n_columns = min(len(models) + 2, 5)
    columns = ("recall_at_1_high", "random_recall_at_1", "blind_recall_at_1")
    top = min(100, STEP * (1 + max(float(row[column]) for row in rows for column in columns) // STEP))
    legend_height = 0.15 + 0.2 * -(-(len(models) + 2) // n_columns)
    plt = pyplot()
    figure, axes = plt.subplots(
        1, len(foil_types), figsize=(1.0 + 3.3 * len(foil_types), 3.7 + legend_height), sharey=True, squeeze=False
    )
    for ax, foil_type in zip(axes[0], foil_types, strict=True):
        for i, model in enumerate(models):
            of_model = [row for row in rows if row["foil_type"] == foil_type and row["model"] == model]
            offset = OFFSET * (i - (len(models) - 1) / 2)
            _draw_model(ax, complexity_rows(of_model), offset, COLOURS[i % len(COLOURS)], model)
        found = complexity_rows([row for row in rows if row["foil_type"] == foil_type])
        x = [int(row["complexity"]) for row in found]
        for column, colour, style, label in (
            ("random_recall_at_1", "black", "dotted", "random"),
            ("blind_recall_at_1", BLIND_COLOUR, "solid", "text alone"),
        ):
            values = [float(row[column]) for row in found]
            ax.plot(x, values, color=colour, linestyle=style, linewidth=1.6, label=label)
        ax.set_title(foil_type, fontsize=10)
        ax.set_xticks(sorted({int(row["complexity"]) for row in rows if row["complexity"] != ALL}))
        ax.set_xlabel("atoms of the caption")
        ax.set_ylim(0, top)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0][0].set_ylabel("R@1 (%)")
    handles, labels = axes[0][0].get_legend_handles_labels()
    by_label = dict(zip(labels, handles, strict=True))
    figure.legend(by_label.values(), by_label.keys(), loc="lower center", ncols=n_columns, frameon=False, fontsize=8)
    figure.suptitle("Retrieval of the true caption, by number of its atoms", fontsize=11)
    figure.tight_layout(rect=(0, legend_height / figure.get_figheight(), 1, 1))
    save(figure, plot_path)


def _draw_model(ax, rows: list[dict], offset: float, colour: str, model: str) -> None:
    for stretch in stretches(rows):
        x = np.array([int(row["complexity"]) for row in stretch]) + offset
        values, lows, highs = (
            np.array([float(row[column]) for row in stretch])
            for column in ("recall_at_1", "recall_at_1_low", "recall_at_1_high")
        )
        errors = np.clip([values - lows, highs - values], 0, None)
        ax.errorbar(
            x,
            values,
            errors,
            fmt="o-",
            color=colour,
            markersize=3.5,
            linewidth=1.3,
            elinewidth=0.8,
            capsize=2,
            label=model,
        )
