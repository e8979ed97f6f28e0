"""Draw the analysis of text layers, as PNG: curves with the chosen layers, the control experiment, the linear probe."""

import json
import textwrap
from collections.abc import Sequence
from pathlib import Path

from crepebench.drawing import draw_note, pyplot, read_rows, save
from crepebench.negation_controls import CONDITIONS

BLUE, ORANGE, GREY, RED = "#1b6ca8", "#d1732c", "#7a7a7a", "#b3123b"
CONDITION_COLOURS = dict(zip(CONDITIONS, (BLUE, ORANGE, GREY), strict=True))
ANCHOR_COLOUR = "#4c9f70"
NO_MODEL = "No model with a text tower that can be read layer by layer was analysed."
TITLE_LENGTH = 84
"""Characters of a line of a panel's title."""
MOST_TICKS = 12
LINE_OFFSET = 0.012
"""Share of the axis between lines that mark one layer."""


def read_analyses(layers_paths: Sequence[str]) -> list[dict]:
    """Reads the files layers.json of models."""
    return [json.loads(Path(path).read_text(encoding="utf-8")) for path in layers_paths]


def plot_layer_curves(layers_paths: Sequence[str], plot_path: str) -> None:
    """Draws D and A by layer with their intervals: a line of two panels for each model, the chosen layers marked.

    Args:
        layers_paths: layers.json of each model.
        plot_path: PNG to write.
    """
    analyses = read_analyses(layers_paths)
    if not analyses:
        draw_note(NO_MODEL, plot_path)
        return
    figure, axes = pyplot().subplots(len(analyses), 2, figsize=(9.4, 1.1 + 3.1 * len(analyses)), squeeze=False)
    for (left, right), analysis in zip(axes, analyses, strict=True):
        _draw_curve(left, analysis, "distance", BLUE, "end token")
        _draw_curve(left, analysis, "token_distance", ORANGE, "mean over tokens")
        _draw_curve(right, analysis, "alignment", BLUE, "end token")
        for ax in (left, right):
            _mark_layers(ax, analysis)
            _lay_axis(ax, analysis["n_layers"])
        left.set_ylim(bottom=0)
        left.set_ylabel("D: distance of\ncaption and negation", fontsize=9)
        right.set_ylabel("A: cosine of\ncaption and image", fontsize=9)
        left.set_title(analysis["model"], fontsize=10, loc="left")
        right.set_title(_summary(analysis), fontsize=8, loc="left", color="black" if analysis["collapse"] else RED)
    handles = _legend_entries(axes)
    figure.legend(handles.values(), handles.keys(), loc="lower center", ncols=len(handles), frameon=False, fontsize=8)
    figure.suptitle("Where a text tower tells a caption from its negation, and where it meets the image", fontsize=11)
    figure.tight_layout(rect=(0, 0.32 / figure.get_figheight(), 1, 1))
    save(figure, plot_path)


def _summary(analysis: dict) -> str:
    """Says what was chosen, and whether D falls behind the peak."""
    fall = analysis["fall"]
    words = f"D falls behind the peak by {fall['value']:.3f} [{fall['low']:.3f}, {fall['high']:.3f}]"
    if not analysis["collapse"]:
        words = "no collapse: D does not fall behind the peak"
    chosen = "by the rule" if analysis["chosen_by"] == "rule" else "by the config"
    return f"{analysis['n_triples']:,} triples, layers chosen {chosen}\n{words}"


def _draw_curve(ax, analysis: dict, name: str, colour: str, label: str) -> None:
    x = range(1, analysis["n_layers"] + 1)
    ax.plot(x, analysis[name], "o-", color=colour, markersize=3.5, linewidth=1.4, label=label)
    ax.fill_between(x, analysis[f"{name}_low"], analysis[f"{name}_high"], color=colour, alpha=0.2, linewidth=0)


def _mark_layers(ax, analysis: dict) -> None:
    """Marks peak, anchor and onset with upright lines, side by side where layers are equal."""
    marks = (("peak", RED, "dashed"), ("anchor", ANCHOR_COLOUR, "dashdot"), ("onset", "black", "dotted"))
    marks = tuple(mark for mark in marks if analysis[mark[0]] is not None)
    for i, (name, colour, style) in enumerate(marks):
        n_before = sum(analysis[other] == analysis[name] for other, *_ in marks[:i])
        x = analysis[name] + LINE_OFFSET * analysis["n_layers"] * n_before
        ax.axvline(x, color=colour, linestyle=style, linewidth=1.3, label=f"{name} layer", zorder=0)


