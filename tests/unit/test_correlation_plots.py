import json

import pytest
from matplotlib.figure import Figure

from crepebench.correlation_plots import plot_imagenet_correlation

from .published_files import productivity_row, published_paths, write_tables

PARTS = ("models", "recalls", "checkpoints")


@pytest.fixture
def drawn(repository, tmp_path, monkeypatch):
    """Draws rows of productivity.csv beside the paper's figures and returns the figure."""
    figures: list[Figure] = []
    monkeypatch.setattr("crepebench.correlation_plots.save", lambda figure, path: figures.append(figure))

    def draw(productivity=(), models=()):
        paths = {**write_tables(tmp_path, [], productivity), **published_paths(repository, *PARTS)}
        plot_imagenet_correlation(**paths, plot_path="plot.png", cfg=json.dumps({"models": models}))
        return figures[-1]

    return draw


def panels(figure):
    """Returns the texts of each panel's legend, by its title; panels without a title are empty."""
    return {
        ax.get_title().replace("\n", " "): [text.get_text() for text in ax.get_legend().texts]
        for ax in figure.axes
        if ax.get_title()
    }


def test_paper_has_a_panel_for_each_foil_type_with_its_squared_correlations(drawn):
    found = panels(drawn())
    assert len(found) == 6
    lines = ["seen compounds: R² 0.95, 7 models", "unseen compounds: R² 0.80, 7 models"]
    assert found["published (paper) systematicity: atom"] == lines
    lines = ["4 atoms: R² 0.07, 7 models", "12 atoms: R² 0.47, 7 models"]
    assert found["published (paper) productivity: swap"] == lines


def test_measured_recalls_have_panels_of_their_own(drawn):
    names = ["rn50_cc12m", "rn50_yfcc15m", "vit_b_32_laion400m"]
    rows = [
        productivity_row(name, n, recall=20.0 + i, protocol="refined") for i, name in enumerate(names) for n in (4, 5)
    ]
    models = [(name, {"training_data": []}) for name in names]
    found = panels(drawn(rows, models))
    assert len(found) == 7
    assert [text.split(":")[0] for text in found["measured (refined) productivity: atom"]] == ["4 atoms", "5 atoms"]


def test_two_measured_models_have_no_panel(drawn):
    rows = [productivity_row(name, 4) for name in ("rn50_cc12m", "rn50_yfcc15m")]
    assert len(panels(drawn(rows))) == 6
