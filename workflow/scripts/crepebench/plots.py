"""Draw the tables of the systematicity family and of what was dropped, as PNG."""

import textwrap

import numpy as np

from crepebench.accounting import KEPT, READ
from crepebench.drawing import draw_note, pyplot, read_rows, save

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


def plot_systematicity(table_path: str, plot_path: str) -> None:
    """Draws R@1 by foil type and split, one panel per corpus and model, with intervals and random line.

    Args:
        table_path: systematicity.csv.
        plot_path: PNG to write.
    """
    rows = read_rows(table_path)
    if not rows:
        draw_note("No query could be scored: see results/tables/accounting.csv.", plot_path)
        return
    panels = list(dict.fromkeys((row["training_corpus"], row["model"]) for row in rows))
    n_columns = min(len(panels), PANELS_PER_LINE)
    n_lines = -(-len(panels) // n_columns)
    plt = pyplot()
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
    save(figure, plot_path)


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
    rows = read_rows(table_path)
    if not rows:
        draw_note("No model has scored queries in both SC and UC: see results/tables/systematicity.csv.", plot_path)
        return
    models = list(dict.fromkeys((row["training_corpus"], row["model"]) for row in rows))
    foil_types = list(dict.fromkeys(row["foil_type"] for row in rows))
    plt = pyplot()
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
    save(figure, plot_path)


def plot_thinned_gap(table_path: str, plot_path: str) -> None:
    """Draws the gap against the recall to which vocabularies are thinned: a panel a foil type, a line a model.

    Args:
        table_path: systematicity_gap_by_recall.csv.
        plot_path: PNG to write.
    """
    rows = read_rows(table_path)
    if not rows:
        draw_note("No model has scored queries in both SC and UC at any recall.", plot_path)
        return
    models = list(dict.fromkeys((row["training_corpus"], row["model"]) for row in rows))
    foil_types = list(dict.fromkeys(row["foil_type"] for row in rows))
    colours = (BLUE, *REASON_COLOURS[::2], *REASON_COLOURS[1::2])  # neighbours in that list are alike
    n_columns = min(len(models), PANELS_PER_LINE)
    legend_height = 0.1 + 0.2 * -(-len(models) // n_columns)
    plt = pyplot()
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
    save(figure, plot_path)


def plot_accounting(table_path: str, plot_path: str) -> None:
    """Draws what each stage kept and dropped as shares of what it read, and names the reasons beside the bar.

    Stages that dropped nothing are left out.

    Args:
        table_path: accounting.csv.
        plot_path: PNG to write.
    """
    by_stage: dict[str, dict[str, int]] = {}
    for row in read_rows(table_path):
        by_stage.setdefault(f"{row['stage']} ({row['unit']})", {})[row["reason"]] = int(row["count"])
    stages = {stage: counts for stage, counts in by_stage.items() if counts[KEPT] < counts[READ]}
    if not stages:
        draw_note("No stage dropped anything.", plot_path)
        return
    plt = pyplot()
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
    save(figure, plot_path)
