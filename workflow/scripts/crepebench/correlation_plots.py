"""Draw recall at 1 against ImageNet top-1, as PNG: the paper's recalls, and those of our own tables."""

import json
from collections.abc import Mapping, Sequence

import numpy as np

from crepebench.correlations import ALL, SEVEN, Model, groups_of, pearson, read_facts
from crepebench.drawing import pyplot, read_rows, save
from crepebench.families import SYSTEMATICITY
from crepebench.recall_series import GAP, Series, measured_series, published_series
from crepebench.splits import SC, UC

COLOURS = {SC: "#1b6ca8", UC: "#d1732c"}
NAMES = {SC: "seen compounds", UC: "unseen compounds"}
FEWEST, MOST = "#1b6ca8", "#d1732c"
"""Colours of the smallest and of the greatest number of atoms."""
MARKERS = "osD^vP*X"
PAGE_COLUMNS = 3


def panels_of(series: Sequence[Series], models: Mapping[str, Model]) -> list[tuple[str, list[tuple]]]:
    """Returns the title of each panel, and label, colour, series and members of each of its lines.

    A panel is a foil type of one family, protocol and kind of recalls; its lines are SC and UC, or the smallest and
    the greatest number of atoms. What has fewer than three models with a known top-1 has no line.
    """
    panels: dict[tuple[str, ...], list[Series]] = {}
    for each in series:
        if each.split != GAP:
            panels.setdefault(each.key[:4], []).append(each)
    found = []
    for (recalls, protocol, family, foil_type), cells in panels.items():
        shown = cells if family == SYSTEMATICITY else [*cells[:1], *cells[1:][-1:]]
        lines = []
        for cell in shown:
            groups = dict(groups_of(cell, models))
            members = groups.get(SEVEN) or groups.get(ALL)
            if members:
                label = NAMES[cell.split] if cell.split else f"{cell.complexity} atoms"
                colour = COLOURS.get(cell.split) or (FEWEST if cell is shown[0] else MOST)
                lines.append((label, colour, cell, members))
        if lines:
            found.append((f"{recalls} ({protocol})\n{family}: {foil_type}", lines))
    return found


def plot_imagenet_correlation(
    systematicity_path: str,
    productivity_path: str,
    published_path: str,
    recalls_path: str,
    checkpoints_path: str,
    known_path: str,
    plot_path: str,
    cfg: str,
) -> None:
    """Draws a panel for each foil type, with a straight line and its R² for each split or number of atoms.

    Args:
        systematicity_path: systematicity.csv.
        productivity_path: productivity.csv.
        published_path: resources/published/models.csv.
        recalls_path: resources/published/recalls.csv.
        checkpoints_path: resources/published/checkpoints.csv.
        known_path: resources/models/models.csv.
        plot_path: PNG to write.
        cfg: JSON of `models` (pairs of name and definition).
    """
    models = read_facts(published_path, known_path, checkpoints_path, dict(json.loads(cfg)["models"]))
    measured = measured_series(read_rows(systematicity_path), read_rows(productivity_path))
    panels = panels_of([*published_series(recalls_path), *measured], models)
    corpora = sorted({corpus for model in models.values() for corpus in model.training_data})
    marker_of = {corpus: MARKERS[i % len(MARKERS)] for i, corpus in enumerate(corpora)}
    n_columns = min(len(panels), PAGE_COLUMNS)
    n_lines = -(-len(panels) // n_columns)
    plt = pyplot()
    figure, axes = plt.subplots(n_lines, n_columns, figsize=(0.6 + 3.3 * n_columns, 1.4 + 3.0 * n_lines), squeeze=False)
    for ax in axes.flat[len(panels) :]:
        ax.axis("off")
    drawn: dict[str, object] = {}
    for ax, (title, lines) in zip(axes.flat, panels, strict=False):
        for label, colour, cell, members in lines:
            _draw_line(ax, label, colour, cell, members, models)
            for name in members:
                corpus = " ".join(models[name].training_data)
                marker = marker_of[models[name].training_data[0]]
                point = (models[name].imagenet_top1, cell.values[name])
                ax.plot(*point, marker, color=colour, markersize=5)
                drawn.setdefault(corpus, plt.Line2D([], [], color="black", marker=marker, linestyle="none"))
        ax.set_title(title, fontsize=9)
        ax.set_xlabel("ImageNet top-1 (%)", fontsize=8)
        ax.legend(frameon=False, fontsize=7)
        ax.spines[["top", "right"]].set_visible(False)
    for line in axes:
        line[0].set_ylabel("R@1 (%)")
    figure.legend(drawn.values(), drawn.keys(), loc="lower center", ncols=len(drawn), frameon=False, fontsize=8)
    figure.suptitle("Recall at 1 against ImageNet top-1, a point a model", fontsize=11)
    figure.tight_layout(rect=(0, 0.35 / figure.get_figheight(), 1, 1))
    save(figure, plot_path)


def _draw_line(ax, label: str, colour: str, cell: Series, members: Sequence[str], models: Mapping[str, Model]) -> None:
    """Draws the straight line of least squares; its label has R² and the number of models."""
    x = np.array([models[name].imagenet_top1 for name in members])
    y = np.array([cell.values[name] for name in members])
    r = pearson(list(x), list(y))
    fit = f"R² {r**2:.2f}" if r is not None else "no R²"
    ends = np.array([x.min(), x.max()])
    line = np.polyval(np.polyfit(x, y, 1), ends) if r is not None else np.full(2, y.mean())
    ax.plot(ends, line, color=colour, linewidth=1.2, label=f"{label}: {fit}, {len(members)} models")
