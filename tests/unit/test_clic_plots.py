import pytest

from crepebench.clic_plots import MOST_POINTS, plot_clic_curves, plot_clic_gains
from crepebench.clic_tables import COLUMNS
from crepebench.measures import write_csv

CURVE_COLUMNS = (
    *("split", "epoch", "step", "kind", "loss_contrastive", "loss_negative", "loss_unimodal", "negative_right"),
)
CELLS = [("crepe_systematicity", "a/comp", "gap"), ("sugarcrepe", "all", "accuracy"), ("other", "all", "accuracy")]


def steps(n, **changes):
    """Rows of a learning curve: joined and plain steps in turn, and a validation of both kinds."""
    joined = {"loss_contrastive": 2.0, "loss_negative": 0.5, "loss_unimodal": 0.1, "negative_right": 0.75}
    joined |= {"split": "train", "epoch": 1, "kind": "joined"}
    plain = dict.fromkeys(joined, "") | {"split": "train", "epoch": 1, "kind": "plain", "loss_contrastive": 1.0}
    rows = [{"step": i, **(plain if i % 2 else joined)} for i in range(n)]
    rows.append({**joined, "step": n, "split": "validation", "loss_negative": 0.6})
    rows.append({**plain, "step": n, "split": "validation"})
    return [{**row, **changes} for row in rows]


@pytest.fixture
def figures(monkeypatch):
    """The figures that are drawn, in place of files."""
    found = []
    for module in ("clic_plots", "drawing"):
        monkeypatch.setattr(f"crepebench.{module}.save", lambda figure, path: found.append(figure))
    return found


@pytest.fixture
def curves_of(tmp_path, figures):
    """Draws learning curves by label, and returns the figure."""

    def draw(curves):
        paths = [str(tmp_path / f"{i}.csv") for i in range(len(curves))]
        for path, rows in zip(paths, curves.values(), strict=True):
            write_csv(path, CURVE_COLUMNS, rows)
        plot_clic_curves(paths, list(curves), str(tmp_path / "plot.png"))
        return figures[-1]

    return draw


@pytest.fixture
def gains_of(tmp_path, figures):
    """Draws gains, and returns the figure."""

    def draw(rows):
        write_csv(str(tmp_path / "clic.csv"), COLUMNS, rows)
        plot_clic_gains(str(tmp_path / "clic.csv"), str(tmp_path / "plot.png"), CELLS)
        return figures[-1]

    return draw


def panels_of(figure):
    return {ax.get_title().partition(":")[0]: ax for ax in figure.axes if ax.get_title()}


def test_each_loss_has_a_panel_with_training_and_validation(curves_of):
    panels = panels_of(curves_of({"clic seed 0": steps(10)}))
    assert list(panels) == ["contrastive loss", "S-Neg loss", "unimodal loss", "negatives below their captions"]
    lines = [
        (line.get_linestyle(), line.get_marker(), *set(line.get_ydata())) for line in panels["contrastive loss"].lines
    ]
    assert lines == [("-", "None", 2.0), (":", "None", 1.0), ("--", "o", 2.0), (":", "o", 1.0)]
    assert [set(line.get_ydata()) for line in panels["S-Neg loss"].lines] == [{0.5}, {0.6}]
    assert set(panels["negatives below their captions"].lines[0].get_ydata()) == {75.0}


def test_seeds_of_a_variant_share_a_colour_and_variants_do_not(curves_of):
    figure = curves_of({"clic seed 0": steps(4), "clic seed 1": steps(4), "negclip seed 0": steps(4)})
    colours = [line.get_color() for line in panels_of(figure)["S-Neg loss"].lines[::2]]
    assert colours[0] == colours[1] != colours[2]
    assert [text.get_text() for text in figure.legends[0].texts] == ["clic", "negclip"]


def test_long_trainings_are_drawn_as_means_of_neighbouring_steps(curves_of):
    rows = [row | {"loss_contrastive": float(row["step"])} for row in steps(1000)]
    line = panels_of(curves_of({"clic seed 0": rows}))["contrastive loss"].lines[0]
    assert len(line.get_xdata()) == MOST_POINTS
    assert line.get_ydata().tolist() == line.get_xdata().tolist()


def test_a_loss_that_no_training_has_has_no_panel(curves_of):
    assert "unimodal loss" not in panels_of(curves_of({"no_unimodal seed 0": steps(4, loss_unimodal="")}))


def test_without_trainings_the_picture_says_so_and_a_table_without_steps_is_named(curves_of, tmp_path):
    assert curves_of({"clic seed 0": []}).texts[0].get_text().startswith("Nothing was trained")
    write_csv(str(tmp_path / "other.csv"), ("epoch", "loss"), [{"epoch": 0, "loss": 1.0}])
    with pytest.raises(ValueError, match=r"other\.csv: a learning curve needs the columns split, step, kind"):
        plot_clic_curves([str(tmp_path / "other.csv")], ["clic seed 0"], str(tmp_path / "plot.png"))


def gain_rows(variant, values, cell=CELLS[0], base="mini"):
    """Rows of clic.csv: each seed of a variant in a cell, with an interval of two points, and their mean."""
    benchmark, subset, metric = cell
    shared = {"model": f"{variant}:{base}", "base": base, "variant": variant, "benchmark": benchmark}
    shared |= {"subset": subset, "metric": f"{metric}_gain", "published": ""}
    rows = [{**shared, "seed": i, "value": v, "low": v - 1.0, "high": v + 1.0} for i, v in enumerate(values)]
    return [*rows, {**shared, "seed": "mean", "value": sum(values) / len(values), "low": "", "high": ""}]


def bars_of(ax):
    """Value, place, colour of each seed, and values of the means."""
    seeds = [
        (bar.lines[0].get_xdata()[0], bar.lines[0].get_ydata()[0], bar.lines[0].get_color()) for bar in ax.containers
    ]
    return seeds, [line.get_xdata()[0] for line in ax.lines if len(set(line.get_xdata())) < len(line.get_xdata())][1:]


def test_variants_have_a_line_each_with_seeds_intervals_and_mean(gains_of):
    rows = [*gain_rows("clic", [3.0, 5.0]), *gain_rows("single", [-4.0, 0.5]), *gain_rows("clic", [1.5], CELLS[1])]
    figure = gains_of(rows)
    ax, other = figure.axes[:2]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["clic", "single"]
    seeds, means = bars_of(ax)
    assert [value for value, _, _ in seeds] == [3.0, 5.0, -4.0, 0.5]
    assert [round(place) for _, place, _ in seeds] == [0, 0, 1, 1]
    colours = [colour for *_, colour in seeds]
    assert colours[0] == colours[1] and len(set(colours)) == 3  # better, worse, and an interval that holds 0
    assert means == [4.0, -1.75]
    assert other.get_title() == "sugarcrepe\nall\naccuracy" and bars_of(other)[1] == []  # one seed needs no mean
    assert "mini" in figure.get_suptitle()


def test_bases_are_named_where_there_are_several(gains_of):
    figure = gains_of([*gain_rows("clic", [3.0]), *gain_rows("clic", [2.0], base="other")])
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == ["clic\nmini", "clic\nother"]


def test_without_any_of_the_cells_the_picture_says_so(gains_of):
    rows = gain_rows("clic", [3.0], ("winoground", "all", "group"))
    assert gains_of(rows).texts[0].get_text().startswith("No tuned model has a gain")
