import pytest
from matplotlib.figure import Figure

from crepebench.measures import write_csv
from crepebench.productivity_plots import complexity_rows, plot_productivity, stretches
from crepebench.productivity_tables import PRODUCTIVITY_COLUMNS


def table_row(complexity, source="template", model="mini", foil_type="atom", recall=50.0):
    row = dict.fromkeys(PRODUCTIVITY_COLUMNS, "")
    key = {"model": model, "foil_type": foil_type, "complexity": str(complexity), "caption_source": source}
    bounds = {"recall_at_1_low": recall - 5, "recall_at_1_high": recall + 5}
    lines = {"random_recall_at_1": 16.67, "blind_recall_at_1": 20.0}
    return {**row, **key, "recall_at_1": recall, **bounds, **lines}


def test_complexities_come_in_order_and_the_row_of_all_sources_stands_for_them():
    rows = [table_row(10), table_row(5, "model"), table_row(5), table_row(5, "all"), table_row(4), table_row("all")]
    found = [(row["complexity"], row["caption_source"]) for row in complexity_rows(rows)]
    assert found == [("4", "template"), ("5", "all"), ("10", "template")]


def test_line_is_cut_where_the_source_changes():
    rows = [table_row(4), table_row(5, "model"), table_row(6, "model"), table_row(7, "all")]
    assert [[row["complexity"] for row in stretch] for stretch in stretches(rows)] == [["4"], ["5", "6"], ["7"]]


@pytest.fixture
def drawn(tmp_path, monkeypatch):
    """Draws a table and returns the figure."""
    figures: list[Figure] = []
    for module in ("productivity_plots", "drawing"):
        monkeypatch.setattr(f"crepebench.{module}.save", lambda figure, path: figures.append(figure))

    def draw(rows):
        write_csv(str(tmp_path / "table.csv"), PRODUCTIVITY_COLUMNS, rows)
        plot_productivity(str(tmp_path / "table.csv"), str(tmp_path / "plot.png"))
        return figures[-1]

    return draw


def test_each_foil_type_has_a_panel_with_a_line_for_each_model_and_two_of_chance(drawn):
    rows = [
        table_row(n, model=model, foil_type=name, recall=10.0 * n)
        for model in ("a", "b")
        for name in ("atom", "swap")
        for n in (4, 5)
    ]
    figure = drawn(rows)
    assert [ax.get_title() for ax in figure.axes] == ["atom", "swap"]
    assert [text.get_text() for text in figure.legends[0].texts] == ["random", "text alone", "a", "b"]
    points = [container.lines[0].get_ydata().tolist() for container in figure.axes[0].containers]
    assert points == [[40.0, 50.0], [40.0, 50.0]]


def test_picture_of_an_empty_table_says_why(drawn):
    assert "No query could be scored" in drawn([]).texts[0].get_text()
