"""Read training data with images: rows of an image and a caption, of a corpus, a table of a user, or tars of samples.

Three kinds of source:

- corpus: caption files as `crepebench.corpora` reads them; an image is found by the last part of its row's url, in a
  zip or folder.
- table: CSV, Parquet or JSON lines with the columns `image` (path from the table's folder) and `caption`.
- webdataset: tars of samples, caption and image in one; images are copied into a zip, which is read thereafter.

Only the head of an image's file is read here; whoever encodes it finds out whether the rest is whole.
"""

import io
import logging
import os
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from crepebench.accounting import KEPT, READ
from crepebench.corpora import list_files, read_batches
from crepebench.files import atomic_path
from crepebench.images import FORMATS, IMAGE_MISSING, IMAGE_TOO_LARGE, IMAGE_UNREADABLE, MOST_PIXELS, is_zip
from crepebench.line_files import guarded
from crepebench.own_captions import CAPTION, IMAGE, file_image_id, read_records
from crepebench.texts import normalise_text

logger = logging.getLogger(__name__)

CORPUS, TABLE, WEBDATASET = KINDS = ("corpus", "table", "webdataset")
ROW_REPEATED, IMAGE_NOT_NAMED, CAPTION_EMPTY = "row_repeated", "image_not_named", "caption_empty"
SUFFIXES = ("jpg", "jpeg", "png", "webp", "gif", "bmp", "tif", "tiff")
"""Suffixes of images in tars; of several in a sample the first in this order is taken."""
EPOCH = (1980, 1, 1, 0, 0, 0)


class CollidingNamesError(ValueError):
    """Two images have one file name, so that nobody can say which one a row means."""


class Row(NamedTuple):
    """A row of training data: `name` of its image within the source, and the caption, normalised."""

    name: str
    caption: str


class CaptionedImages(NamedTuple):
    """Training data with images.

    Attributes:
        captions: image_id and caption of each row that can be used, in the order of the source.
        images: rows of table IMAGES by image_id.
        counts: rows that were read, kept, and dropped by reason.
    """

    captions: list[tuple[int, str]]
    images: dict[int, dict]
    counts: Counter


def read_captioned_images(source: Mapping, packed_path: str | None = None) -> CaptionedImages:
    """Reads training data.

    Args:
        source: `name`, `kind` (one of KINDS), and
            corpus: `captions` (files or folders), `images` (zip or folder), and the corpus's `format` with what
            `crepebench.corpora` needs beside it;
            table: `path`;
            webdataset: `files`, and `caption`, the suffix of captions ("txt" unless given).
        packed_path: zip to copy the images of tars into; needed for tars alone.

    Raises:
        ValueError: the kind is unknown, no row can be used, or a file is none of its format; names it.
        CollidingNamesError: two images have one name; names both.
    """
    kind, counts = source["kind"], Counter({READ: 0, KEPT: 0})
    if kind == CORPUS:
        rows, files = list(_corpus_rows(source, counts)), FoundFiles(source["images"])
    elif kind == TABLE:
        rows, files = (
            list(_table_rows(source["path"], counts)),
            FoundFiles(str(Path(source["path"]).parent), exact=True),
        )
    elif kind == WEBDATASET:
        if not packed_path:
            raise ValueError(f"{source['name']}: the images of tars need a zip to be copied into")
        rows = pack_webdataset(list_files(source["files"]), source.get("caption", "txt"), packed_path, counts)
        files = FoundFiles(packed_path, exact=True)
    else:
        raise ValueError(f"{source.get('name')}: kind {kind!r} is none of {', '.join(KINDS)}")
    found = _join(source["name"], rows, files, counts)
    if not found.captions:
        raise ValueError(f"{source['name']}: no row with a caption and an image can be used: {dict(counts)}")
    logger.info("%s: %d captions of %d images; %s", source["name"], len(found.captions), len(found.images), counts)
    return found


def _corpus_rows(source: Mapping, counts: Counter) -> Iterator[Row]:
    """Yields the rows of a corpus.

    Raises:
        CollidingNamesError: two urls have one last part.
    """
    urls: dict[str, str] = {}
    for batch in read_batches(list_files(list(source["captions"])), source, with_urls=True):
        counts[READ] += batch.n_read
        counts.update(batch.dropped)
        for url, caption in zip(batch.urls.to_pylist(), batch.texts.to_pylist(), strict=True):
            name = url.rpartition("/")[2]
            if not name:
                counts[IMAGE_NOT_NAMED] += 1
            elif urls.setdefault(name, url) != url:
                raise CollidingNamesError(
                    f"{source['name']}: the urls {urls[name]} and {url} end in one name, {name}; give the images as a "
                    "table of paths or as tars of samples"
                )
            else:
                yield Row(name, caption)


def _table_rows(path: str, counts: Counter) -> Iterator[Row]:
    for record in read_records(path):
        counts[READ] += 1
        image, caption = (record.get(name) for name in (IMAGE, CAPTION))
        caption = normalise_text(caption) if isinstance(caption, str) else ""
        if not isinstance(image, str) or not image.strip():
            counts[IMAGE_NOT_NAMED] += 1
        elif not caption:
            counts[CAPTION_EMPTY] += 1
        else:
            yield Row(image.strip(), caption)


