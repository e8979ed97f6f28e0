"""What all pictures share: matplotlib without a screen, tables as rows, notes, files whole or not at all."""

import csv

from crepebench.files import atomic_path

PNG_METADATA = {"Software": None}
"""No version of matplotlib in the file, so that equal pictures are equal files."""


def read_rows(table_path: str) -> list[dict]:
    """Reads a table for people."""
    with open(table_path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def draw_note(note: str, plot_path: str) -> None:
    """Draws a picture that says why there is nothing to draw, so that the run and its report are complete."""
    plt = pyplot()
    figure = plt.figure(figsize=(8, 1.5))
    figure.text(0.5, 0.5, note, ha="center", va="center", fontsize=10)
    save(figure, plot_path)


def pyplot():
    """Returns matplotlib.pyplot, which draws into files only."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def save(figure, path: str) -> None:
    """Writes a figure as PNG and closes it."""
    with atomic_path(path) as partial:
        figure.savefig(partial, dpi=120, metadata=PNG_METADATA)
    pyplot().close(figure)
