"""Encode texts and crops into the feature store: sorted, in batches, loading ahead of the model."""

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Iterable
from math import ceil

import numpy as np

from crepebench.batch_sizes import BatchSizer
from crepebench.crop_tensors import CropTensors
from crepebench.feature_index import Box, Crop, crop_key, text_id
from crepebench.feature_store import FeatureStore
from crepebench.images import BadImageError, ImageReader
from crepebench.models import Model
from crepebench.prefetching import map_ahead
from crepebench.token_rows import TokenRow, lengths_of, take_rows, token_rows

logger = logging.getLogger(__name__)

TEXTS_PER_SHARD = 20_000
IMAGES_PER_SHARD = 1_000
TEXTS_ON_GPU = 2_048
CROPS_ON_GPU = 512
"""Sizes of batches to begin with. Tensors of some three batches stand in memory: 1 GB at 224 pixels, 3 GB at 384."""
CHUNKS_AHEAD = 2
"""Chunks of texts that are tokenised before their turn."""


def encode_texts(texts: Iterable[str], encoder: Model, store: FeatureStore, sizer: BatchSizer) -> dict[str, TokenRow]:
    """Encodes texts and adds them to the store, a shard at a time; batches hold texts of like length.

    Returns:
        What is known of the tokens of each text.
    """
    rows: dict[str, TokenRow] = {}
    ordered, start = _by_length(texts), time.monotonic()
    for chunk, tokens in map_ahead(encoder.tokenise, chunks(ordered, TEXTS_PER_SHARD), 1, CHUNKS_AHEAD):
        rows.update(zip(chunk, token_rows(tokens), strict=True))
        order = np.argsort(lengths_of(tokens), kind="stable")
        tokens = take_rows(tokens, order)
        vectors = _encode_tokens(encoder, tokens, sizer)
        store.add([text_id(chunk[i]) for i in order], vectors)
        _log_progress("texts", len(rows), len(ordered), start)
    return rows


def _encode_tokens(encoder: Model, tokens, sizer: BatchSizer) -> np.ndarray:
    """Encodes all rows of tokens."""
    return sizer.encode(len(tokens.ids), lambda batch: encoder.encode_tokens(take_rows(tokens, batch)))


def describe_texts(texts: Iterable[str], encoder: Model) -> dict[str, TokenRow]:
    """Returns what is known of the tokens of each text; nothing is encoded."""
    rows: dict[str, TokenRow] = {}
    for chunk in chunks(_by_length(texts), TEXTS_PER_SHARD):
        rows.update(zip(chunk, token_rows(encoder.tokenise(chunk)), strict=True))
    return rows


def encode_crops(
    crops: Iterable[Crop],
    images: dict[int, dict],
    encoder: Model,
    store: FeatureStore,
    sizer: BatchSizer,
    tensors: CropTensors,
    n_loaders: int,
) -> dict[Crop, str]:
    """Encodes crops and adds them to the store; every image is decoded once, ahead of the model.

    Args:
        crops: image id and box of each.
        images: rows of table IMAGES, by id.
        encoder: the model.
        store: where features go.
        sizer: says how many are encoded at once.
        tensors: makes their tensors.
        n_loaders: number of threads that decode.

    Returns:
        Reason for each crop whose image cannot be used.

    Raises:
        Exception: an image raised something else than BadImageError; a note names the image.
    """
    by_image: dict[int, list[Box]] = defaultdict(list)
    for image_id, box in crops:
        by_image[image_id].append(box)
    n_crops = sum(map(len, by_image.values()))
    problems: dict[Crop, str] = {}
    shard = _CropShard(encoder, store, sizer)
    start, n_done = time.monotonic(), 0

    def load(image_id: int) -> list | BadImageError:
        try:
            return tensors.of(reader.read(images[image_id]).picture, by_image[image_id])
        except BadImageError as error:
            return error
        except Exception as error:
            error.add_note(f"image {image_id} ({images[image_id]['path']} in {images[image_id]['archive']})")
            raise

    with SharedImageReader() as reader:
        n_ahead = max(2 * n_loaders, ceil(sizer.size * len(by_image) / max(n_crops, 1)))  # about one batch
        for image_id, loaded in map_ahead(load, sorted(by_image), n_loaders, n_ahead):
            image, boxes = images[image_id], by_image[image_id]
            if isinstance(loaded, BadImageError):
                logger.warning(
                    "image %d (%s in %s) is set aside: %s", image_id, image["path"], image["archive"], loaded
                )
                problems.update({(image_id, box): loaded.reason for box in boxes})
            else:
                shard.take([crop_key(image, box, tensors.pipeline) for box in boxes], loaded)
            n_done += 1
            if n_done % IMAGES_PER_SHARD == 0 or n_done == len(by_image):
                shard.finish()
                _log_progress("images", n_done, len(by_image), start)
    return problems


class SharedImageReader(ImageReader):
    """An ImageReader for several threads: one after the other reads bytes, all decode at once."""

    def __init__(self):
        super().__init__()
        self._lock = threading.Lock()

    def _read_bytes(self, image) -> bytes:
        with self._lock:  # a zip keeps count of its readers without a lock of its own
            return super()._read_bytes(image)


class _CropShard:
    """Crops on their way into the store: encoded batch by batch, added as one shard."""

    def __init__(self, encoder: Model, store: FeatureStore, sizer: BatchSizer):
        self._encoder, self._store, self._sizer = encoder, store, sizer
        self._keys: list[str] = []
        self._waiting: list = []
        self._vectors: list[np.ndarray] = []

    def take(self, keys: list[str], tensors: list) -> None:
        """Takes crops, and encodes what makes whole batches."""
        self._keys += keys
        self._waiting += tensors
        while len(self._waiting) >= self._sizer.size:
            self._encode(self._sizer.size)

    def finish(self) -> None:
        """Encodes the rest and adds all to the store."""
        if self._waiting:
            self._encode(len(self._waiting))
        if self._keys:
            self._store.add(self._keys, np.concatenate(self._vectors))
        self._keys, self._vectors = [], []

    def _encode(self, n_crops: int) -> None:
        import torch

        batch, self._waiting = self._waiting[:n_crops], self._waiting[n_crops:]
        encode = self._encoder.encode_images
        self._vectors.append(self._sizer.encode(n_crops, lambda rows: encode(torch.stack(batch[rows]))))


def _by_length(texts: Iterable[str]) -> list[str]:
    return sorted(texts, key=lambda text: (len(text), text))


def _log_progress(what: str, n_done: int, n_all: int, start: float) -> None:
    rate = n_done / max(time.monotonic() - start, 1e-9)
    logger.info("%d of %d %s done, %.0f a second", n_done, n_all, what, rate)


def chunks(items: list, size: int) -> Iterable[list]:
    """Returns consecutive parts of at most `size` items."""
    return (items[i : i + size] for i in range(0, len(items), size))