def pack_webdataset(paths: Sequence[str], caption: str, packed_path: str, counts: Counter) -> list[Row]:
    """Copies the images of tars into a zip, as they are, and returns its rows.

    A sample is a run of members with one name up to the first dot. In the zip an image is called
    "<tar>/<sample>.<suffix>".

    Args:
        paths: the tars, compressed or not.
        caption: suffix of the members that hold captions.
        packed_path: zip to write.
        counts: takes READ, of samples, and reasons.

    Raises:
        CollidingNamesError: two samples have one name.
        ValueError: a tar is damaged.
    """
    rows, seen = [], set()
    with atomic_path(packed_path) as partial, zipfile.ZipFile(partial, "w", zipfile.ZIP_STORED) as packed:
        for path in paths:
            for sample, members in _samples(path, caption):
                counts[READ] += 1
                suffix = next((one for one in SUFFIXES if one in members), None)
                text = normalise_text(members.get(caption, b"").decode("utf-8", errors="replace"))
                if suffix is None or not text:
                    counts[IMAGE_MISSING if suffix is None else CAPTION_EMPTY] += 1
                    continue
                name = f"{Path(path).name}/{sample}.{suffix}"
                if name in seen:
                    raise CollidingNamesError(f"{path}: two samples are called {sample}")
                seen.add(name)
                packed.writestr(zipfile.ZipInfo(name, EPOCH), members[suffix])
                rows.append(Row(name, text))
    return rows


def _samples(path: str, caption: str) -> Iterator[tuple[str, dict[str, bytes]]]:
    """Yields name, and images and caption by suffix, of each sample of a tar."""
    archive = guarded(path, "at its start", lambda: tarfile.open(path, "r:*"))  # noqa: SIM115
    sample, members = None, {}
    with archive:
        while (member := guarded(path, f"after sample {sample}", archive.next)) is not None:
            archive.members = []  # else it remembers every member
            folder, _, name = member.name.rpartition("/")
            stem, _, suffix = name.partition(".")
            if not member.isfile() or not stem:
                continue
            key = f"{folder}/{stem}" if folder not in ("", ".") else stem
            if key != sample:
                if sample is not None:
                    yield sample, members
                sample, members = key, {}
            if suffix.lower() in (*SUFFIXES, caption.lower()):
                content = guarded(path, f"in member {member.name}", archive.extractfile(member).read)
                members[caption if suffix.lower() == caption.lower() else suffix.lower()] = content
    if sample is not None:
        yield sample, members


class FoundFiles:
    """The image files of a zip or folder.

    Args:
        place: zip or folder.
        exact: whether images are asked for by their whole path; else by their file name, at any depth.

    Raises:
        FileNotFoundError: there is no such place.
    """

    def __init__(self, place: str, exact: bool = False):
        if not os.path.exists(place):
            raise FileNotFoundError(f"images: there is no zip or folder at {place}")
        self._place, self._exact = place, exact
        self._zip = None
        if is_zip(place):
            self._zip = guarded(place, "in its list of members", lambda: zipfile.ZipFile(place))
            paths = sorted({info.filename for info in self._zip.infolist() if not info.is_dir()})
        elif exact:
            paths = ()
        else:
            walked = ((Path(folder), files) for folder, _, files in os.walk(place))
            paths = sorted(str((folder / file).relative_to(place)) for folder, files in walked for file in files)
        self._paths: dict[str, list[str]] = {}
        for path in paths:
            self._paths.setdefault(path if exact else PurePosixPath(path).name, []).append(path)

    def find(self, name: str) -> dict | str:
        """Returns size, archive, path and crc32 of an image, as table IMAGES has them, or why it cannot be used.

        Raises:
            CollidingNamesError: files of different content have this name.
        """
        if self._exact and self._zip is None:
            return self._read(name) if (Path(self._place) / name).is_file() else IMAGE_MISSING
        paths = self._paths.get(name, [])
        if not paths:
            return IMAGE_MISSING
        found = [self._read(path) for path in paths]
        if len({one if isinstance(one, str) else one["crc32"] for one in found}) > 1:
            raise CollidingNamesError(f"{self._place} holds different files named {name}: {', '.join(paths)}")
        return found[0]

    def _read(self, path: str) -> dict | str:
        from PIL import Image

        try:
            data = self._zip.read(path) if self._zip else (Path(self._place) / path).read_bytes()
            with Image.open(io.BytesIO(data), formats=FORMATS) as picture:
                width, height = picture.size
        except Exception:  # Pillow and zipfile raise errors of every kind for damaged files
            return IMAGE_UNREADABLE
        if width * height > MOST_PIXELS:
            return IMAGE_TOO_LARGE
        return {"width": width, "height": height, "archive": self._place, "path": path, "crc32": zlib.crc32(data)}


def _join(source: str, rows: Sequence[Row], files: FoundFiles, counts: Counter) -> CaptionedImages:
    """Finds the image of each row; a row that says again what an earlier one says of its image is dropped."""
    found: dict[str, dict | str] = {}
    captions: dict[tuple[int, str], None] = {}
    images: dict[int, dict] = {}
    for row in rows:
        if row.name not in found:
            found[row.name] = files.find(row.name)
        file = found[row.name]
        image_id = file_image_id(f"{source}/{row.name}")
        if isinstance(file, str) or (image_id, row.caption) in captions:
            counts[file if isinstance(file, str) else ROW_REPEATED] += 1
            continue
        counts[KEPT] += 1
        captions[image_id, row.caption] = None
        images[image_id] = {"image_id": image_id, **file, "coco_id": None, "flickr_id": None}
    return CaptionedImages(list(captions), images, counts)
