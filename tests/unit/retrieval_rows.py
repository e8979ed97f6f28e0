"""Pools of pictures and captions with features that the tests of benchmark retrieval share."""

import numpy as np

from crepebench.feature_index import crop_id, text_id
from crepebench.feature_reader import Features


def crops_of(name):
    """The crops of a picture: one, or four of a clip."""
    number = int.from_bytes(name.encode(), "big") % 10**9
    return [(number, (0, 0, 10, 10 + i)) for i in range(4 if name.endswith(".mp4") else 1)]


def crop_ids(name):
    return [crop_id(*crop) for crop in crops_of(name)]


def retrieval_item(name, *captions, subset="pool"):
    """A row of table BENCHMARK_ITEMS."""
    keys = ("x", "y", "width", "height")
    images = [{"image_id": number, **dict(zip(keys, box, strict=True))} for number, box in crops_of(name)]
    item = {"item_id": f"{subset}/{name}", "subset": subset, "task": "retrieval", "reason": ""}
    return {**item, "images": images, "captions": list(captions), "tags": []}


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
        ids = crop_ids(name)
        for id_, vector in zip(ids, found if len(ids) > 1 else [found], strict=True):
            rows["crop"][id_] = len(vectors)
            vectors.append(vector)
    for name in missing:
        reasons |= dict.fromkeys(crop_ids(name), "image_missing")
    n_crops = len(vectors) - len(texts)
    is_cut = np.array([text in cut for text in texts] + [False] * n_crops)
    return Features(rows, unit(vectors), np.array([*range(len(texts)), *[-1] * n_crops]), is_cut, reasons)
