import csv
import io
import zipfile
import zlib

import numpy as np
import pytest
from PIL import Image

from crepebench.image_checks import PROBLEM_COLUMNS, tabulate_image_problems, validate_images
from crepebench.schema import IMAGES, write_table


def jpeg(mode="RGB"):
    buffer = io.BytesIO()
    noise = np.random.default_rng(0).integers(0, 256, size=(24, 32, 3)).astype(np.uint8)
    Image.fromarray(noise).convert(mode).save(buffer, "JPEG")
    return buffer.getvalue()


GOOD = jpeg()
DAMAGED = {"image_unreadable": GOOD[: len(GOOD) // 2], "image_size": GOOD, "image_missing": None}


class Checks:
    """Images in a zip, checked in parts; an entry is the image's content, None for one without a file."""

    def __init__(self, folder, contents, wrong_size=()):
        self.folder = folder
        archive = folder / "images.zip"
        rows = []
        with zipfile.ZipFile(archive, "w") as file:
            for image_id, content in enumerate(contents, start=1):
                place = {"archive": None, "path": None, "crc32": None}
                if content is not None:
                    file.writestr(f"{image_id}.jpg", content)
                    place = {"archive": str(archive), "path": f"{image_id}.jpg", "crc32": zlib.crc32(content)}
                size = {"width": 33 if image_id in wrong_size else 32, "height": 24}
                rows.append({"image_id": image_id, **size, **place, "coco_id": None, "flickr_id": None})
        write_table(str(folder / "images.parquet"), IMAGES, rows)

    def problems(self, n_parts):
        paths = [str(self.folder / f"{part}-of-{n_parts}.csv") for part in range(n_parts)]
        for part, path in enumerate(paths):
            validate_images(str(self.folder / "images.parquet"), path, part, n_parts)
        tabulate_image_problems(paths, str(self.folder / "problems.csv"))
        with open(self.folder / "problems.csv", newline="") as file:
            return list(csv.DictReader(file))


@pytest.mark.parametrize("n_parts", [1, 2, 3, 11, 20])
def test_problems_do_not_depend_on_the_number_of_parts(tmp_path, n_parts):
    contents = [GOOD] * 11
    contents[2], contents[7], contents[10] = DAMAGED["image_unreadable"], None, b""
    rows = Checks(tmp_path, contents, wrong_size=[5]).problems(n_parts)
    assert [(row["image_id"], row["reason"]) for row in rows] == [
        ("3", "image_unreadable"),
        ("5", "image_size"),
        ("8", "image_missing"),
        ("11", "image_unreadable"),
    ]


def test_problem_names_place_and_detail(tmp_path):
    (row,) = Checks(tmp_path, [GOOD, b"<html>"]).problems(1)
    assert tuple(row) == PROBLEM_COLUMNS
    assert row["place"] == f"{tmp_path}/images.zip/2.jpg"
    assert row["detail"] == "no image of a known format; it begins with 3c 68 74 6d 6c 3e"


def test_no_problem_is_an_empty_table(tmp_path):
    assert Checks(tmp_path, [GOOD]).problems(1) == []
    assert (tmp_path / "problems.csv").read_text() == "image_id,place,reason,detail\n"


def test_modes_faults_and_speed_are_logged(tmp_path, caplog):
    caplog.set_level("INFO")
    Checks(tmp_path, [GOOD, jpeg("CMYK"), jpeg("L"), GOOD, b""]).problems(2)
    assert "5 images; modes of the good ones: CMYK 1, L 1, RGB 2; faults: image_unreadable 1" in caplog.text
    assert "3 of 3 images checked, " in caplog.text
    assert "image 5 (" in caplog.text


def test_an_error_if_most_fail(tmp_path):
    checks = Checks(tmp_path, [GOOD, b"", b"", None, None])
    with pytest.raises(
        ValueError, match=r"2 of 3 images with a file cannot be used(.|\n)*image 2 .*: image_unreadable"
    ):
        checks.problems(2)
    assert not (tmp_path / "problems.csv").exists()


def test_missing_images_are_no_failures(tmp_path):
    assert len(Checks(tmp_path, [GOOD, None, None, None]).problems(1)) == 3
    assert len(Checks(tmp_path, [None, None]).problems(1)) == 2
