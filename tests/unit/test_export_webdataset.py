import csv
import io
import json
import tarfile
import zlib

import numpy as np
import pytest
from PIL import Image

from crepebench import export_webdataset
from crepebench.export_webdataset import write_webdataset
from crepebench.schema import IMAGES, write_table

from .export_rows import write_inputs
from .released_rows import image_row

CFG = json.dumps({"corpora": [["cc12m", "cc12m"]]})


@pytest.fixture
def export(tmp_path, monkeypatch):
    """Exports small sets of five images, of which the last has no file; returns the folder, sets and counts."""
    monkeypatch.setattr(export_webdataset, "SAMPLES_PER_SHARD", 3)
    paths, splits, _, sets = write_inputs(tmp_path)
    rows = []
    for i in range(1, 6):
        row = image_row(i, 100, 80) | {"archive": str(tmp_path) if i < 5 else None, "path": f"{i}.png"}
        if i < 5:
            Image.fromarray(np.full((80, 100, 3), 40 * i, np.uint8)).save(tmp_path / f"{i}.png")
            row["crc32"] = zlib.crc32((tmp_path / f"{i}.png").read_bytes())
        rows.append(row)
    write_table(str(tmp_path / "images"), IMAGES, rows)

    def run(name="shards"):
        folder = tmp_path / name
        write_webdataset(paths, str(tmp_path / "images"), splits, str(folder), str(tmp_path / "counts.csv"), CFG)
        with open(tmp_path / "counts.csv", newline="") as file:
            counts = {(row["unit"], row["reason"]): int(row["count"]) for row in csv.DictReader(file)}
        return folder, sets, counts

    return run


def read_samples(folder, family):
    """Reads shards as WebDataset does: files of one name up to the first point, one after another, are one sample."""
    samples = []
    for path in sorted(folder.glob(f"{family}-*.tar")):
        with tarfile.open(path) as archive:
            for member in archive:
                key, _, suffix = member.name.partition(".")
                if not samples or samples[-1]["key"] != key:
                    samples.append({"key": key})
                samples[-1][suffix] = archive.extractfile(member).read()
    return samples


@pytest.mark.parametrize("family", ["systematicity", "productivity"])
def test_sets_come_back_equal_from_the_shards(export, family):
    folder, sets, _ = export()
    found = []
    for sample in read_samples(folder, family):
        content = json.loads(sample["json"])
        of_crop = content.pop("sets")
        assert sample["key"] == "_".join(map(str, content.values()))
        found += [content | row for row in of_crop]
    splits = [row.pop("splits", None) for row in found]
    expected = [row for row in sets[family] if row["image_id"] < 5]
    assert sorted(found, key=lambda row: (row["set_id"], row["foil_type"])) == sorted(
        expected, key=lambda row: (row["set_id"], row["foil_type"])
    )
    if family == "systematicity":
        assert {(row["image_id"], split["cc12m"]) for row, split in zip(found, splits, strict=True)} == {
            *((1, "SC"), (2, "UC"), (3, "UA"), (4, "undecided")),
        }


def test_crops_have_the_size_of_their_box_and_nearly_its_pixels(export):
    folder, _, _ = export()
    for sample in read_samples(folder, "productivity"):
        content, picture = json.loads(sample["json"]), Image.open(io.BytesIO(sample["jpg"]))
        assert picture.format == "JPEG" and picture.size == (content["width"], content["height"])
        assert np.abs(np.asarray(picture).astype(int) - 40 * content["image_id"]).max() <= 2


def test_shards_hold_a_number_of_samples_and_missing_images_are_counted(export):
    folder, _, counts = export()
    names = sorted(path.name for path in folder.iterdir())
    assert names == [f"{family}-00000{i}.tar" for family in ("productivity", "systematicity") for i in (0, 1)]
    assert len(read_samples(folder, "systematicity")) == 4
    assert (counts["systematicity_crop", "kept"], counts["systematicity_crop", "image_missing"]) == (4, 1)


def test_the_same_sets_give_the_same_bytes(export):
    folders = [export(name)[0] for name in "ab"]
    for path in folders[0].iterdir():
        assert path.read_bytes() == (folders[1] / path.name).read_bytes()
