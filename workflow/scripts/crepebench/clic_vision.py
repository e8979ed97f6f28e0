"""Encode single images once for all trainings that leave the vision tower as it is, and say which images are damaged.

Features stand in a memory map in the order of image ids, so that processes share them and a million images need no
memory. Rows of damaged images are zeros.
"""

import hashlib
import json
import logging
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from crepebench.accounting import KEPT, READ, write_accounting
from crepebench.encoding import SharedImageReader
from crepebench.files import atomic_path
from crepebench.images import BadImageError
from crepebench.models import load_model
from crepebench.prefetching import map_ahead
from crepebench.schema import IMAGES, read_table

logger = logging.getLogger(__name__)

VERSION = 1
IMAGES_PER_BATCH = 256
PROGRESS_SECONDS = 30.0
FEATURES = "features.npy"
"""File beside the index."""


class VisionError(ValueError):
    """Features of images are those of another model or other images."""


class FrozenVision(NamedTuple):
    """Features of single images.

    Attributes:
        matrix: (n, dim) float32 memory map, unit rows; zeros where the image is damaged.
        ids: (n,) int64, sorted image ids.
        damaged: reason by image id.
        seconds: that it took to make them, on `device`.
        device: "cpu" or "cuda".
    """

    matrix: np.ndarray
    ids: np.ndarray
    damaged: Mapping[int, str]
    seconds: float
    device: str

    def rows_of(self, image_ids: Sequence[int]) -> np.ndarray:
        """Returns the rows of images.

        Raises:
            VisionError: an image has none; names it.
        """
        wanted = np.asarray(image_ids, np.int64)
        rows = np.minimum(np.searchsorted(self.ids, wanted), len(self.ids) - 1)
        if len(lacking := wanted[self.ids[rows] != wanted]):
            raise VisionError(f"{len(lacking)} images have no features, image {lacking[0]} first")
        return rows


class FrozenRows:
    """Features of the single images of training rows.

    Args:
        matrix: (images, dim) float32, may be a memory map.
        rows: (n,) row of each training row's image in it.
    """

    def __init__(self, matrix: np.ndarray, rows: np.ndarray):
        self._matrix, self._rows = matrix, rows

    def of(self, rows: np.ndarray) -> np.ndarray:
        """Returns the features of training rows: (m, dim) float32."""
        return np.asarray(self._matrix[self._rows[rows]], np.float32)


def extract_clic_vision(
    images_path: str,
    index_path: str,
    features_path: str,
    accounting_path: str,
    weights_paths: Sequence[str],
    n_loaders: int,
    cfg: str,
) -> None:
    """Encodes all images of a table, on the GPU if there is one, and writes their features beside an index.

    Args:
        images_path: table IMAGES.
        index_path: JSON to write.
        features_path: file FEATURES beside it to write.
        accounting_path: counts to write.
        weights_paths: files of the model's weights.
        n_loaders: number of threads that decode.
        cfg: JSON of `model`, the config entry of the frozen model.
    """
    images = read_images(images_path)
    model = load_model({**json.loads(cfg)["model"], "precision": "float32"}, weights_paths)
    start, counts = time.monotonic(), Counter({READ: len(images), KEPT: 0})
    damaged: dict[int, str] = {}
    with atomic_path(features_path) as partial:
        matrix = None
        for rows, tensors in _batches(images, model.preprocess, n_loaders, damaged):
            features = model.encode_images(tensors)
            if matrix is None:
                matrix = _open(partial, (len(images), features.shape[1]))
            matrix[rows] = features
            counts[KEPT] += len(rows)
        if matrix is None:
            raise VisionError(f"{images_path}: none of {len(images)} images can be read: {Counter(damaged.values())}")
        matrix.flush()
    counts.update(damaged.values())
    import torch

    said = {"version": VERSION, "identity": model.identity, "images": _digest(images), "damaged": damaged}
    said |= {"seconds": time.monotonic() - start, "device": "cuda" if torch.cuda.is_available() else "cpu"}
    write_accounting(accounting_path, "clic/vision", {"image": counts})
    with atomic_path(index_path) as partial:
        Path(partial).write_text(json.dumps(said) + "\n", encoding="utf-8")


def read_vision(index_path: str, images_path: str, identity: str) -> FrozenVision:
    """Reads features.

    Args:
        index_path: as `extract_clic_vision` wrote it.
        images_path: table IMAGES.
        identity: of the model that is trained.

    Raises:
        VisionError: they are of another model, or of other images.
    """
    said = json.loads(Path(index_path).read_text(encoding="utf-8"))
    images = read_images(images_path)
    if said.get("version") != VERSION or said["identity"] != identity or said["images"] != _digest(images):
        raise VisionError(f"{index_path} has features of another model or of other images: run its rule again")
    matrix = np.lib.format.open_memmap(Path(index_path).with_name(FEATURES), "r")
    ids = np.array([image["image_id"] for image in images], np.int64)
    damaged = {int(image_id): reason for image_id, reason in said["damaged"].items()}
    return FrozenVision(matrix, ids, damaged, said["seconds"], said["device"])


def read_images(path: str) -> list[dict]:
    """Reads table IMAGES, by image id."""
    return sorted(read_table(path, IMAGES).to_pylist(), key=lambda image: image["image_id"])


def damaged_images(images: Sequence[Mapping], n_loaders: int) -> dict[int, str]:
    """Decodes all images, and returns the reason for each that cannot be used, by its id."""
    damaged: dict[int, str] = {}
    for _ in _batches(images, None, n_loaders, damaged):
        pass
    return damaged


def _batches(images: Sequence[Mapping], preprocess, n_loaders: int, damaged: dict[int, str]) -> Iterator[tuple]:
    """Yields rows and stacked tensors of images that can be read; without `preprocess` only their rows.

    # ASSUME: an image that cannot be read is left out whatever it would be used for, before anything is drawn.
    """
    import torch

    def load(image: Mapping):
        try:
            picture = reader.read(image).picture
        except BadImageError as error:
            return error
        return preprocess(picture) if preprocess else None

    rows, tensors, told, start = [], [], time.monotonic(), time.monotonic()
    with SharedImageReader() as reader:
        for i, (image, loaded) in enumerate(map_ahead(load, images, n_loaders, 2 * n_loaders)):
            if isinstance(loaded, BadImageError):
                damaged[image["image_id"]] = loaded.reason
                logger.warning("image %d (%s) is set aside: %s", image["image_id"], image["path"], loaded)
            else:
                rows.append(i)
                tensors.append(loaded)
            if len(rows) == IMAGES_PER_BATCH or (rows and i == len(images) - 1):
                yield np.array(rows), torch.stack(tensors) if preprocess else None
                rows, tensors = [], []
            if time.monotonic() - told > PROGRESS_SECONDS:
                told = time.monotonic()
                logger.info("%d of %d images, %.0f a second", i + 1, len(images), (i + 1) / (told - start))


def _open(path: str, shape: tuple[int, int]) -> np.memmap:
    """Returns a new memory map of zeros."""
    return np.lib.format.open_memmap(path, "w+", np.float32, shape)


def _digest(images: Sequence[Mapping]) -> str:
    """Returns a digest of which images these are, by id and checksum."""
    return hashlib.sha256(repr([(image["image_id"], image["crc32"]) for image in images]).encode()).hexdigest()[:32]
