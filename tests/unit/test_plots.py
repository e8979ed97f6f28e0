import io
import json
import zipfile

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from PIL import Image

from crepebench.accounting import COLUMNS as ACCOUNTING_COLUMNS
from crepebench.contact_sheets import plot_contact_sheet
from crepebench.measures import write_csv
from crepebench.plots import (
    BLUE,
    plot_accounting,
    plot_systematicity,
    plot_systematicity_gap,
    plot_thinned_gap,
)
from crepebench.schema import IMAGES, RETRIEVAL_SETS, write_table
from crepebench.systematicity_tables import GAP_COLUMNS, SYSTEMATICITY_COLUMNS
from crepebench.thinning import COLUMNS as THINNED_COLUMNS


def table_row(corpus="cc12m", model="mini", foil_type="atom", split="SC", recall=50.0):
    row = dict.fromkeys(SYSTEMATICITY_COLUMNS, "")
    bounds = {"recall_at_1_low": recall - 5, "recall_at_1_high": recall + 5, "random_recall_at_1": 20.0}
    bounds["blind_recall_at_1"] = recall - 10
    key = {"training_corpus": corpus, "model": model, "foil_type": foil_type, "split": split}
    return {**row, **key, "recall_at_1": recall, **bounds}


def plot(folder, name, rows):
    write_csv(str(folder / "table.csv"), SYSTEMATICITY_COLUMNS, rows)
    plot_systematicity(str(folder / "table.csv"), str(folder / name))
    return folder / name


def gap_row(corpus="cc12m", model="mini", foil_type="atom", gap=-5.0, low=-8.0, high=-1.0):
    key = {"protocol": "paper", "training_corpus": corpus, "model": model, "foil_type": foil_type}
    return {**key, "seen": 50.0, "unseen": 50.0 + gap, "gap": gap, "gap_low": low, "gap_high": high, "corpus_id": ""}


def plot_gap(folder, name, rows):
    write_csv(str(folder / "table.csv"), GAP_COLUMNS, rows)
    plot_systematicity_gap(str(folder / "table.csv"), str(folder / name))
    return folder / name


def stage_rows(stage, unit="region", **counts):
    return [{"stage": stage, "unit": unit, "reason": reason, "count": count} for reason, count in counts.items()]


def plot_drops(folder, name, rows):
    write_csv(str(folder / "table.csv"), ACCOUNTING_COLUMNS, rows)
    plot_accounting(str(folder / "table.csv"), str(folder / name))
    return folder / name


@pytest.fixture
def figures(monkeypatch):
    """The figures that are drawn, in place of the files."""
    found = []
    for module in ("plots", "drawing", "productivity_plots"):
        monkeypatch.setattr(f"crepebench.{module}.save", lambda figure, path: found.append(figure))
    yield found
    for figure in found:
        pyplot.close(figure)


def errorbars(ax):
    """Returns value, low, high and line of each interval of a panel."""
    (bars,) = [found for found in ax.containers if isinstance(found, ErrorbarContainer)]
    points, _, (segments,) = bars
    ends = [segment[:, 0] for segment in segments.get_segments()]
    return [
        (float(value), float(min(end)), float(max(end)), int(line))
        for value, line, end in zip(points.get_xdata(), points.get_ydata(), ends, strict=True)
    ]


def pixels(path):
    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGB")).astype(int)


def set_row(image_id, foil_type="atom", caption="a red jar", foil="a blue jar"):
    names = ("foil_id", "kind", "original", "replacement", "source")
    return {
        "set_id": f"{image_id}",
        "protocol": "paper",
        "foil_type": foil_type,
        "image_id": image_id,
        "region_id": image_id,
        "subgraph_id": None,
        **dict(zip(("x", "y", "width", "height"), (2, 3, 40, 30), strict=True)),
        "complexity": 2,
        "caption": caption,
        "caption_source": "visual_genome",
        "foils": [{**dict.fromkeys(names, "attribute"), "text": foil}],
    }


