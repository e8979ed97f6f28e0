"""Pools of pictures and captions with features that the tests of benchmark retrieval share."""

import numpy as np

from crepebench.benchmark_items import ImageRef, Item
from crepebench.feature_index import crop_id, text_id
from crepebench.feature_reader import Features

BOX = (0, 0, 10, 10)


def picture(name):
    return ImageRef("root", name)


def retrieval_item(name, *captions, subset="pool"):
    return Item(f"{subset}/{name}", subset, "retrieval", (picture(name),), captions, {})


def crops_of(image):
    """The crops of a picture: one, or four of a clip."""
    number = int.from_bytes(image.name.encode(), "big") % 10**9
    return [crop_id(number, (0, 0, 10, 10 + i)) for i in range(4 if image.name.endswith(".mp4") else 1)]


def unit(vectors):
    vectors = np.asarray(vectors, np.float64)
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def features_for(images, texts, cut=(), missing=()):
    """Returns features.

    Args:
        images: vectors by name; of a clip a list of four.
        texts: vectors by text.
        cut: texts that are longer than the model reads.
        missing: names of pictures without a file.
    """
    vectors, rows, reasons = list(texts.values()), {"text": {}, "crop": {}}, {}
    rows["text"] = {text_id(text): i for i, text in enumerate(texts)}
    for name, found in images.items():
        ids = crops_of(picture(name))
        for id_, vector in zip(ids, found if len(ids) > 1 else [found], strict=True):
            rows["crop"][id_] = len(vectors)
            vectors.append(vector)
    for name in missing:
        reasons |= dict.fromkeys(crops_of(picture(name)), "image_missing")
    n_crops = len(vectors) - len(texts)
    is_cut = np.array([text in cut for text in texts] + [False] * n_crops)
    return Features(rows, unit(vectors), np.array([*range(len(texts)), *[-1] * n_crops]), is_cut, reasons)
