"""Features of clips: a clip is one picture of an item, whose feature is the mean of those of its frames.

The store and the index know crops alone, and a frame is a picture like any other, whose image_id follows from the
clip's root and name. Before items are scored, each clip gets a row of its own in the matrix: the mean of the unit
features of its frames, of length one. So models, stores, indexes and scores need nothing new, and an item of a clip has
one picture.
Source: NegBench's evaluation of MSR-VTT averages the features of four frames (github.com/m1k2zoo/negbench).
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from crepebench.feature_index import CROP, crop_id
from crepebench.feature_reader import ABSENT, Features
from crepebench.own_captions import file_image_id
from crepebench.video_frames import frame_names, is_clip

BOX_KEYS = ("x", "y", "width", "height")


def picture_id(image: Mapping) -> str:
    """Returns the id of the crop that a picture of an item is; of a clip, that of its mean.

    Args:
        image: picture of a row of table BENCHMARK_ITEMS.
    """
    return crop_id(image["image_id"], tuple(image[key] for key in BOX_KEYS))


def frame_images(image: Mapping) -> list[dict]:
    """Returns what is to be encoded of a picture: itself, or the frames of a clip; the box of the clip is theirs.

    Args:
        image: picture of a row of table BENCHMARK_ITEMS.
    """
    if not is_clip(image["name"]):
        return [dict(image)]
    names = frame_names(image["name"])
    return [{**image, "name": name, "image_id": file_image_id(f"{image['root']}/{name}")} for name in names]


def unit_mean(vectors: np.ndarray) -> np.ndarray:
    """Returns the mean of unit vectors, (n, dim) to (dim,) float32, of length one.

    Raises:
        ValueError: they cancel out, so that the mean has no direction.
    """
    mean = vectors.astype(np.float64).mean(axis=0)
    length = np.linalg.norm(mean)
    if length == 0:
        raise ValueError(f"the mean of {len(vectors)} features has length 0")
    return (mean / length).astype(np.float32)


def add_clips(rows: Iterable[Mapping], features: Features) -> Features:
    """Returns features that hold a row for each clip; one that lacks a frame's feature has that frame's reason.

    Args:
        rows: rows of table BENCHMARK_ITEMS that can be used.
        features: features of their texts and crops; they are returned as they are where there is no clip.

    Raises:
        ValueError: the features of a clip's frames cancel out; names the clip.
    """
    clips = {picture_id(image): image for row in rows for image in row["images"] if is_clip(image["name"])}
    if not clips:
        return features
    crops, reasons, added = dict(features.rows[CROP]), dict(features.reasons), []
    for clip, image in sorted(clips.items()):
        frames = [picture_id(frame) for frame in frame_images(image)]
        places = features.rows_of(CROP, frames)
        if (places == ABSENT).any():
            reasons[clip] = features.reasons[frames[int(np.argmax(places == ABSENT))]]
            continue
        crops[clip] = len(features.matrix) + len(added)
        try:
            added.append(unit_mean(features.matrix[places]))
        except ValueError as error:
            raise ValueError(f"clip {image['root']}/{image['name']}: {error}") from error
    more = len(added)
    return replace(
        features,
        rows={**features.rows, CROP: crops},
        matrix=np.concatenate([features.matrix, np.array(added, np.float32).reshape(more, -1)])
        if more
        else features.matrix,
        tokens=np.concatenate([features.tokens, np.full(more, ABSENT)]),
        is_cut=np.concatenate([features.is_cut, np.zeros(more, bool)]),
        reasons=reasons,
    )
