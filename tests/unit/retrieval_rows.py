"""Items that search a pool, as rows of their table, with features that the tests share."""

import numpy as np

from crepebench.benchmark_building import item_row
from crepebench.benchmark_images import FoundImage
from crepebench.benchmark_items import ImageRef
from crepebench.benchmark_retrieval import RETRIEVE_CAPTION, RETRIEVE_IMAGE, retrieval_items
from crepebench.feature_index import crop_id, text_id
from crepebench.feature_reader import Features
from crepebench.own_captions import file_image_id
from crepebench.video_frames import frame_names, is_clip

BOX = (0, 0, 10, 20)


def image_id(name):
    return file_image_id(f"root/{name}")


def rows_of(items):
    """Rows of table BENCHMARK_ITEMS."""
    return [
        item_row(one, [FoundImage({"image_id": image_id(ref.name)}, BOX, "") for ref in one.images]) for one in items
    ]


def rows_of_pictures(captions_of, cues=False):
    """Items of both directions, of pictures or clips by name."""
    rows = []
    for name, captions in captions_of.items():
        rows += retrieval_items(
            name, "pool", ImageRef("root", name), captions, (RETRIEVE_CAPTION, RETRIEVE_IMAGE), cues
        )
    return rows_of(rows)


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
    vectors, crops, reasons = list(texts.values()), {}, {}
    for name, found in images.items():
        files = dict(zip(frame_names(name), found, strict=True)) if is_clip(name) else {name: found}
        for file, vector in files.items():
            crops[crop_id(image_id(file), BOX)] = len(vectors)
            vectors.append(vector)
    for name in missing:
        reasons[crop_id(image_id(name), BOX)] = "image_missing"
    n_crops = len(vectors) - len(texts)
    is_cut = np.array([text in cut for text in texts] + [False] * n_crops)
    rows = {"text": {text_id(text): i for i, text in enumerate(texts)}, "crop": crops}
    return Features(rows, unit(vectors), np.array([*range(len(texts)), *[-1] * n_crops]), is_cut, reasons)


def means_of(scored, rule="strict"):
    """The mean of each metric in percent, those left out that were not scored."""
    values = {}
    for row in scored:
        if not row["reason"]:
            values.setdefault(row["metric"], []).append(100.0 * row[rule])
    return {metric: float(np.mean(found)) for metric, found in values.items()}
