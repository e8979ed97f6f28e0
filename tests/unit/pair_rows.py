"""Pairs of crop and caption with features that the tests of raw retrieval share."""

import numpy as np

from crepebench.feature_index import crop_id, text_id
from crepebench.feature_reader import Features
from crepebench.raw_retrieval import Pair
from crepebench.set_ids import set_id

BOX = (0, 0, 100, 100)


def pair(image_id, caption, box=BOX, n_atoms=7):
    return Pair(set_id("systematicity", image_id, box, caption), image_id, box, caption, n_atoms)


def unit(rows):
    rows = np.asarray(rows, dtype=np.float64)
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def features_of(crops, texts, tokens=None):
    """Returns features by crop (image id, box) and by text; texts have tokens of their own unless some are given."""
    vectors = [*texts.values(), *crops.values()]
    tokens = tokens or {}
    codes = [tokens.get(text, 100 + i) for i, text in enumerate(texts)]
    return Features(
        rows={
            "text": {text_id(text): i for i, text in enumerate(texts)},
            "crop": {crop_id(*crop): len(texts) + i for i, crop in enumerate(crops)},
        },
        matrix=unit(vectors),
        tokens=np.array([*codes, *[-1] * len(crops)]),
        is_cut=np.zeros(len(vectors), bool),
        reasons={},
    )


def random_pairs(n, n_images, n_texts, seed):
    """Returns distinct pairs on crops that overlap in part, with captions that several images share."""
    rng = np.random.default_rng(seed)
    boxes = [(0, 0, 100, 100), (10, 0, 100, 100), (50, 50, 40, 40), (300, 0, 100, 80)]
    found = {
        pair(int(rng.integers(n_images)), f"text {rng.integers(n_texts)}", boxes[rng.integers(len(boxes))])
        for _ in range(n)
    }
    return sorted(found)


def random_features(pairs, seed, dim=6, levels=None):
    """Returns random features; with few levels many scores tie."""
    rng = np.random.default_rng(seed)

    def vectors(keys):
        drawn = rng.normal(size=(len(keys), dim)) if levels is None else rng.integers(1, levels, size=(len(keys), dim))
        return dict(zip(keys, drawn, strict=True))

    crops = sorted({(p.image_id, p.box) for p in pairs})
    return features_of(vectors(crops), vectors(sorted({p.caption for p in pairs})))
