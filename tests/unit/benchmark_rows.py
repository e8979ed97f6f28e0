"""Items of every task, rows of their table, and features made by hand."""

import numpy as np

from crepebench.benchmark_building import item_row
from crepebench.benchmark_images import FoundImage
from crepebench.benchmark_items import SHAPES, ImageRef, Item
from crepebench.feature_index import CROP, TEXT, crop_id, text_id
from crepebench.feature_reader import ABSENT, Features

SIZES = {
    "choose_caption": (1, 4),
    "choose_image": (2, 1),
    "pairs": (2, 2),
    "pairs_image": (2, 2),
    "two_captions": (1, 3),
    "text_only": (0, 3),
}
"""Images and captions of the items of each task."""
assert SIZES.keys() == SHAPES.keys()
BOX = (0, 0, 10, 20)


def make_item(task, number=0, subset="s", tags=None, image=None):
    n_images, n_captions = SIZES[task]
    first = number if image is None else image
    refs = tuple(ImageRef("r", f"{first}_{i}.png") for i in range(n_images))
    captions = tuple(f"item {number} caption {i}" for i in range(n_captions))
    return Item(f"{task}{number}", subset, task, refs, captions, tags or {})


def rows_of(items):
    """Rows of table BENCHMARK_ITEMS; images are numbered by their names."""
    ids = {ref.name: 1 + i for i, ref in enumerate(dict.fromkeys(ref for item in items for ref in item.images))}
    return [item_row(item, [FoundImage({"image_id": ids[ref.name]}, BOX, "") for ref in item.images]) for item in items]


def features_of(rows, vector_of, reasons=(), tokens_of=None, own_score=False):
    """Features of all texts and crops of rows.

    Args:
        rows: rows of table BENCHMARK_ITEMS.
        vector_of: gives the vector of a text or an image_id.
        reasons: image_ids without a feature.
        tokens_of: gives what stands for the tokens of a text.
        own_score: whether the model has a score of its own.
    """
    texts = sorted({text for row in rows for text in row["captions"]})
    images = sorted({image["image_id"] for row in rows for image in row["images"]} - set(reasons))
    codes = {code: i for i, code in enumerate(dict.fromkeys(map(tokens_of or str, texts)))}
    return Features(
        rows={
            TEXT: {text_id(text): i for i, text in enumerate(texts)},
            CROP: {crop_id(image, BOX): len(texts) + i for i, image in enumerate(images)},
        },
        matrix=np.array([vector_of(one) for one in [*texts, *images]], np.float32),
        tokens=np.array([codes[(tokens_of or str)(text)] for text in texts] + [ABSENT] * len(images), np.int64),
        is_cut=np.zeros(len(texts) + len(images), bool),
        reasons={crop_id(image, BOX): "image_unreadable" for image in reasons},
        own_score=own_score,
    )
