import json

import numpy as np
import pytest

from crepebench.measures import write_csv
from crepebench.negation_plots import plot_controls, plot_layer_curves, plot_probe

CURVE = [0.1, 0.3, 0.2]


def analysis(model="mini", **changes):
    found = {"model": model, "n_layers": 3, "n_triples": 1000, "peak": 2, "anchor": 1, "onset": 2, "collapse": True}
    found |= {"chosen_by": "rule", "fall": {"value": 0.1, "low": 0.05, "high": 0.15}}
    for name in ("distance", "alignment", "token_distance"):
        found |= {name: CURVE, f"{name}_low": CURVE, f"{name}_high": CURVE}
    curve = {"n": 10, "distance": CURVE, "low": CURVE, "high": CURVE}
    found["controls"] = {"verdict": "negation peaks", "conditions": {}}
    found["controls"]["conditions"] = {"negation": curve, "paraphrase": {"n": 0}, "random": curve}
    found["probe"] = {"reason": "", "accuracy": [60.0, 90.0, 80.0], "baseline": 97.0, "n_train": 8, "n_test": 2}
    return {**found, **changes}


@pytest.fixture
def drawn(tmp_path, monkeypatch):
    """Draws analyses and returns the figure."""
    figures = []
    for module in ("negation_plots", "drawing"):
        monkeypatch.setattr(f"crepebench.{module}.save", lambda figure, path: figures.append(figure))

    def draw(plot, *analyses, **options):
        paths = []
        for i, each in enumerate(analyses):
            paths.append(str(tmp_path / f"{i}.json"))
            (tmp_path / f"{i}.json").write_text(json.dumps(each))
        plot(paths, str(tmp_path / "plot.png"), **options)
        return figures[-1]

    return draw


def test_each_model_has_its_curves_with_the_chosen_layers(drawn):
    figure = drawn(plot_layer_curves, analysis("a"), analysis("b"))
    assert [ax.get_title(loc="left") for ax in figure.axes[::2]] == ["a", "b"]
    assert figure.axes[0].lines[0].get_ydata().tolist() == CURVE
    marks = {line.get_label(): line.get_xdata()[0] for line in figure.axes[0].lines if "layer" in line.get_label()}
    assert (marks["peak layer"], marks["anchor layer"]) == (2, 1)
    assert 2 < marks["onset layer"] < 2.1  # beside the peak, which it would hide
    assert "D falls behind the peak by 0.100 [0.050, 0.150]" in figure.axes[1].get_title(loc="left")


def test_lack_of_a_collapse_and_of_an_onset_show(drawn):
    figure = drawn(plot_layer_curves, analysis(collapse=False, onset=None))
    assert "no collapse" in figure.axes[1].get_title(loc="left")
    assert "onset layer" not in [text.get_text() for text in figure.legends[0].texts]


def test_controls_leave_out_conditions_without_pairs_and_say_the_verdict(drawn):
    ax = drawn(plot_controls, analysis()).axes[0]
    assert [text.get_text() for text in ax.get_legend().texts] == ["negation (10 pairs)", "random (10 pairs)"]
    assert "negation peaks" in ax.get_title(loc="left")


def test_published_points_stand_beside_a_probe_of_as_many_layers(drawn, tmp_path):
    path = str(tmp_path / "published.csv")
    rows = [{"quantity": "probe_accuracy", "layer": 3, "value": "87.90"}]
    write_csv(path, ("quantity", "layer", "value"), [*rows, {"quantity": "peak_layer", "layer": 3, "value": ""}])
    longer = drawn(plot_probe, analysis(), published_path=path).axes[0]
    assert [list(line.get_ydata()) for line in longer.lines if "published" in line.get_label()] == [[87.9]]
    shorter = drawn(plot_probe, analysis(n_layers=2, probe={**analysis()["probe"], "accuracy": [1.0, 2.0]}))
    assert not any("published" in str(line.get_label()) for line in shorter.axes[0].lines)


def test_committed_published_points_can_be_drawn(drawn, repository):
    path = repository / "resources" / "negation" / "published_layers.csv"
    long = {name: analysis()[name] for name in ("probe",)}
    long["probe"]["accuracy"] = np.linspace(60, 90, 12).tolist()
    ax = drawn(plot_probe, analysis(n_layers=12, **long), published_path=str(path)).axes[0]
    assert [list(line.get_ydata()) for line in ax.lines if "published" in line.get_label()] == [[87.6, 94.0, 87.9]]


@pytest.mark.parametrize("plot", [plot_layer_curves, plot_controls, plot_probe])
def test_picture_without_models_says_why(drawn, plot):
    assert drawn(plot).texts[0].get_text().startswith("No model")


def test_model_without_a_probe_has_no_panel(drawn):
    assert "No model" in drawn(plot_probe, analysis(probe={"reason": "too few"})).texts[0].get_text()
