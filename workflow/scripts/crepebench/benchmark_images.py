"""Find the pictures of benchmarks by file name in the folders and zips that the config names as roots.

The folders that a benchmark's own files write before a name are those of its authors' machines, and do not count.
"""

import os
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from crepebench.benchmark_items import ImageRef
from crepebench.boxes import Box, clip_box
from crepebench.images import IMAGE_MISSING, IMAGE_UNREADABLE, BadImageError, decode_image, is_zip
from crepebench.own_captions import file_image_id
from crepebench.video_frames import frame_names, is_clip

ROOT_UNKNOWN, BOX_INVALID, BOX_OUTSIDE = "root_not_configured", "box_invalid", "box_outside"
"""Reasons why a picture cannot be used, beside those of `crepebench.images`."""


class FoundImage(NamedTuple):
    """A picture of an item: its row of table IMAGES and the crop, or the reason why there is none."""

    row: dict | None
    box: Box | None
    reason: str


def base_name(name: str) -> str:
    """Returns the file name at the end of a path, whichever slash it is written with."""
    return PurePosixPath(name.replace("\\", "/")).name


class BenchmarkImages:
    """Finds pictures, and keeps those that were found.

    Args:
        roots: folders and zips by the name of the root.
        wanted: pictures that will be asked for.

    Attributes:
        used: rows of table IMAGES, by image_id.
    """

    def __init__(self, roots: Mapping[str, Sequence[str]], wanted: Iterable[ImageRef]):
        self._roots, self.used = dict(roots), {}
        self._zips: dict[str, zipfile.ZipFile] = {}
        names: dict[str, set[str]] = {}
        for ref in wanted:
            name = base_name(ref.name)
            names.setdefault(ref.root, set()).update(frame_names(name) if is_clip(name) else (name,))
        self._places = {
            root: _list_places(self._roots[root], found) for root, found in names.items() if root in self._roots
        }
        self._rows: dict[tuple[str, str], dict | str] = {}

    def find(self, ref: ImageRef) -> FoundImage:
        """Returns the picture that a reference names; of a clip, its own id and the box of its frames.

        Raises:
            ValueError: files of one name and different content lie in one root; names both.
        """
        if is_clip(ref.name):
            return self._find_clip(ref)
        key = ref.root, base_name(ref.name)
        if key not in self._rows:
            self._rows[key] = self._read(*key)
        row = self._rows[key]
        if isinstance(row, str):
            return FoundImage(None, None, row)
        size = row["width"], row["height"]
        box, reason = ((0, 0, *size), "") if ref.box is None else _crop(ref.box, size)
        if not reason:
            self.used[row["image_id"]] = row
        return FoundImage(row, box, reason)

    def _find_clip(self, ref: ImageRef) -> FoundImage:
        """Returns a clip, all frames of which can be used; the reason is that of the first frame that cannot."""
        name = base_name(ref.name)
        frames = [self.find(replace(ref, name=frame)) for frame in frame_names(name)]
        if reason := next((frame.reason for frame in frames if frame.reason), ""):
            return FoundImage(None, None, reason)
        return FoundImage({**frames[0].row, "image_id": file_image_id(f"{ref.root}/{name}")}, frames[0].box, "")

    def _read(self, root: str, name: str) -> dict | str:
        """Returns the row of table IMAGES of a file, or why it cannot be used."""
        if root not in self._roots:
            return ROOT_UNKNOWN
        found = self._places[root].get(name, [])
        if not found:
            return IMAGE_MISSING
        try:
            contents = [self._read_bytes(*place) for place in found]
            checksums = [zlib.crc32(data) for data in contents]
            if len(set(checksums)) > 1:
                where = ", ".join(f"{path} in {archive}" for archive, path in found)
                raise AmbiguousNameError(f"root {root} holds different files named {name}: {where}")
            width, height = decode_image(contents[0]).picture.size
        except AmbiguousNameError:
            raise
        except BadImageError as error:
            return error.reason
        except (OSError, RuntimeError, zipfile.BadZipFile, zlib.error):
            return IMAGE_UNREADABLE
        archive, path = found[0]
        file = {"archive": archive, "path": path, "crc32": checksums[0]}
        image_id = file_image_id(f"{root}/{name}")
        return {"image_id": image_id, "width": width, "height": height, **file, "coco_id": None, "flickr_id": None}

    def _read_bytes(self, place: str, path: str) -> bytes:
        if not is_zip(place):
            return Path(place, path).read_bytes()
        if place not in self._zips:
            self._zips[place] = zipfile.ZipFile(place)
        return self._zips[place].read(path)


class AmbiguousNameError(ValueError):
    """A root holds different files of one name."""


def _list_places(places: Sequence[str], names: set[str]) -> dict[str, list[tuple[str, str]]]:
    """Returns in which folder or zip, and where in it, the files of some names lie, by name; in the order of places."""
    found: dict[str, list[tuple[str, str]]] = {}
    for place in places:
        for name, paths in _list_paths(place, names).items():
            found.setdefault(name, []).extend((place, path) for path in paths)
    return found


def _list_paths(place: str, names: set[str]) -> dict[str, list[str]]:
    """Returns where in a folder, at any depth, or in a zip the files of some names lie, by name; sorted.

    Raises:
        ValueError: the zip is damaged.
    """
    found: dict[str, list[str]] = {}
    if is_zip(place):
        if not os.path.exists(place):
            return found
        try:
            with zipfile.ZipFile(place) as archive:
                paths = sorted({info.filename for info in archive.infolist() if not info.is_dir()})
        except zipfile.BadZipFile as error:
            raise ValueError(f"{place}: the zip is damaged ({error}); fetch it again") from error
    else:
        walked = os.walk(place)
        paths = sorted(
            os.path.relpath(os.path.join(folder, file), place) for folder, _, files in walked for file in files
        )
    for path in paths:
        if base_name(path) in names:
            found.setdefault(base_name(path), []).append(path)
    return found


def _crop(box: tuple[float, float, float, float], size: tuple[int, int]) -> tuple[Box | None, str]:
    """Returns the whole pixels of a box within the image, or the reason why there are none."""
    x, y, width, height = box
    if not all(map(_is_finite, box)) or width <= 0 or height <= 0:
        return None, BOX_INVALID
    # ASSUME: the corners of a box are rounded to whole pixels and cut to the image, and at least one pixel is taken;
    # the benchmarks hand their boxes to Pillow, which rounds them too, and say nothing of it.
    left, top = round(x), round(y)
    whole = left, top, max(round(x + width) - left, 1), max(round(y + height) - top, 1)
    cut = clip_box(whole, size)
    return (cut, "") if cut else (None, BOX_OUTSIDE)


def _is_finite(number: float) -> bool:
    return isinstance(number, int | float) and abs(number) < float("inf")
