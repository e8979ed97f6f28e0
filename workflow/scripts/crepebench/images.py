"""Open the images of table IMAGES, from zips or folders, as whole pictures in RGB; every fault has a reason.

One rule for each kind of picture: the first frame; pixels as they are stored, whatever their EXIF orientation; CMYK and
grey to RGB; 16-bit grey scaled to 8 bits; transparent pixels on white. Colour profiles are not applied. A picture that
is cut off is no picture.
"""

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

IMAGE_MISSING = "image_missing"
IMAGE_CHANGED = "image_changed"
IMAGE_UNREADABLE = "image_unreadable"
IMAGE_TOO_LARGE = "image_too_large"
IMAGE_SIZE = "image_size"
FORMATS = ("JPEG", "PNG", "GIF", "WEBP", "BMP", "TIFF")
"""Formats that are read, whatever the file's suffix. Others of Pillow's start programs or are of no use here."""
MOST_PIXELS = 89_478_485
"""Pixels of the largest picture that is decoded: where Pillow begins to warn of an attack."""
MOST_BYTES = 1 << 29
"""Bytes of the largest file that is read."""
WHITE = 255
MOST_FAILED = 0.5
"""Share of the images with a file that may fail; if more do, the fault is not theirs."""
BYTES_SHOWN = 8
READ_ERRORS = (OSError, EOFError, RuntimeError, ValueError, struct.error, zipfile.BadZipFile, zlib.error)
"""What a damaged file, or a damaged zip around it, may raise."""


class BadImageError(ValueError):
    """An image that cannot be used; says why.

    Args:
        reason: one of this module's reasons.
        detail: the same in words, without anything that differs between two runs.
    """

    def __init__(self, reason: str, detail: str):
        super().__init__(f"{reason}: {detail}")
        self.reason, self.detail = reason, detail


class DecodedImage(NamedTuple):
    """A picture in RGB, and the mode (of Pillow) that its file has."""

    picture: object
    mode: str


class ImageReader:
    """Opens images; keeps the zips that it has opened until it is closed."""

    def __init__(self):
        self._archives: dict[str, zipfile.ZipFile] = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for archive in self._archives.values():
            archive.close()

    def read(self, image: Mapping) -> DecodedImage:
        """Reads and decodes the image of a row of table IMAGES.

        Raises:
            BadImageError: it cannot be read, or its size is not the annotated one.
            OSError: the zip that holds it is gone.
            ValueError: that zip is none.
        """
        decoded = decode_image(self._read_bytes(image))
        size, annotated = decoded.picture.size, (image["width"], image["height"])
        if size != annotated:
            turned = ", its sides swapped" if size == annotated[::-1] else ""
            detail = "{} x {} pixels, annotated as {} x {}".format(*size, *annotated)
            raise BadImageError(IMAGE_SIZE, detail + turned)
        return decoded

    def _read_bytes(self, image: Mapping) -> bytes:
        """Reads an image's file; its checksum must be that of the table, since features are kept under it."""
        if image["archive"] is None:
            raise BadImageError(IMAGE_MISSING, "no file was found")
        archive = self._open(image["archive"]) if is_zip(image["archive"]) else None
        try:
            place = Path(image["archive"], image["path"])
            n_bytes = archive.getinfo(image["path"]).file_size if archive else place.stat().st_size
            if n_bytes > MOST_BYTES:
                raise BadImageError(IMAGE_TOO_LARGE, f"the file has {n_bytes} bytes")
            data = archive.read(image["path"]) if archive else place.read_bytes()
        except BadImageError:
            raise
        except (KeyError, FileNotFoundError) as error:
            raise BadImageError(IMAGE_MISSING, "the file was there when the table of images was built") from error
        except READ_ERRORS as error:
            raise BadImageError(IMAGE_UNREADABLE, f"the file cannot be read ({_describe(error)})") from error
        if zlib.crc32(data) != image["crc32"]:
            raise BadImageError(IMAGE_CHANGED, "the file is another one than when the table of images was built")
        return data

    def _open(self, path: str) -> zipfile.ZipFile:
        if path not in self._archives:
            try:
                self._archives[path] = zipfile.ZipFile(path)
            except zipfile.BadZipFile as error:
                raise ValueError(f"{path}: the zip is damaged ({error}); fetch it again") from error
        return self._archives[path]