class Sheet:
    """Draws contact sheets of images in a zip: 1 and 2 are whole, 3 is cut off, 4 is damaged, 5 has no file."""

    def __init__(self, folder):
        self.folder = folder
        buffer = io.BytesIO()
        noise = np.random.default_rng(0).integers(0, 255, size=(48, 64, 3)).astype(np.uint8)
        Image.fromarray(noise).save(buffer, "JPEG")
        jpeg = buffer.getvalue()
        path = folder / "images.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for image_id, data in ((1, jpeg), (2, jpeg), (3, jpeg[: len(jpeg) // 2]), (4, jpeg)):
                archive.writestr(f"{image_id}.jpg", data)
        raw = bytearray(path.read_bytes())
        with zipfile.ZipFile(path) as archive:
            checksums = {info.filename: info.CRC for info in archive.infolist()}
            start = archive.getinfo("4.jpg").header_offset + 40
        raw[start : start + 20] = bytes(20)
        path.write_bytes(raw)
        others = {"width": 64, "height": 48, "coco_id": None, "flickr_id": None}
        places = {i: {"archive": str(path), "path": f"{i}.jpg", "crc32": checksums[f"{i}.jpg"]} for i in (1, 2, 3, 4)}
        places[5] = {"archive": None, "path": None, "crc32": None}
        rows = [{"image_id": image_id, **place, **others} for image_id, place in places.items()]
        write_table(str(folder / "images.parquet"), IMAGES, rows)

    def draw(self, name, sets, n_sets=2, family="systematicity", complexity=None):
        write_table(str(self.folder / "sets.parquet"), RETRIEVAL_SETS, sets)
        cfg = json.dumps({"contact_sheet_sets": n_sets, "seed": 1})
        paths = [str(self.folder / n) for n in ("sets.parquet", "images.parquet", name)]
        plot_contact_sheet([paths[0]], paths[1], paths[2], family, complexity, cfg)
        return self.folder / name


@pytest.fixture
def sheet(tmp_path):
    return Sheet(tmp_path)


def test_equal_tables_give_equal_pictures(tmp_path):
    rows = [table_row(split=split, foil_type=foil_type) for foil_type in ("atom", "comp") for split in ("SC", "UC")]
    first, second = (plot(tmp_path, name, rows) for name in ("1.png", "2.png"))
    assert first.read_bytes() == second.read_bytes()
    with Image.open(first) as picture:
        assert picture.format == "PNG"


def test_picture_shows_the_numbers(tmp_path):
    low, high = (pixels(plot(tmp_path, f"{r}.png", [table_row(recall=r)])) for r in (30.0, 60.0))
    bar = [((picture - (0x1B, 0x6C, 0xA8)) == 0).all(axis=2).sum() for picture in (low, high)]
    assert 1.7 < bar[1] / bar[0] < 2.2


@pytest.mark.parametrize("n_models", [1, 3])
def test_every_corpus_and_model_has_a_panel(tmp_path, n_models):
    rows = [table_row(model=f"mini_{i}", split=split) for i in range(n_models) for split in ("SC", "UC")]
    width = pixels(plot(tmp_path, "plot.png", rows)).shape[1]
    assert width == pytest.approx(120 * (1.2 + 3.6 * n_models), abs=2)


@pytest.mark.parametrize(("n_models", "grid"), [(1, (1, 1)), (3, (1, 3)), (4, (2, 3)), (7, (3, 3))])
def test_line_of_panels_holds_three(tmp_path, figures, n_models, grid):
    plot(tmp_path, "plot.png", [table_row(model=f"mini_{i}") for i in range(n_models)])
    axes = figures[0].axes
    assert axes[0].get_gridspec().get_geometry() == grid
    assert [ax.axison for ax in axes] == [i < n_models for i in range(grid[0] * grid[1])]


