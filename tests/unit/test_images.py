import io
import os
import zipfile
import zlib

import numpy as np
import pytest
from PIL import Image

from crepebench.images import (
    FORMATS,
    MOST_PIXELS,
    BadImageError,
    ImageReader,
    check_most_are_good,
    cut_crop,
    decode_image,
)

SIZE = (64, 48)


def encoded(picture, format_="PNG", **options):
    buffer = io.BytesIO()
    picture.save(buffer, format_, **options)
    return buffer.getvalue()


def noise(size=SIZE, mode="RGB"):
    values = np.random.default_rng(0).integers(0, 256, size=(size[1], size[0], 3)).astype(np.uint8)
    return Image.fromarray(values).convert(mode)


def half_transparent(mode, colour):
    """Returns a picture whose left half has a colour and whose right half is transparent black."""
    picture = Image.new("RGBA", (8, 4), (0, 0, 0, 0))
    picture.paste((*colour, 255), (0, 0, 4, 4))
    return picture.convert(mode)


def pixels(data):
    return np.asarray(decode_image(data).picture)


def reason_of(data):
    with pytest.raises(BadImageError) as error:
        decode_image(data)
    return error.value.reason, error.value.detail


@pytest.mark.parametrize("mode", ["RGB", "L", "1", "CMYK", "P", "LA", "RGBA"])
def test_picture_of_any_mode_becomes_rgb(mode):
    format_ = "JPEG" if mode == "CMYK" else "PNG"
    decoded = decode_image(encoded(noise(mode=mode), format_))
    assert (decoded.picture.mode, decoded.picture.size, decoded.mode) == ("RGB", SIZE, mode)


def test_cmyk_jpeg_has_its_colours():
    red = Image.new("CMYK", SIZE, (0, 255, 255, 0))
    assert np.abs(pixels(encoded(red, "JPEG", quality=95)).astype(int) - (255, 0, 0)).max() <= 3


def test_grey_is_the_same_in_all_channels():
    found = pixels(encoded(noise(mode="L")))
    assert np.array_equal(found, np.repeat(np.asarray(noise(mode="L"))[:, :, None], 3, axis=2))


@pytest.mark.parametrize("mode", ["RGBA", "LA"])
def test_transparent_pixels_are_white(mode):
    found = pixels(encoded(half_transparent(mode, (40, 40, 40))))
    assert (found[:, :4] == 40).all()
    assert (found[:, 4:] == 255).all()


def test_half_transparent_pixels_are_mixed_with_white():
    found = pixels(encoded(Image.new("RGBA", SIZE, (0, 0, 200, 51))))
    assert found[0, 0].tolist() == [204, 204, 244]


@pytest.mark.parametrize("format_", ["PNG", "GIF"])
def test_transparent_colour_of_a_palette_is_white(format_):
    picture = Image.new("P", (8, 4), 1)
    picture.putpalette([0, 0, 0, 40, 50, 60])
    picture.paste(0, (4, 0, 8, 4))
    found = pixels(encoded(picture, format_, transparency=0))
    assert (found[:, :4] == (40, 50, 60)).all()
    assert (found[:, 4:] == 255).all()


def test_transparent_colour_of_an_rgb_png_is_white():
    picture = half_transparent("RGB", (40, 50, 60))
    found = pixels(encoded(picture, transparency=(0, 0, 0)))
    assert (found[:, :4] == (40, 50, 60)).all()
    assert (found[:, 4:] == 255).all()


@pytest.mark.parametrize("format_", ["GIF", "WEBP", "PNG"])
def test_first_frame_of_an_animation_is_taken(format_):
    frames = [Image.new("RGB", SIZE, colour) for colour in ((200, 0, 0), (0, 200, 0), (0, 0, 200))]
    options = {"lossless": True} if format_ == "WEBP" else {}
    found = pixels(encoded(frames[0], format_, save_all=True, append_images=frames[1:], **options))
    assert (found == (200, 0, 0)).all()