def is_zip(place: str) -> bool:
    """Says whether a place that may hold images is a zip; else it is a folder."""
    return place.endswith(".zip")


def decode_image(data: bytes) -> DecodedImage:
    """Decodes the first frame of an image completely.

    Args:
        data: content of the image's file.

    Raises:
        BadImageError: it is no image of `FORMATS`, is damaged or cut off, or has more than `MOST_PIXELS`.
    """
    from PIL import Image, UnidentifiedImageError

    if not data:
        raise BadImageError(IMAGE_UNREADABLE, "the file is empty")
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as picture:
            if picture.width * picture.height > MOST_PIXELS:
                raise BadImageError(IMAGE_TOO_LARGE, f"{picture.width} x {picture.height} pixels")
            mode = picture.mode  # decoding may change it
            return DecodedImage(_to_rgb(picture), mode)
    except (BadImageError, MemoryError):
        raise
    except Image.DecompressionBombError as error:
        raise BadImageError(IMAGE_TOO_LARGE, f"more than {2 * MOST_PIXELS} pixels") from error
    except UnidentifiedImageError as error:
        start = data[:BYTES_SHOWN].hex(" ")
        raise BadImageError(IMAGE_UNREADABLE, f"no image of a known format; it begins with {start}") from error
    except Exception as error:  # Pillow's readers of damaged files raise errors of every kind
        raise BadImageError(IMAGE_UNREADABLE, _describe(error)) from error


def _to_rgb(picture):
    """Returns a picture of any mode in RGB.

    # ASSUME: boxes were drawn on the pixels as they are stored. The annotators' browsers (2014 to 2016) did not turn
    # pictures by their EXIF tag; where the annotated size says otherwise, the image is set aside for its size.
    """
    from PIL import Image

    picture.load()
    if picture.mode.startswith("I;16"):
        return _sixteen_bit_grey(picture)
    if picture.mode in ("I", "F"):
        raise BadImageError(IMAGE_UNREADABLE, f"pixels of mode {picture.mode} have no agreed range")
    if not picture.has_transparency_data:
        return picture.convert("RGB")
    background = Image.new("RGBA", picture.size, (WHITE,) * 4)
    return Image.alpha_composite(background, picture.convert("RGBA")).convert("RGB")


def _sixteen_bit_grey(picture):
    """Returns a 16-bit grey picture in RGB: 65,535 becomes 255; Pillow would cut all above 255 off."""
    from PIL import Image

    values = np.asarray(picture).astype(np.uint32)
    grey = ((values + 128) // 257).astype(np.uint8)
    if "transparency" in picture.info:
        grey[values == picture.info["transparency"]] = WHITE
    return Image.fromarray(grey).convert("RGB")


def cut_crop(picture, box: tuple[int, int, int, int]):
    """Cuts a box (x, y, width, height; whole pixels) out of a picture.

    Raises:
        ValueError: the box is empty or not within the picture; Pillow would pad it with black.
    """
    x, y, width, height = box
    if not (0 <= x < x + width <= picture.width and 0 <= y < y + height <= picture.height):
        raise ValueError(f"the box {box} (x, y, width, height) is not within the picture's {picture.size} pixels")
    return picture.crop((x, y, x + width, y + height))


def check_most_are_good(n_failed: int, n_images: int, report: list[str]) -> None:
    """Checks that at most `MOST_FAILED` of the images with a file fail.

    Args:
        n_failed: images that failed.
        n_images: images that have a file.
        report: lines for the error that say why they failed.

    Raises:
        ValueError: more fail.
    """
    if n_failed > MOST_FAILED * n_images:
        first = f"{n_failed} of {n_images} images with a file cannot be used, so the fault is hardly theirs:"
        raise ValueError("\n".join([first, *report]))


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
