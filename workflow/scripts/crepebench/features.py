"""Encode the texts and crops of retrieval sets with one model, once each, and index them in the feature store."""

import hashlib
import json
import logging
import time
import zipfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

import numpy as np

from crepebench.accounting import KEPT, READ, write_accounting
from crepebench.feature_store import FeatureStore
from crepebench.files import atomic_path
from crepebench.models import load_model
from crepebench.schema import FEATURE_INDEX, IMAGES, RETRIEVAL_SETS, read_table, write_table

logger = logging.getLogger(__name__)

TEXT = "text"
CROP = "crop"
TEXTS_PER_SHARD = 20_000
IMAGES_PER_SHARD = 1_000
IMAGE_ERRORS = (OSError, ValueError, zipfile.BadZipFile, zlib.error)
"""What a damaged image, or a damaged zip around it, may raise."""
Box = tuple[int, int, int, int]


def text_id(text: str) -> str:
    """Returns the id of a text; it is also its key in the store."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def crop_id(image_id: int, box: Box) -> str:
    """Returns the id of a crop."""
    return f"{image_id}:{','.join(map(str, box))}"


def crop_key(image: dict, box: Box) -> str:
    """Returns a crop's key in the store: checksum of the image file, and box; no pixel has to be read for it."""
    parts = ["crop", image["image_id"], image["crc32"], image["width"], image["height"], *box]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def collect_contents(sets_paths: list[str]) -> tuple[set[str], set[tuple[int, Box]]]:
    """Collects the distinct texts and crops (image_id, box) of retrieval sets."""
    texts: set[str] = set()
    crops: set[tuple[int, Box]] = set()
    for path in sets_paths:
        for row in read_table(path, RETRIEVAL_SETS).to_pylist():
            texts.add(row["caption"])
            texts.update(foil["text"] for foil in row["foils"])
            crops.add((row["image_id"], (row["x"], row["y"], row["width"], row["height"])))
    return texts, crops


def extract_features(
    sets_paths: list[str],
    images_path: str,
    index_path: str,
    accounting_path: str,
    weights_paths: list[str],
    model: str,
    family: str,
    cfg: str,
) -> None:
    """Encodes what the store does not hold yet and writes the index into it.

    Args:
        sets_paths: tables RETRIEVAL_SETS.
        images_path: table IMAGES.
        index_path: table FEATURE_INDEX to write; the model's identity stands beside it as `.identity.json`.
        accounting_path: counts to write.
        weights_paths: files of the model's weights; empty where its config entry names a tag.
        model: name of the model.
        family: family of the retrieval sets.
        cfg: JSON of `batch_size`, `store` (folder of the feature store) and `model` (its config entry).
    """
    config = json.loads(cfg)
    batch_size, store_path = config["batch_size"], config["store"]
    encoder = load_model(config["model"], weights_paths)
    identity = encoder.identity
    store = FeatureStore(store_path, identity)
    texts, crops = collect_contents(sets_paths)
    images = {row["image_id"]: row for row in read_table(images_path, IMAGES).to_pylist()}
    key_of_text = {text: text_id(text) for text in sorted(texts)}
    crops_with_image = sorted(crop for crop in crops if images[crop[0]]["archive"] is not None)
    key_of_crop = {crop: crop_key(images[crop[0]], crop[1]) for crop in crops_with_image}
    there = store.find({*key_of_text.values(), *key_of_crop.values()})
    logger.info("%d of %d features are in the store", len(there), len(key_of_text) + len(key_of_crop))
    new_texts = [text for text, key in key_of_text.items() if key not in there]
    encode_texts(new_texts, encoder, store, batch_size)
    new_crops = [crop for crop, key in key_of_crop.items() if key not in there]
    problems = encode_crops(new_crops, images, encoder, store, batch_size)
    for crop in crops - key_of_crop.keys():
        problems[crop] = "image_missing"
    _log_problems(problems)
    places = store.find({*key_of_text.values(), *key_of_crop.values()})
    rows = [_index_row(TEXT, key, places.get(key), "") for key in key_of_text.values()]
    for crop in sorted(crops):
        place = places.get(key_of_crop[crop]) if crop in key_of_crop else None
        rows.append(_index_row(CROP, crop_id(*crop), place, "" if place else problems[crop]))
    write_table(index_path, FEATURE_INDEX, sorted(rows, key=lambda row: (row["kind"], row["id"])))
    with atomic_path(identity_path(index_path)) as partial, open(partial, "w", encoding="utf-8") as file:
        json.dump({"model": model, "identity": identity, "store": store_path}, file, indent=2)
    dropped = Counter(problems.values())
    counts = {
        TEXT: {READ: len(texts), KEPT: len(texts)},
        CROP: {READ: len(crops), **dropped, KEPT: len(crops) - dropped.total()},
    }
    write_accounting(accounting_path, f"features/{model}/{family}", counts)


def identity_path(index_path: str) -> str:
    """Returns the file that says which store and model an index points into."""
    return index_path.removesuffix(".parquet") + ".identity.json"


