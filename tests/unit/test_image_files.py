import csv
import os
import zipfile
import zlib
from pathlib import Path

import pytest

from crepebench.accounting import KEPT, READ
from crepebench.crop_tensors import EXACT
from crepebench.feature_index import crop_key
from crepebench.image_files import (
    IMAGE_PLACES,
    ImageFile,
    ImageSearch,
    expected_file,
    lacking_zips,
    list_image_files,
    read_checksum,
)

CONTENT = b"the bytes of an image"
CRC = zlib.crc32(CONTENT)


def write_zip(path, *members, content=CONTENT):
    with zipfile.ZipFile(path, "w") as archive:
        for member in members:
            archive.writestr(member, content)
    return str(path)


def write_folder(folder, *names, content=CONTENT):
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(content)
    return str(folder)


def url(folder, number):
    return f"https://cs.stanford.edu/people/rak248/{folder}/{number}.jpg"


def read_csv(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_only_numbered_jpegs_of_a_zip_are_listed(tmp_path):
    path = write_zip(tmp_path / "images.zip", "VG_100K/7.jpg", "VG_100K/readme.txt", "VG_100K/thumb.jpg", "VG_100K/")
    assert list_image_files([path]) == {7: [ImageFile(path, "VG_100K/7.jpg", CRC)]}


def test_only_numbered_jpegs_of_a_folder_are_listed(tmp_path):
    place = write_folder(tmp_path / "VG_100K", "7.jpg", "8.png", "._9.jpg", "thumb.jpg")
    (tmp_path / "VG_100K" / "10.jpg").mkdir()
    (tmp_path / "VG_100K" / "11.jpg").symlink_to(tmp_path / "nowhere.jpg")
    assert list_image_files([place]) == {7: [ImageFile(place, "7.jpg", None)]}


def test_places_that_are_not_there_are_skipped_and_named(tmp_path, caplog):
    caplog.set_level("INFO")
    place = write_folder(tmp_path / "VG_100K", "7.jpg")
    assert list(list_image_files([str(tmp_path / "images.zip"), place])) == [7]
    assert "images.zip: not there" in caplog.text
    assert "VG_100K: 1 image files" in caplog.text


def test_damaged_image_zip_is_refused(tmp_path):
    path = tmp_path / "images.zip"
    path.write_bytes(b"PK\x03\x04 half of a file")
    with pytest.raises(ValueError, match=r"images\.zip: the zip is damaged"):
        list_image_files([str(path)])


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        (url("VG_100K", 2_370_463), ("VG_100K", 2_370_463)),
        (url("VG_100K_2", 1) + "?size=large", ("VG_100K_2", 1)),
        (None, ("", 2_412_112)),
        ("", ("", 2_412_112)),
        ("https://h/photo.jpg", ("h", 2_412_112)),
    ],
)
def test_url_says_where_the_file_is(address, expected):
    assert expected_file(2_412_112, address) == expected


def test_number_of_the_url_decides_where_it_is_not_the_id(tmp_path):
    """The field guide's own example: image 2412112 is the file 2370463.jpg."""
    place = write_folder(tmp_path / "VG_100K", "2370463.jpg", "2412112.jpg")
    search = ImageSearch([place])
    assert search.find(2_412_112, url("VG_100K", 2_370_463)).path == "2370463.jpg"
    os.remove(tmp_path / "VG_100K" / "2370463.jpg")
    assert ImageSearch([place]).find(2_412_112, url("VG_100K", 2_370_463)) is None


@pytest.mark.parametrize("folder", ["VG_100K", "VG_100K_2"])
@pytest.mark.parametrize("kind", ["zips", "folders"])
def test_folder_of_the_url_decides_between_two_files(tmp_path, folder, kind):
    if kind == "zips":
        places = [write_zip(tmp_path / f"{n}.zip", f"{n}/1.jpg") for n in ("VG_100K", "VG_100K_2")]
    else:
        places = [write_folder(tmp_path / n, "1.jpg") for n in ("VG_100K", "VG_100K_2")]
    file = ImageSearch(places).find(1, url(folder, 1))
    assert Path(file.archive, file.path).parent.name == folder


def test_file_in_another_folder_than_the_url_says_is_taken_if_it_is_the_only_one(tmp_path):
    place = write_folder(tmp_path / "images", "1.jpg")
    assert ImageSearch([place]).find(1, url("VG_100K", 1)) == (place, "1.jpg", CRC)


def test_zip_is_preferred_to_the_folder_that_it_unpacks_to(tmp_path, caplog):
    caplog.set_level("INFO")
    places = [write_zip(tmp_path / "images.zip", "VG_100K/1.jpg"), write_folder(tmp_path / "VG_100K", "1.jpg")]
    search = ImageSearch(places)
    assert search.find(1, url("VG_100K", 1)) == (places[0], "VG_100K/1.jpg", CRC)
    search.settle(str(tmp_path / "missing.csv"), "stop")
    assert "1 of 1 images have a file; 1 lie in several places" in caplog.text