def _legend_entries(axes) -> dict:
    """Returns what the legends of all panels show, by label, each once."""
    handles: dict = {}
    for ax in axes.flat:
        handles |= dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    return handles


def _lay_axis(ax, n_layers: int) -> None:
    ax.set_xticks(range(1, n_layers + 1, -(-n_layers // MOST_TICKS)))
    ax.set_xlabel("layer", fontsize=9)
    ax.tick_params(labelsize=8)
    ax.spines[["top", "right"]].set_visible(False)


def plot_controls(layers_paths: Sequence[str], plot_path: str) -> None:
    """Draws the distance of a caption and its negation, paraphrase, and a random caption: a panel for each model.

    Args:
        layers_paths: layers.json of each model.
        plot_path: PNG to write.
    """
    analyses = read_analyses(layers_paths)
    if not analyses:
        draw_note(NO_MODEL, plot_path)
        return
    figure, axes = pyplot().subplots(len(analyses), 1, figsize=(6.4, 0.9 + 3.3 * len(analyses)), squeeze=False)
    for ax, analysis in zip(axes[:, 0], analyses, strict=True):
        x = range(1, analysis["n_layers"] + 1)
        for name, colour in CONDITION_COLOURS.items():
            found = analysis["controls"]["conditions"][name]
            if found["n"]:
                label = f"{name} ({found['n']:,} pairs)"
                ax.plot(x, found["distance"], "o-", color=colour, markersize=3.5, linewidth=1.4, label=label)
                ax.fill_between(x, found["low"], found["high"], color=colour, alpha=0.2, linewidth=0)
        _lay_axis(ax, analysis["n_layers"])
        ax.set_ylim(bottom=0)
        ax.set_ylabel("distance of the captions", fontsize=9)
        verdict = textwrap.fill(analysis["controls"]["verdict"], TITLE_LENGTH)
        ax.set_title(f"{analysis['model']}\n{verdict}", fontsize=8, loc="left")
        ax.legend(frameon=False, fontsize=8)
    figure.suptitle("A caption beside its negation, its paraphrase and a random caption", fontsize=11)
    figure.tight_layout()
    save(figure, plot_path)


def plot_probe(layers_paths: Sequence[str], plot_path: str, published_path: str = "") -> None:
    """Draws the accuracy of the linear probe by layer, with the baseline of negation words and chance.

    Args:
        layers_paths: layers.json of each model.
        plot_path: PNG to write.
        published_path: CSV of published points (quantity, layer, value), or "".
    """
    analyses = [analysis for analysis in read_analyses(layers_paths) if not analysis["probe"]["reason"]]
    if not analyses:
        draw_note("No model has pairs enough for a linear probe.", plot_path)
        return
    points = [
        (int(row["layer"]), float(row["value"]))
        for row in (read_rows(published_path) if published_path else [])
        if row["quantity"] == "probe_accuracy"
    ]
    figure, axes = pyplot().subplots(len(analyses), 1, figsize=(6.4, 1.3 + 2.9 * len(analyses)), squeeze=False)
    for ax, analysis in zip(axes[:, 0], analyses, strict=True):
        probe = analysis["probe"]
        x = range(1, analysis["n_layers"] + 1)
        ax.plot(x, probe["accuracy"], "o-", color=BLUE, markersize=4, linewidth=1.4, label="probe, pairs held out")
        ax.axhline(probe["baseline"], color=RED, linewidth=1.6, label="negation words alone")
        ax.axhline(50, color="black", linestyle="dotted", linewidth=1.2, label="chance")
        if points and analysis["n_layers"] >= points[-1][0]:
            label = "published (ViT-B/32, other captions)"
            ax.plot(*zip(*points, strict=True), "s", color=GREY, markersize=5, fillstyle="none", label=label)
        ax.axvline(analysis["peak"], color=GREY, linestyle="dashed", linewidth=1.0, label="peak layer", zorder=0)
        _lay_axis(ax, analysis["n_layers"])
        ax.set_ylim(45, 102)
        ax.set_ylabel("accuracy (%)", fontsize=9)
        size = f"{probe['n_train']:,} pairs to train, {probe['n_test']:,} to test"
        ax.set_title(f"{analysis['model']}: {size}", fontsize=9, loc="left")
    handles = _legend_entries(axes)
    figure.legend(handles.values(), handles.keys(), loc="lower center", ncols=3, frameon=False, fontsize=8)
    figure.suptitle("Negated or affirmative, by a linear probe of each layer", fontsize=11)
    figure.tight_layout(rect=(0, 0.5 / figure.get_figheight(), 1, 1))
    save(figure, plot_path)