def test_panels_follow_the_table(tmp_path, figures):
    rows = [table_row(model=model, split=split) for split in ("SC", "UC") for model in ("b", "c", "a", "d")]
    plot(tmp_path, "plot.png", rows)
    titles = [ax.get_title() for ax in figures[0].axes if ax.axison]
    assert titles == [f"{model}\non the splits of cc12m" for model in "bcad"]


def test_split_that_is_missing_leaves_the_others(tmp_path):
    rows = [table_row(foil_type=foil_type, split="UC") for foil_type in ("atom", "comp", "combined")]
    picture = pixels(plot(tmp_path, "plot.png", rows))
    assert ((picture - (0xD1, 0x73, 0x2C)) == 0).all(axis=2).any()
    assert not ((picture - (0x1B, 0x6C, 0xA8)) == 0).all(axis=2).any()


@pytest.mark.parametrize(
    ("draw", "reason"),
    [
        (plot, "No query could be scored: see results/tables/accounting.csv."),
        (plot_gap, "No model has scored queries in both SC and UC: see results/tables/systematicity.csv."),
        (plot_drops, "No stage dropped anything."),
    ],
)
def test_picture_of_a_table_without_a_row_says_why(tmp_path, figures, draw, reason):
    draw(tmp_path, "plot.png", [])
    assert [text.get_text() for text in figures[0].texts] == [reason]


def test_legend_names_what_any_panel_shows(tmp_path, monkeypatch):
    legends = []
    draw = Figure.legend

    def record(figure, handles, labels, **options):
        legends.append(list(labels))
        return draw(figure, handles, labels, **options)

    monkeypatch.setattr(Figure, "legend", record)
    rows = [table_row(model="a", split="SC"), table_row(model="b", split="UC"), table_row(model="b", split="SC")]
    plot(tmp_path, "plot.png", rows)
    (labels,) = legends
    assert sorted(labels) == ["random", "seen compounds", "text alone", "unseen compounds"]


def test_each_split_has_its_own_blind_line(tmp_path, figures):
    rows = [{**table_row(split=split), "blind_recall_at_1": blind} for split, blind in (("SC", 31.0), ("UC", 12.0))]
    plot(tmp_path, "plot.png", rows)
    heights = {
        float(y) for lines in figures[0].axes[0].collections for segment in lines.get_segments() for y in segment[:, 1]
    }
    assert {31.0, 12.0, 20.0} <= heights


@pytest.mark.parametrize("n_models", [1, 2])
def test_legend_of_all_splits_fits_into_the_picture(tmp_path, figures, n_models):
    splits = ("SC", "UC", "UA")
    plot(tmp_path, "plot.png", [table_row(model=f"mini_{i}", split=split) for i in range(n_models) for split in splits])
    (legend,) = figures[0].legends
    figures[0].canvas.draw()
    assert len(legend.get_texts()) == 5
    assert 0 <= legend.get_window_extent().x0 < legend.get_window_extent().x1 <= figures[0].bbox.x1


def test_equal_gaps_give_equal_pictures(tmp_path):
    rows = [gap_row(foil_type=foil_type) for foil_type in ("atom", "comp")]
    first, second = (plot_gap(tmp_path, name, rows) for name in ("1.png", "2.png"))
    assert first.read_bytes() == second.read_bytes()


def test_picture_of_gaps_grows_with_models_and_foil_types(tmp_path):
    rows = [gap_row(model=f"mini_{i}", foil_type=foil_type) for i in range(5) for foil_type in ("atom", "comp")]
    height, width, _ = pixels(plot_gap(tmp_path, "plot.png", rows)).shape
    assert (width, height) == (
        pytest.approx(120 * (2.6 + 2 * 2.9), abs=2),
        pytest.approx(120 * (1.5 + 5 * 0.34), abs=2),
    )


