"""Read what CLIC trains on: images, each with its captions or sentences.

Beside the kinds of `crepebench.captioned_images` there is a fourth, `sentences`: the release's table, a CSV without a
header, whose first column is the path of an image and whose further columns are its sentences.
"""

import csv
import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from crepebench.accounting import KEPT, READ
from crepebench.captioned_images import (
    CAPTION_EMPTY,
    IMAGE_NOT_NAMED,
    ROW_REPEATED,
    CollidingNamesError,
    FoundFiles,
    read_captioned_images,
)
from crepebench.file_faults import named_faults
from crepebench.own_captions import file_image_id
from crepebench.texts import normalise_text

logger = logging.getLogger(__name__)

SENTENCES = "sentences"
"""Kind of source."""
SUFFIXES = (".png", ".jpg", ".jpeg")
"""Of images in the release's table; rows with others are dropped. Source: CLIC's code."""
NO_IMAGE_SUFFIX = "not_png_or_jpeg"


class ImageTexts(NamedTuple):
    """What a source says of its images.

    Attributes:
        texts: captions of each image by image_id, in the order of the source.
        images: rows of table IMAGES by image_id.
        counts: rows that were read, kept, and dropped by reason.
        is_split: whether the captions are sentences as they stand.
    """

    texts: dict[int, list[str]]
    images: dict[int, dict]
    counts: Counter
    is_split: bool


def read_image_texts(source: Mapping, packed_path: str | None = None) -> ImageTexts:
    """Reads a source of any kind; captions of one image, in several rows, come together.

    Args:
        source: as `crepebench.captioned_images.read_captioned_images` takes it; or of kind `sentences`, with `path`,
            and `images` (zip or folder that the paths of images begin in; the table's own folder unless given).
        packed_path: zip to copy the images of tars into.

    Raises:
        ValueError: no row can be used, or a file is none of its format; names it.
        CollidingNamesError: two images have one name; names both.
    """
    if source["kind"] == SENTENCES:
        return _read_sentences(source)
    found = read_captioned_images(source, packed_path)
    texts: dict[int, list[str]] = {}
    for image_id, caption in found.captions:
        texts.setdefault(image_id, []).append(caption)
    return ImageTexts(texts, found.images, found.counts, False)


def _read_sentences(source: Mapping) -> ImageTexts:
    """Reads the release's table.

    Raises:
        CollidingNamesError: two rows name one image and say different things of it, as they do where images were saved
            under the last part of their urls; names file and lines.
    """
    path, counts = source["path"], Counter({READ: 0, KEPT: 0})
    files = FoundFiles(source.get("images") or str(Path(path).parent), exact=True)
    texts: dict[int, list[str]] = {}
    images: dict[int, dict] = {}
    seen: dict[str, tuple[int, list[str]]] = {}
    for line, name, sentences in read_sentence_rows(path, counts):
        if name in seen:
            first, said = seen[name]
            if said != sentences:
                raise CollidingNamesError(f"{path}: lines {first} and {line} say different things of one image, {name}")
            counts[ROW_REPEATED] += 1
            continue
        seen[name] = line, sentences
        file = files.find(name)
        if isinstance(file, str):
            counts[file] += 1
            continue
        image_id = file_image_id(f"{source['name']}/{name}")
        counts[KEPT] += 1
        texts[image_id] = sentences
        images[image_id] = {"image_id": image_id, **file, "coco_id": None, "flickr_id": None}
    if not texts:
        raise ValueError(f"{source['name']}: no row with sentences and an image can be used: {dict(counts)}")
    logger.info("%s: %d images with sentences; %s", source["name"], len(texts), counts)
    return ImageTexts(texts, images, counts, True)


def read_sentence_rows(path: str, counts: Counter) -> Iterator[tuple[int, str, list[str]]]:
    """Yields line, path of the image and sentences of each usable row of the release's table.

    Empty lines are no rows; quoted cells may hold commas, quotes and line breaks; empty cells say nothing.

    Args:
        path: CSV without a header.
        counts: takes READ and reasons.

    Raises:
        ValueError: the file is no CSV in UTF-8; names it.
    """
    with named_faults(path), open(path, newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file)
        try:
            for cells in reader:
                cells = [normalise_text(cell) for cell in cells]
                if not any(cells):
                    continue
                counts[READ] += 1
                name, sentences = cells[0], [cell for cell in cells[1:] if cell]
                if not name:
                    counts[IMAGE_NOT_NAMED] += 1
                elif not name.lower().endswith(SUFFIXES):
                    counts[NO_IMAGE_SUFFIX] += 1
                elif not sentences:
                    counts[CAPTION_EMPTY] += 1
                else:
                    yield reader.line_num, name, sentences
        except csv.Error as error:
            raise ValueError(f"{path}, line {reader.line_num}: no CSV ({error})") from error
