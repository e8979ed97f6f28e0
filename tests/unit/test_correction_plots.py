import pytest

from crepebench import attention_by_type, negation_maps
from crepebench.correction_plots import SWEEP_COLUMNS, plot_attention, plot_learning_curves, plot_maps, plot_sweep
from crepebench.measures import write_csv


@pytest.fixture
def drawn(tmp_path, monkeypatch):
    """Draws tables of rows and returns the figure."""
    figures = []
    for module in ("correction_plots", "drawing"):
        monkeypatch.setattr(f"crepebench.{module}.save", lambda figure, path: figures.append(figure))

    def draw(plot, *tables):
        paths = []
        for i, (columns, rows) in enumerate(tables):
            paths.append(str(tmp_path / f"{i}.csv"))
            write_csv(paths[-1], columns, [dict(zip(columns, row, strict=True)) for row in rows])
        plot(*paths, str(tmp_path / "plot.png"))
        return figures[-1]

    return draw


def draw_curves(paths_and_plot):
    *paths, plot = paths_and_plot
    plot_learning_curves(paths, [f"run {i}" for i in range(len(paths))], plot)


def test_sweep_has_a_line_for_each_anchor_and_marks_the_chosen_layers(drawn):
    rows = [
        ("mini", peak, anchor, 50.0 + peak, 40.0, "yes" if (peak, anchor) == (3, 1) else "")
        for peak in (3, 2)
        for anchor in (1, 2)
    ]
    (ax,) = drawn(plot_sweep, (SWEEP_COLUMNS, rows)).axes
    lines = {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in ax.lines}
    assert lines["anchor layer 1"] == ([2, 3], [52.0, 53.0])
    assert lines["chosen"] == ([3], [53.0])
    assert lines["frozen model"][1] == [40.0, 40.0]


def test_losses_and_accuracies_have_a_panel_each_and_other_columns_none(drawn):
    columns = ("epoch", "loss", "loss_ecn", "accuracy", "seconds")
    tables = [(columns, [(0, "", "", 30.0, 0.0), (1, 2.0, 1.0, 50.0, 9.0)]), (columns, [(1, 3.0, "", 40.0, 9.0)])]
    figure = drawn(lambda *paths: draw_curves(paths), *tables)
    panels = {ax.get_title(): [list(line.get_ydata()) for line in ax.lines] for ax in figure.axes}
    assert panels == {"loss": [[2.0], [3.0]], "loss ecn": [[1.0]], "accuracy": [[30.0, 50.0], [40.0]]}
    assert [text.get_text() for text in figure.legends[0].texts] == ["run 0", "run 1"]


def test_learning_curve_without_epochs_is_named(drawn):
    with pytest.raises(ValueError, match=r"0.csv: a learning curve needs a column epoch"):
        drawn(lambda *paths: draw_curves(paths), (("loss",), [(1.0,)]))


def test_map_shows_every_text_before_and_after_and_the_cosines(drawn):
    points = [
        (state, "dog", polarity, "a dog", 0.0, 1.0)
        for state in ("before", "after")
        for polarity in ("affirmative", "negated")
    ]
    cosines = [("before", "within", "mixed", "0.90", 1), ("after", "within", "mixed", "0.50", 1)]
    cosines += [(state, "between", "mixed", "", 0) for state in ("before", "after")]
    figure = drawn(plot_maps, (negation_maps.POINT_COLUMNS, points), (negation_maps.COLUMNS, cosines))
    before, after, table = figure.axes
    assert (len(before.lines), len(after.lines)) == (2, 2)
    assert list(table.lines[0].get_xdata()) == [0.9, 0.5]
    assert [text.get_text() for text in figure.legends[0].texts] == ["dog", "affirmed", "denied"]


def test_selective_heads_are_counted_and_marked(drawn):
    rows = [(0, 0.4, 0.1, "4.0", "yes", 12), (1, 0.1, 0.1, "1.0", "no", 12), (2, 0.1, 0.0, "", "yes", 12)]
    figure = drawn(plot_attention, (attention_by_type.COLUMNS, rows))
    assert "2 of 3 heads" in figure.get_suptitle()
    texts = figure.axes[0].texts
    assert [text.get_text() for text in texts] == ["4.00", "1.00", "no ratio"]
    assert [text.get_weight() for text in texts] == ["bold", "normal", "bold"]


@pytest.mark.parametrize(
    ("plot", "columns"), [(plot_sweep, SWEEP_COLUMNS), (plot_attention, attention_by_type.COLUMNS)]
)
def test_picture_of_an_empty_table_says_why(drawn, plot, columns):
    assert "trained" in drawn(plot, (columns, [])).texts[0].get_text()


def test_picture_without_trainings_says_why(drawn):
    assert "Nothing was trained" in drawn(lambda plot: draw_curves([plot])).texts[0].get_text()