def test_gap_has_its_interval_on_the_line_of_its_model(tmp_path, figures):
    rows = [gap_row(model="a"), gap_row(model="b", gap=2.0, low=-1.5, high=4.0)]
    plot_gap(tmp_path, "plot.png", rows)
    (ax,) = figures[0].axes
    assert errorbars(ax) == [(-5.0, -8.0, -1.0, 0), (2.0, -1.5, 4.0, 1)]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a\n(cc12m)", "b\n(cc12m)"]


def test_first_model_is_at_the_top(tmp_path, figures):
    plot_gap(tmp_path, "plot.png", [gap_row(model="a"), gap_row(model="b")])
    bottom, top = figures[0].axes[0].get_ylim()
    assert top < 0 < 1 < bottom


def test_model_without_a_foil_type_leaves_its_line_empty(tmp_path, figures):
    rows = [gap_row(model="a"), gap_row(model="a", foil_type="comp"), gap_row(model="b", foil_type="comp")]
    plot_gap(tmp_path, "plot.png", rows)
    assert {ax.get_title(): [line for *_, line in errorbars(ax)] for ax in figures[0].axes} == {
        "atom": [0],
        "comp": [0, 1],
    }


def test_same_model_on_two_corpora_has_two_lines(tmp_path, figures):
    plot_gap(tmp_path, "plot.png", [gap_row("cc12m"), gap_row("yfcc15m", gap=0.0, high=2.0)])
    assert [line for *_, line in errorbars(figures[0].axes[0])] == [0, 1]


def test_equal_drops_give_equal_pictures(tmp_path):
    rows = stage_rows("regions", read=1000, area=300, aspect=100, kept=600)
    first, second = (plot_drops(tmp_path, name, rows) for name in ("1.png", "2.png"))
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("n_stages", [1, 6])
def test_picture_of_drops_grows_with_the_stages(tmp_path, n_stages):
    rows = [row for i in range(n_stages) for row in stage_rows(f"stage_{i}", read=2, area=1, kept=1)]
    height, width, _ = pixels(plot_drops(tmp_path, "plot.png", rows)).shape
    assert (width, height) == (1440, pytest.approx(120 * (1.3 + 0.42 * n_stages), abs=2))


def test_stages_that_dropped_nothing_are_left_out(tmp_path, figures):
    rows = [
        *stage_rows("splits/cc12m", "region_SC", read=9, kept=9),
        *stage_rows("regions", read=9, area=1, kept=8),
        *stage_rows("features/mini", "text", read=0, kept=0),
        *stage_rows("features/mini", "crop", read=3, image_missing=3, kept=0),
    ]
    plot_drops(tmp_path, "plot.png", rows)
    labels = [label.get_text() for label in figures[0].axes[0].get_yticklabels()]
    assert labels == ["regions (region)", "features/mini (crop)"]


def test_bar_is_what_was_kept_and_then_the_drops_by_size(tmp_path, figures):
    plot_drops(tmp_path, "plot.png", stage_rows("regions", read=1000, area=100, aspect=300, kept=600))
    bars = [(bar.get_x(), bar.get_width()) for bar in figures[0].axes[0].patches]
    assert bars == [(0.0, 60.0), (60.0, 30.0), (90.0, 10.0)]


def test_only_what_was_kept_is_blue(tmp_path, figures):
    reasons = {f"reason_{i}": 1 for i in range(20)}
    plot_drops(tmp_path, "plot.png", stage_rows("regions", read=25, **reasons, kept=5))
    blue = [to_hex(bar.get_facecolor()) == BLUE for bar in figures[0].axes[0].patches]
    assert blue == [True] + [False] * 20


def test_counts_and_reasons_stand_beside_the_bar(tmp_path, figures):
    plot_drops(tmp_path, "plot.png", stage_rows("regions", read=4000, area=1000, aspect=1500, kept=1500))
    texts = [text.get_text() for text in figures[0].axes[0].texts]
    assert texts == ["1,500 of 4,000 kept", "aspect 1,500, area 1,000"]


