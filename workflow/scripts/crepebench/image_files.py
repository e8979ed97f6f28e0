"""Find the files of Visual Genome's images: in the zips as they come, in the folders that they unpack to, or both."""

import csv
import logging
import os
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from crepebench.accounting import KEPT, READ
from crepebench.files import atomic_path
from crepebench.images import IMAGE_MISSING, is_zip

logger = logging.getLogger(__name__)

IMAGE_ZIPS = ("images.zip", "images2.zip")
IMAGE_FOLDERS = ("VG_100K", "VG_100K_2", "images/VG_100K", "images/VG_100K_2", "images2/VG_100K_2", "images")
"""Folders to which people unpack the zips; the last one for those who have put all images into one folder."""
IMAGE_PLACES = (*IMAGE_ZIPS, *IMAGE_FOLDERS)
"""Where images are searched in Visual Genome's folder, in the order of preference."""
PLACES_OF_ZIP = {
    "images.zip": ("images.zip", "VG_100K", "images/VG_100K"),
    "images2.zip": ("images2.zip", "VG_100K_2", "images/VG_100K_2", "images2/VG_100K_2"),
}
"""Each zip, and the folders that it unpacks to."""
FLAT_FOLDER = "images"
SUFFIX = ".jpg"
MOST_DIGITS = 18
"""Digits of the largest number of an image."""
STOP = "stop"
"""Value of `visual_genome.missing_images` that stops a run with missing images."""
MISSING_COLUMNS = ("image_id", "url", "searched")
IDS_SHOWN = 20
CHUNK_BYTES = 1 << 20


def lacking_zips(folder: str) -> list[str]:
    """Returns the zips of which a folder holds neither the file nor what it unpacks to; none if it holds all flat."""
    flat = Path(folder) / FLAT_FOLDER
    if flat.is_dir() and any(entry.name.endswith(SUFFIX) for entry in os.scandir(flat)):
        return []
    return [
        name for name, places in PLACES_OF_ZIP.items() if not any((Path(folder) / place).exists() for place in places)
    ]


class ImageFile(NamedTuple):
    """A file with an image.

    Attributes:
        archive: the place: a zip or a folder.
        path: member of the zip, or file in the folder.
        crc32: checksum of the content; None for a file in a folder as long as it has not been read.
    """

    archive: str
    path: str
    crc32: int | None


def list_image_files(places: Sequence[str]) -> dict[int, list[ImageFile]]:
    """Lists the files named `<number>.jpg` of the places that are there, by number.

    Raises:
        ValueError: a zip is damaged.
    """
    files: dict[int, list[ImageFile]] = {}
    for place in places:
        if not os.path.exists(place):
            logger.info("%s: not there", place)
            continue
        n_files = 0
        for file in _list_zip(place) if is_zip(place) else _list_folder(place):
            name = PurePosixPath(file.path)
            if name.suffix == SUFFIX and is_number(name.stem):
                files.setdefault(int(name.stem), []).append(file)
                n_files += 1
        logger.info("%s: %d image files", place, n_files)
    return files