def test_first_picture_of_a_file_with_two_jpegs_is_taken():
    frames = [Image.new("RGB", SIZE, colour) for colour in ((200, 0, 0), (0, 200, 0))]
    found = pixels(encoded(frames[0], "MPO", save_all=True, append_images=frames[1:], quality=95))
    assert np.abs(found.astype(int) - (200, 0, 0)).max() <= 3


def test_sixteen_bit_grey_is_scaled():
    values = np.array([[0, 128, 257, 32896, 65535, 1000]], dtype=np.uint16)
    assert pixels(encoded(Image.fromarray(values)))[0, :, 0].tolist() == [0, 0, 1, 128, 255, 4]
    assert pixels(encoded(Image.fromarray(values), transparency=1000))[0, :, 1].tolist() == [0, 0, 1, 128, 255, 255]


def test_numbers_without_an_agreed_range_are_refused():
    picture = Image.fromarray(np.zeros((4, 8), dtype=np.float32))
    assert reason_of(encoded(picture, "TIFF")) == ("image_unreadable", "pixels of mode F have no agreed range")


@pytest.mark.parametrize("orientation", [1, 3, 6, 8])
def test_orientation_tag_turns_nothing(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    plain = pixels(encoded(noise(), "JPEG", quality=90))
    assert np.array_equal(pixels(encoded(noise(), "JPEG", quality=90, exif=exif)), plain)


@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("share", [0.05, 0.5, 0.9, 0.99])
def test_jpeg_that_is_cut_off_is_unreadable(share, progressive):
    data = encoded(noise((320, 240)), "JPEG", progressive=progressive)
    reason, detail = reason_of(data[: int(share * len(data))])
    assert reason == "image_unreadable"
    assert "truncated" in detail


@pytest.mark.parametrize("format_", FORMATS)
def test_half_a_file_of_any_format_is_unreadable(format_):
    data = encoded(noise((320, 240)), format_)
    assert reason_of(data[: len(data) // 2])[0] == "image_unreadable"


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.filterwarnings("ignore")
def test_damaged_files_give_reasons_and_no_other_errors(format_):
    data = encoded(noise((32, 24)), format_)
    rng = np.random.default_rng(1)
    for _ in range(300):
        spoilt = bytearray(data)
        for place in rng.integers(0, min(len(data), 400), size=rng.integers(1, 20)):
            spoilt[place] = rng.integers(0, 256)
        try:
            assert decode_image(bytes(spoilt)).picture.mode == "RGB"
        except BadImageError as error:
            assert error.reason in ("image_unreadable", "image_too_large")
            assert " at 0x" not in error.detail


@pytest.mark.parametrize(
    ("data", "detail"),
    [
        (b"", "the file is empty"),
        (b"<html>moved</html>", "no image of a known format; it begins with 3c 68 74 6d 6c 3e 6d 6f"),
        (b"\xff\xd8", "no image of a known format; it begins with ff d8"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", None),
    ],
    ids=["empty", "html", "two_bytes", "postscript"],
)
def test_file_that_is_no_image_is_unreadable(data, detail):
    reason, found = reason_of(data)
    assert reason == "image_unreadable"
    assert detail in (None, found)


@pytest.mark.parametrize(
    ("side", "detail"), [(10_000, "10000 x 10000 pixels"), (20_000, f"more than {2 * MOST_PIXELS} pixels")]
)
@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_picture_of_too_many_pixels_has_its_own_reason(side, detail):
    assert reason_of(encoded(Image.new("1", (side, side)))) == ("image_too_large", detail)


class Place:
    """An image in a zip and the same in a folder."""

    def __init__(self, folder, data):
        (folder / "VG_100K").mkdir()
        (folder / "VG_100K" / "7.jpg").write_bytes(data)
        with zipfile.ZipFile(folder / "images.zip", "w") as archive:
            archive.writestr("VG_100K/7.jpg", data)
        self.folder, self.data = folder, data

    def row(self, kind, **changes):
        archive, path = {"zip": ("images.zip", "VG_100K/7.jpg"), "folder": ("VG_100K", "7.jpg")}[kind]
        row = {"image_id": 7, "width": SIZE[0], "height": SIZE[1], "crc32": zlib.crc32(self.data)}
        return {**row, "archive": str(self.folder / archive), "path": path, **changes}


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path, encoded(noise(), "JPEG"))


def read(row):
    with ImageReader() as reader:
        return reader.read(row)


def fault_of(row):
    with pytest.raises(BadImageError) as error:
        read(row)
    return error.value.reason, error.value.detail


@pytest.mark.parametrize("kind", ["zip", "folder"])
def test_image_is_read_from_zip_and_folder_alike(place, kind):
    assert np.array_equal(np.asarray(read(place.row(kind)).picture), pixels(place.data))


def test_image_without_a_file_is_missing(place):
    assert fault_of(place.row("zip", archive=None, path=None)) == ("image_missing", "no file was found")


@pytest.mark.parametrize("kind", ["zip", "folder"])
def test_file_that_is_gone_is_missing(place, kind):
    reason, detail = fault_of(place.row(kind, path="8.jpg"))
    assert (reason, detail) == ("image_missing", "the file was there when the table of images was built")


@pytest.mark.parametrize("kind", ["zip", "folder"])
@pytest.mark.parametrize("crc32", [1, None])
def test_file_with_another_content_than_listed_is_refused(place, kind, crc32):
    assert fault_of(place.row(kind, crc32=crc32))[0] == "image_changed"


def test_file_that_may_not_be_read_is_unreadable(place, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("crepebench.images.Path.read_bytes", refuse)
    assert fault_of(place.row("folder"))[0] == "image_unreadable"


def test_image_of_another_size_than_annotated_is_refused(place):
    assert fault_of(place.row("zip", width=63)) == ("image_size", "64 x 48 pixels, annotated as 63 x 48")
    turned = place.row("zip", width=48, height=64)
    assert fault_of(turned) == ("image_size", "64 x 48 pixels, annotated as 48 x 64, its sides swapped")


def test_zip_that_is_gone_or_damaged_stops_the_job(place):
    os.remove(place.folder / "images.zip")
    with pytest.raises(FileNotFoundError, match=r"images\.zip"):
        read(place.row("zip"))
    (place.folder / "images.zip").write_bytes(b"no zip")
    with pytest.raises(ValueError, match=r"images\.zip: the zip is damaged"):
        read(place.row("zip"))


def test_zip_is_opened_once(place, monkeypatch):
    opened = []
    real = zipfile.ZipFile
    monkeypatch.setattr("crepebench.images.zipfile.ZipFile", lambda path: opened.append(path) or real(path))
    with ImageReader() as reader:
        for _ in range(3):
            reader.read(place.row("zip"))
    assert len(opened) == 1


def test_crop_has_the_pixels_of_its_box():
    picture = noise()
    crop = cut_crop(picture, (4, 5, 20, 30))
    assert np.array_equal(np.asarray(crop), np.asarray(picture)[5:35, 4:24])
    assert cut_crop(picture, (0, 0, *SIZE)).size == SIZE


@pytest.mark.parametrize(
    "box", [(-1, 0, 5, 5), (0, -1, 5, 5), (60, 0, 5, 5), (0, 44, 5, 5), (3, 3, 0, 5), (3, 3, 5, 0)]
)
def test_crop_is_never_padded(box):
    with pytest.raises(ValueError, match="is not within the picture"):
        cut_crop(noise(), box)


def test_more_than_half_of_bad_images_is_an_error():
    check_most_are_good(0, 0, [])
    check_most_are_good(5, 10, [])
    with pytest.raises(ValueError, match=r"6 of 10 images with a file cannot be used.*\nwhy"):
        check_most_are_good(6, 10, ["why"])
