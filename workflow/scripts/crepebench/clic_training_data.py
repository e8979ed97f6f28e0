"""What a CLIC training reads: rows, images, candidates, and the features of single images."""

import hashlib
from collections import Counter
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crepebench.accounting import KEPT, READ
from crepebench.clic_candidate_index import index_candidates
from crepebench.clic_images import is_wider
from crepebench.clic_items import ItemMaker
from crepebench.clic_loading import Examples
from crepebench.clic_rows import ClicRows
from crepebench.clic_settings import CANDIDATES, Variant
from crepebench.clic_tokens import TextTokens
from crepebench.clic_training import TRAIN, VALIDATION
from crepebench.clic_vision import FrozenVision, damaged_images, read_images, read_vision
from crepebench.open_clip_models import OpenClipModel
from crepebench.schema import CLIC_CANDIDATES, CLIC_ROWS, read_table

MOST_ROWS_AS_DICTS = 20_000
LOADERS = 4
"""Threads that decode all images once, where no features of them are kept."""


class ClicData(NamedTuple):
    """What is trained on.

    Attributes:
        rows: table CLIC_ROWS by split, without damaged images.
        images: row of table IMAGES of each of them, by split.
        candidates: rows of table CLIC_CANDIDATES; None where the variant draws random words.
        vision: features of single images; None where they are encoded in the training.
        counts: of the rows.
    """

    rows: dict[str, pa.Table]
    images: dict[str, list[dict]]
    candidates: list[dict] | None
    vision: FrozenVision | None
    counts: Counter


def read_data(
    rows_path: str,
    images_path: str,
    candidates_path: str | None,
    vision_path: str | None,
    base: OpenClipModel,
    variant: Variant,
) -> ClicData:
    """Reads what is trained on, and sets rows aside whose image is damaged; all images are decoded once for that.

    Raises:
        ValueError: the variant needs candidates, and there are none.
        VisionError: features of images are those of another model.
    """
    images = read_images(images_path)
    vision = read_vision(vision_path, images_path, base.identity) if vision_path else None
    damaged = vision.damaged if vision else damaged_images(images, LOADERS)
    table = read_table(rows_path, CLIC_ROWS)
    by_id, ids = {image["image_id"]: image for image in images}, table["image_id"].to_pylist()
    if lacking := [image_id for image_id in ids if image_id not in by_id]:
        raise ValueError(f"{images_path} lacks {len(lacking)} images of {rows_path}, image {lacking[0]} first")
    counts = Counter({READ: len(ids), KEPT: sum(image_id not in damaged for image_id in ids)})
    counts.update(damaged[image_id] for image_id in ids if image_id in damaged)
    sound = table.filter(pa.array([image_id not in damaged for image_id in ids], pa.bool_()))
    rows = {split: sound.filter(pc.equal(sound["split"], split)) for split in (TRAIN, VALIDATION)}
    of_rows = {split: [by_id[i] for i in found["image_id"].to_pylist()] for split, found in rows.items()}
    candidates = None
    if variant.negatives == CANDIDATES:
        if not candidates_path:
            raise ValueError("CLIC's training: negatives is 'candidates', and there is no table of candidates")
        candidates = read_table(candidates_path, CLIC_CANDIDATES).to_pylist()
    return ClicData(rows, of_rows, candidates, vision, counts)


def make_examples(data: ClicData, split: str, tokens: TextTokens, variant: Variant, seed: int) -> Examples:
    """Returns the examples of a split."""
    rows, images = ClicRows(data.rows[split]), data.images[split]
    orientations = np.array([is_wider(image) for image in images], bool)
    items = [*rows] if len(rows) <= MOST_ROWS_AS_DICTS else rows  # dicts are faster, and larger
    candidates = None if data.candidates is None else index_candidates(data.candidates, rows, orientations)
    maker = ItemMaker(items, orientations, variant, seed, tokens.count, tokens.limit, candidates)
    sentences = pc.list_element(data.rows[split]["sentences"], 0).to_pylist()
    return Examples(maker, sentences, images, data.rows[split]["row_id"].to_numpy())


def data_digest(rows_path: str, images_path: str, candidates_path: str | None) -> str:
    """Returns a digest of what is trained on: rows, contents of images, candidates."""
    digest = hashlib.sha256(repr([(image["image_id"], image["crc32"]) for image in read_images(images_path)]).encode())
    for path in filter(None, (rows_path, candidates_path)):
        with open(path, "rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:32]