def test_many_reasons_take_several_lines_within_the_picture(tmp_path, figures):
    names = "region_id_repeated image_unknown caption_empty box_outside_image area image_share aspect".split()
    counts = dict.fromkeys(names, 1_234_567)
    plot_drops(tmp_path, "plot.png", stage_rows("regions", read=8 * 1_234_567, **counts, kept=1_234_567))
    _, reasons = figures[0].axes[0].texts
    assert 1 < len(reasons.get_text().splitlines()) < 4
    figures[0].canvas.draw()
    ends = [text.get_window_extent().x1 for text in figures[0].axes[0].texts]
    assert max(ends) <= figures[0].bbox.x1


def test_run_that_dropped_nothing_has_a_picture(tmp_path):
    with Image.open(plot_drops(tmp_path, "plot.png", stage_rows("regions", read=9, kept=9))) as picture:
        assert picture.format == "PNG"


def test_equal_sets_give_equal_sheets(sheet):
    sets = [set_row(1), set_row(2), set_row(1, "comp"), set_row(2, "comp")]
    assert sheet.draw("1.png", sets, 4).read_bytes() == sheet.draw("2.png", sets, 4).read_bytes()


def test_sheet_shows_caption_and_foils(sheet):
    pictures = [
        sheet.draw("1.png", [set_row(1)]).read_bytes(),
        sheet.draw("2.png", [set_row(1, caption="a red box")]).read_bytes(),
        sheet.draw("3.png", [set_row(1, foil="a green jar")]).read_bytes(),
        sheet.draw("4.png", [set_row(2)]).read_bytes(),
    ]
    assert len(set(pictures)) == 4


@pytest.mark.parametrize("image_id", [3, 4, 5], ids=["cut off", "damaged in the zip", "without a file"])
def test_image_that_cannot_be_read_is_left_out_of_the_sheet(sheet, image_id):
    alone = sheet.draw("1.png", [set_row(1), set_row(2, "comp")])
    among = sheet.draw("2.png", [set_row(1), *[set_row(image_id)] * 7, set_row(2, "comp")])
    assert alone.read_bytes() == among.read_bytes()


def test_sheet_without_any_set_is_drawn(sheet):
    with Image.open(sheet.draw("1.png", [])) as picture:
        assert picture.format == "PNG"


def test_dollar_signs_are_no_mathematics(sheet):
    sheet.draw("1.png", [set_row(1, caption="a $5 jar for $\\frac{1$")])
    assert (sheet.folder / "1.png").stat().st_size > 1000


def test_thinned_gaps_are_a_line_for_each_model_over_recall(tmp_path, figures):
    rows = [
        {**gap_row(model=model, foil_type=foil_type, gap=-recall / 10), "recall": recall, "n_seen": 1, "n_unseen": 1}
        for foil_type in ("atom", "comp")
        for recall in (100.0, 40.0)
        for model in ("mini", "other")
    ]
    write_csv(str(tmp_path / "table.csv"), THINNED_COLUMNS, rows)
    plot_thinned_gap(str(tmp_path / "table.csv"), str(tmp_path / "gap.png"))
    (figure,) = figures
    assert [ax.get_title() for ax in figure.axes] == ["atom", "comp"]
    for ax in figure.axes:
        lines = [bars[0] for bars in ax.containers]
        assert [list(line.get_ydata()) for line in lines] == [[-10.0, -4.0]] * 2
        assert np.allclose(np.mean([line.get_xdata() for line in lines], axis=0), [100, 40])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["mini (cc12m)", "other (cc12m)"]


def test_no_thinned_gap_is_said_in_the_picture(tmp_path):
    write_csv(str(tmp_path / "table.csv"), THINNED_COLUMNS, [])
    plot_thinned_gap(str(tmp_path / "table.csv"), str(tmp_path / "gap.png"))
    assert pixels(tmp_path / "gap.png").shape == (180, 960, 3)
