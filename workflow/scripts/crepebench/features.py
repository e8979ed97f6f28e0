"""Encode the texts and crops of retrieval sets with one model, once each, and index them in the feature store."""

import json
import logging
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from crepebench.accounting import write_accounting
from crepebench.feature_index import (
    Box,
    Contents,
    Crop,
    Place,
    collect_contents,
    count_index,
    crop_key,
    describe_problems,
    plan_contents,
    text_id,
    write_index,
)
from crepebench.feature_store import FeatureStore
from crepebench.images import BadImageError, ImageReader, check_most_are_good, cut_crop
from crepebench.models import load_model
from crepebench.schema import IMAGES, read_table

logger = logging.getLogger(__name__)

TEXTS_PER_SHARD = 20_000
IMAGES_PER_SHARD = 1_000
MOST_ROUNDS = 3
"""How often features that leave the store while the job runs (pruned, damaged) are encoded before the job gives up."""


def extract_features(
    sets_paths: list[str],
    images_path: str,
    image_places: list[str],
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
        image_places: zips and folders that were searched for the images.
        index_path: table FEATURE_INDEX to write; the model's identity stands beside it as `.identity.json`.
        accounting_path: counts to write.
        weights_paths: files of the model's weights; empty where its config entry names a tag.
        model: name of the model.
        family: family of the retrieval sets.
        cfg: JSON of `batch_size`, `store` (folder of the feature store) and `model` (its config entry).

    Raises:
        ValueError: no crop has a feature, or most images with a file cannot be used; says why.
        OSError: the store keeps losing what is added to it.
    """
    config = json.loads(cfg)
    encoder = load_model(config["model"], weights_paths)
    store = FeatureStore(config["store"], encoder.identity)
    images = {row["image_id"]: row for row in read_table(images_path, IMAGES).to_pylist()}
    contents = plan_contents(*collect_contents(sets_paths), images)
    origin = {"model": model, "identity": encoder.identity, "store": config["store"]}
    places = store.find(contents.keys)
    logger.info("%d of %d features are in the store", len(places), len(contents.keys))
    for _ in range(MOST_ROUNDS):
        encode_missing(contents, places, images, encoder, store, config["batch_size"], image_places)
        with store.locked():  # what is found here cannot be pruned before the index that names it is written
            places = store.find(contents.keys)
            n_missing = sum(map(len, contents.missing(places)))
            if not n_missing:
                rows = contents.index_rows(places)
                write_index(index_path, rows, origin)
                break
        logger.warning("%d features have left the store meanwhile and are encoded again", n_missing)
    else:
        raise OSError(f"{store.folder} has lost features {MOST_ROUNDS} times; the log names damaged shards, if any")
    write_accounting(accounting_path, f"features/{model}/{family}", count_index(rows))


def encode_missing(
    contents: Contents,
    places: Mapping[str, Place],
    images: dict[int, dict],
    encoder,
    store: FeatureStore,
    batch_size: int,
    image_places: list[str],
) -> None:
    """Encodes what has no place in the store; notes and logs why crops cannot be encoded.

    Raises:
        ValueError: no crop has a feature, or most images with a file cannot be used; says why.
    """
    texts, crops = contents.missing(places)
    problems = encode_crops(crops, images, encoder, store, batch_size)
    contents.problems |= problems
    report = describe_problems(contents.problems, contents.n_crops, image_places)
    for line in report:
        logger.warning("%s", line)
    if report and len(contents.problems) == contents.n_crops:
        raise ValueError("\n".join(["no crop has a feature, so all tables would be empty:", *report]))
    with_file = {image_id for image_id, _ in contents.key_of_crop}
    failed = {image_id for image_id, _ in contents.problems} & with_file
    check_most_are_good(len(failed), len(with_file), report)
    encode_texts(texts, encoder, store, batch_size)
    n_crops = len(crops) - len(problems)
    if texts or n_crops:
        logger.info("%d texts and %d crops were encoded", len(texts), n_crops)
    else:
        logger.info("nothing was encoded: all features that can be made are in the store")


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
    crops: list[Crop], images: dict[int, dict], encoder, store: FeatureStore, batch_size: int
) -> dict[Crop, str]:
    """Encodes crops and adds them to the store; every image is decoded once.

    Returns:
        Reason for each crop whose image cannot be used.
    """
    import torch

    by_image: dict[int, list[Box]] = defaultdict(list)
    for image_id, box in crops:
        by_image[image_id].append(box)
    problems: dict[Crop, str] = {}
    start, n_done = time.monotonic(), 0
    with ImageReader() as reader:
        for chunk in _chunks(sorted(by_image), IMAGES_PER_SHARD):
            keys, vectors, batch = [], [], []
            for key, tensor in _preprocessed(chunk, by_image, images, encoder.preprocess, problems, reader):
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


def _preprocessed(
    image_ids: list[int], by_image: dict, images: dict, preprocess, problems: dict, reader: ImageReader
) -> Iterator[tuple]:
    """Yields key and preprocessed tensor of each crop; notes the crops of images that cannot be used."""
    for image_id in image_ids:
        image, boxes = images[image_id], by_image[image_id]
        try:
            picture = reader.read(image).picture
        except BadImageError as error:
            logger.warning("image %d (%s in %s) is set aside: %s", image_id, image["path"], image["archive"], error)
            problems.update({(image_id, box): error.reason for box in boxes})
            continue
        for box in boxes:
            yield crop_key(image, box), preprocess(cut_crop(picture, box))


def _log_progress(what: str, n_done: int, n_all: int, start: float) -> None:
    rate = n_done / max(time.monotonic() - start, 1e-9)
    logger.info("%d of %d %s done, %.0f a second", n_done, n_all, what, rate)


def _chunks(items: list, size: int) -> Iterable[list]:
    return (items[i : i + size] for i in range(0, len(items), size))
