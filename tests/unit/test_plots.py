import io
import json
import zipfile

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from crepebench.plots import plot_contact_sheet, plot_systematicity
from crepebench.schema import IMAGES, RETRIEVAL_SETS, write_table
from crepebench.tables import SYSTEMATICITY_COLUMNS, write_csv


def table_row(corpus="cc12m", model="mini", foil_type="atom", split="SC", recall=50.0):
    row = dict.fromkeys(SYSTEMATICITY_COLUMNS, "")
    bounds = {"recall_at_1_low": recall - 5, "recall_at_1_high": recall + 5, "random_recall_at_1": 20.0}
    key = {"training_corpus": corpus, "model": model, "foil_type": foil_type, "split": split}
    return {**row, **key, "recall_at_1": recall, **bounds}


def plot(folder, name, rows):
    write_csv(str(folder / "table.csv"), SYSTEMATICITY_COLUMNS, rows)
    plot_systematicity(str(folder / "table.csv"), str(folder / name))
    return folder / name


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
            start = archive.getinfo("4.jpg").header_offset + 40
        raw[start : start + 20] = bytes(20)
        path.write_bytes(raw)
        others = {"width": 64, "height": 48, "crc32": 1, "coco_id": None, "flickr_id": None}
        rows = [{"image_id": i, "archive": str(path), "path": f"{i}.jpg", **others} for i in (1, 2, 3, 4)]
        rows.append({"image_id": 5, "archive": None, "path": None, **others})
        write_table(str(folder / "images.parquet"), IMAGES, rows)

    def draw(self, name, sets, n_sets=2):
        write_table(str(self.folder / "sets.parquet"), RETRIEVAL_SETS, sets)
        cfg = json.dumps({"contact_sheet_sets": n_sets, "seed": 1})
        paths = [str(self.folder / n) for n in ("sets.parquet", "images.parquet", name)]
        plot_contact_sheet([paths[0]], paths[1], paths[2], cfg)
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


def test_split_that_is_missing_leaves_the_others(tmp_path):
    rows = [table_row(foil_type=foil_type, split="UC") for foil_type in ("atom", "comp", "combined")]
    picture = pixels(plot(tmp_path, "plot.png", rows))
    assert ((picture - (0xD1, 0x73, 0x2C)) == 0).all(axis=2).any()
    assert not ((picture - (0x1B, 0x6C, 0xA8)) == 0).all(axis=2).any()


def test_table_without_a_row_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"table\.csv has no row: no query could be scored"):
        plot(tmp_path, "plot.png", [])
    assert not (tmp_path / "plot.png").exists()


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
    assert sorted(labels) == ["random", "seen compounds", "unseen compounds"]


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