def _list_zip(path: str) -> Iterator[ImageFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = {info.filename: info for info in archive.infolist()}  # of two of one name the last is read
    except zipfile.BadZipFile as error:
        raise ValueError(f"{path}: the zip is damaged ({error}); fetch it again") from error
    for info in members.values():
        yield ImageFile(path, info.filename, info.CRC)


def _list_folder(path: str) -> Iterator[ImageFile]:
    with os.scandir(path) as entries:
        names = sorted(entry.name for entry in entries if entry.is_file())
    for name in names:
        yield ImageFile(path, name, None)


def is_number(text: str) -> bool:
    """Says whether a text is the number of an image."""
    return text.isdecimal() and len(text) <= MOST_DIGITS


def expected_file(image_id: int, url: str | None) -> tuple[str, int]:
    """Returns folder and number of an image's file as its url says; "" and the image's id where it says nothing.

    Source: Visual Genome's field guide shows an image whose id is not the number in its url.
    """
    name = PurePosixPath(str(url or "").partition("?")[0])
    return name.parent.name, int(name.stem) if is_number(name.stem) else image_id


def read_checksum(file: ImageFile) -> int | None:
    """Returns the CRC-32 of a file's content, as a zip would state it; None where it cannot be read."""
    if file.crc32 is not None:
        return file.crc32
    checksum = 0
    try:
        with open(Path(file.archive, file.path), "rb") as stream:
            while chunk := stream.read(CHUNK_BYTES):
                checksum = zlib.crc32(chunk, checksum)
    except OSError as error:
        logger.warning("%s/%s cannot be read: %s", file.archive, file.path, error)
        return None
    return checksum


class ImageSearch:
    """Finds the file of each image, and notes what it did not find.

    Args:
        places: zips and folders to search; the first one that has an image is preferred.
    """

    def __init__(self, places: Sequence[str]):
        self._places = list(places)
        self._files = list_image_files(self._places)
        self._missing: list[dict] = []
        self._missing_by_folder: Counter = Counter()
        self._n_read = self._n_repeated = self._n_renumbered = 0

    def find(self, image_id: int, url: str | None) -> ImageFile | None:
        """Returns an image's file, with its checksum; where there are several, the folder of the url wins."""
        folder, number = expected_file(image_id, url)
        files = sorted(self._files.get(number, []), key=lambda file: _folder_name(file) != folder)
        self._n_read += 1
        self._n_repeated += len(files) > 1
        self._n_renumbered += number != image_id
        if files:
            return files[0]._replace(crc32=read_checksum(files[0]))
        self._missing.append({"image_id": image_id, "url": url or "", "searched": "; ".join(self._places)})
        self._missing_by_folder[folder or "no url"] += 1
        return None

    def counts(self) -> dict[str, int]:
        """Returns accounting counts of the images that were looked for."""
        n_missing = len(self._missing)
        counts = {READ: self._n_read, KEPT: self._n_read - n_missing}
        return {**counts, IMAGE_MISSING: n_missing} if n_missing else counts

    def settle(self, missing_path: str, policy: str) -> None:
        """Writes the missing images and says how many there are, once every image has been looked for.

        Args:
            missing_path: CSV to write: `MISSING_COLUMNS`.
            policy: value of `visual_genome.missing_images`.

        Raises:
            ValueError: images are missing and the policy is `STOP`.
        """
        with atomic_path(missing_path) as partial, open(partial, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, MISSING_COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self._missing)
        logger.info(
            "%d of %d images have a file; %d lie in several places; the url of %d has another number than their id",
            self._n_read - len(self._missing),
            self._n_read,
            self._n_repeated,
            self._n_renumbered,
        )
        if not self._missing:
            return
        report = self._describe_missing()
        if policy == STOP:
            raise ValueError(f"{report} (visual_genome.missing_images: set_aside goes on without them)")
        logger.warning("%s", report)

    def _describe_missing(self) -> str:
        """Says how many images are missing, of which folders, which come first, and where they were searched."""
        ids = [row["image_id"] for row in self._missing]
        first = ", ".join(map(str, ids[:IDS_SHOWN])) + (", ..." if len(ids) > IDS_SHOWN else "")
        folders = ", ".join(f"{folder}: {count}" for folder, count in sorted(self._missing_by_folder.items()))
        searched = ", ".join(place + ("" if os.path.exists(place) else " (not there)") for place in self._places)
        return (
            f"{len(ids)} of {self._n_read} images have no file (by the folder of their url: {folders}), "
            f"ids {first}; searched in {searched}"
        )


def _folder_name(file: ImageFile) -> str:
    """Returns the name of the folder that holds a file, in a zip or not."""
    return PurePosixPath(file.archive, file.path).parent.name