@pytest.mark.parametrize("name", IMAGE_PLACES)
def test_image_is_found_in_every_place(tmp_path, name):
    if name.endswith(".zip"):
        write_zip(tmp_path / name, "VG_100K/1.jpg")
    else:
        write_folder(tmp_path / name, "1.jpg")
    assert ImageSearch([f"{tmp_path}/{name}" for name in IMAGE_PLACES]).find(1, None).crc32 == CRC


def test_same_image_has_the_same_key_in_zip_and_folder(tmp_path):
    content = bytes(range(256)) * 9000  # more than one chunk
    found = [
        ImageSearch([place]).find(1, None)
        for place in (
            write_zip(tmp_path / "images.zip", "VG_100K/1.jpg", content=content),
            write_folder(tmp_path / "VG_100K", "1.jpg", content=content),
        )
    ]
    rows = [{"image_id": 1, "width": 4, "height": 3, **file._asdict()} for file in found]
    assert rows[0]["archive"] != rows[1]["archive"]
    assert crop_key(rows[0], (0, 0, 2, 2), EXACT) == crop_key(rows[1], (0, 0, 2, 2), EXACT)


def test_file_that_cannot_be_read_has_no_checksum(tmp_path, caplog):
    assert read_checksum(ImageFile(str(tmp_path), "1.jpg", None)) is None
    assert "1.jpg cannot be read" in caplog.text


@pytest.fixture
def search(tmp_path):
    """A search for five images of which two have a file."""
    search = ImageSearch([str(tmp_path / "images.zip"), write_folder(tmp_path / "VG_100K", "3.jpg", "4.jpg")])
    for image_id in (3, 1, 4):
        search.find(image_id, url("VG_100K", image_id))
    search.find(5, url("VG_100K_2", 55))
    search.find(2, None)
    return search


def test_missing_images_are_written_with_the_places_searched(tmp_path, search):
    search.settle(str(tmp_path / "missing.csv"), "set_aside")
    searched = f"{tmp_path / 'images.zip'}; {tmp_path / 'VG_100K'}"
    assert read_csv(tmp_path / "missing.csv") == [
        {"image_id": "1", "url": url("VG_100K", 1), "searched": searched},
        {"image_id": "5", "url": url("VG_100K_2", 55), "searched": searched},
        {"image_id": "2", "url": "", "searched": searched},
    ]


def test_missing_images_are_counted(search):
    assert search.counts() == {READ: 5, KEPT: 2, "image_missing": 3}
    assert ImageSearch([]).counts() == {READ: 0, KEPT: 0}


def test_missing_images_are_summed_up_in_the_log(tmp_path, search, caplog):
    search.settle(str(tmp_path / "missing.csv"), "set_aside")
    assert (
        "3 of 5 images have no file (by the folder of their url: VG_100K: 1, VG_100K_2: 1, no url: 1), ids 1, 5, 2; "
        f"searched in {tmp_path / 'images.zip'} (not there), {tmp_path / 'VG_100K'}"
    ) in caplog.text


def test_missing_images_stop_the_run_if_the_config_says_so(tmp_path, search):
    with pytest.raises(ValueError, match=r"3 of 5 images have no file .* ids 1, 5, 2; searched in .*set_aside"):
        search.settle(str(tmp_path / "missing.csv"), "stop")


def test_only_the_first_ids_are_named(tmp_path):
    search = ImageSearch([])
    for image_id in range(1, 30):
        search.find(image_id, None)
    with pytest.raises(ValueError, match=r"ids 1, 2, 3, .* 19, 20, \.\.\.; searched"):
        search.settle(str(tmp_path / "missing.csv"), "stop")


def test_nothing_missing_is_an_empty_list(tmp_path):
    search = ImageSearch([write_folder(tmp_path / "VG_100K", "1.jpg")])
    search.find(1, None)
    search.settle(str(tmp_path / "missing.csv"), "stop")
    assert (tmp_path / "missing.csv").read_text() == "image_id,url,searched\n"
    assert search.counts() == {READ: 1, KEPT: 1}


@pytest.mark.parametrize(
    ("there", "lacking"),
    [
        ((), ["images.zip", "images2.zip"]),
        (("images.zip",), ["images2.zip"]),
        (("images/VG_100K/",), ["images2.zip"]),
        (("VG_100K/", "images2/VG_100K_2/"), []),
        (("images/",), ["images.zip", "images2.zip"]),
        (("images/7.jpg",), []),
    ],
)
def test_zip_lacks_if_neither_it_nor_its_folder_is_there(tmp_path, there, lacking):
    for name in there:
        path = tmp_path / name
        (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
        if not name.endswith("/"):
            path.touch()
    assert lacking_zips(str(tmp_path)) == lacking


def test_names_of_thousands_of_digits_are_no_numbers(tmp_path):
    assert expected_file(7, f"https://h/VG_100K/{'9' * 5_000}.jpg") == ("VG_100K", 7)
    with zipfile.ZipFile(tmp_path / "images.zip", "w") as archive:
        archive.writestr(f"VG_100K/{'9' * 5_000}.jpg", b"abc")
    assert list_image_files([str(tmp_path / "images.zip")]) == {}