def read_features(index_path: str) -> tuple[dict[tuple[str, str], int], np.ndarray, dict[str, str]]:
    """Reads all features of an index.

    Returns:
        Row of each (kind, id); the (n, dim) float32 matrix; and the reasons of crops without a feature, by id.
    """
    with open(identity_path(index_path), encoding="utf-8") as file:
        origin = json.load(file)
    rows = read_table(index_path, FEATURE_INDEX).to_pylist()
    found = [row for row in rows if row["shard"] is not None]
    matrix = FeatureStore(origin["store"], origin["identity"]).read([(row["shard"], row["row"]) for row in found])
    row_of = {(row["kind"], row["id"]): i for i, row in enumerate(found)}
    return row_of, matrix, {row["id"]: row["reason"] for row in rows if row["shard"] is None}


def _index_row(kind: str, id_: str, place: tuple[str, int] | None, reason: str) -> dict:
    shard, row = place if place else (None, None)
    return {"kind": kind, "id": id_, "shard": shard, "row": row, "reason": reason}


def encode_texts(texts: list[str], encoder, store: FeatureStore, batch_size: int) -> None:
    """Encodes texts and adds them to the store; sorted by length, so that batches hold little padding."""
    ordered = sorted(texts, key=lambda text: (len(text), text))
    start, n_done = time.monotonic(), 0
    for chunk in _chunks(ordered, TEXTS_PER_SHARD):
        vectors = np.concatenate([encoder.encode_texts(batch) for batch in _chunks(chunk, batch_size)])
        store.add([text_id(text) for text in chunk], vectors)
        n_done += len(chunk)
        _log_progress("texts", n_done, len(ordered), start)


def encode_crops(
    crops: list[tuple[int, Box]], images: dict[int, dict], encoder, store: FeatureStore, batch_size: int
) -> dict[tuple[int, Box], str]:
    """Encodes crops and adds them to the store; every image is decoded once.

    Returns:
        Reason for each crop whose image could not be read.
    """
    import torch

    by_image: dict[int, list[Box]] = defaultdict(list)
    for image_id, box in crops:
        by_image[image_id].append(box)
    problems: dict[tuple[int, Box], str] = {}
    start, n_done = time.monotonic(), 0
    for chunk in _chunks(sorted(by_image), IMAGES_PER_SHARD):
        keys, vectors, batch = [], [], []
        for key, tensor in _preprocessed(chunk, by_image, images, encoder.preprocess, problems):
            keys.append(key)
            batch.append(tensor)
            if len(batch) == batch_size:
                vectors.append(encoder.encode_images(torch.stack(batch)))
                batch = []
        if batch:
            vectors.append(encoder.encode_images(torch.stack(batch)))
        if keys:
            store.add(keys, np.concatenate(vectors))
        n_done += len(chunk)
        _log_progress("images", n_done, len(by_image), start)
    return problems


def _preprocessed(image_ids: list[int], by_image: dict, images: dict, preprocess, problems: dict) -> Iterator[tuple]:
    """Yields key and preprocessed tensor of each crop; notes the crops of images that cannot be read."""
    archives: dict[str, zipfile.ZipFile] = {}
    for image_id in image_ids:
        image, boxes = images[image_id], by_image[image_id]
        if image["archive"] not in archives:
            archives[image["archive"]] = zipfile.ZipFile(image["archive"])
        try:
            picture = read_image(archives[image["archive"]], image["path"])
        except IMAGE_ERRORS as error:
            logger.warning("image %d (%s in %s) is set aside: %s", image_id, image["path"], image["archive"], error)
            problems.update({(image_id, box): "image_unreadable" for box in boxes})
            continue
        if picture.size != (image["width"], image["height"]):
            logger.warning("image %d is %s pixels, its annotations say otherwise; set aside", image_id, picture.size)
            problems.update({(image_id, box): "image_size" for box in boxes})
            continue
        for x, y, width, height in boxes:
            yield crop_key(image, (x, y, width, height)), preprocess(picture.crop((x, y, x + width, y + height)))
    for archive in archives.values():
        archive.close()


def read_image(archive: zipfile.ZipFile, member: str):
    """Decodes an image of a zip completely, as RGB.

    Raises:
        OSError: the image is damaged or cut off.
        ValueError: the image has so many pixels that it is taken for an attack.
    """
    from PIL import Image

    try:
        with archive.open(member) as stream, Image.open(stream) as picture:
            return picture.convert("RGB")
    except Image.DecompressionBombError as error:
        raise ValueError(str(error)) from error


def _log_problems(problems: dict[tuple[int, Box], str]) -> None:
    for reason, count in sorted(Counter(problems.values()).items()):
        image_ids = sorted({image_id for (image_id, _), found in problems.items() if found == reason})
        logger.warning("%s: %d crops of %d images, ids %s", reason, count, len(image_ids), image_ids[:20])


def _log_progress(what: str, n_done: int, n_all: int, start: float) -> None:
    rate = n_done / max(time.monotonic() - start, 1e-9)
    logger.info("%d of %d %s encoded, %.0f a second", n_done, n_all, what, rate)


def _chunks(items: list, size: int) -> Iterable[list]:
    return (items[i : i + size] for i in range(0, len(items), size))
