"""What a model's features of a family are of, and where in the feature store they lie: the index.

The index is what a rule writes and scoring reads; the features themselves stay in the store. It stands beside a small
file `<family>.identity.json`, which names the store and the model's folder in it.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from crepebench.accounting import KEPT, READ
from crepebench.feature_store import FeatureStore
from crepebench.files import atomic_path
from crepebench.images import IMAGE_MISSING
from crepebench.schema import FEATURE_INDEX, RETRIEVAL_SETS, read_table, write_table

TEXT = "text"
CROP = "crop"
IDS_SHOWN = 20
Box = tuple[int, int, int, int]
Crop = tuple[int, Box]
"""Image id and box."""
Place = tuple[str, int]
"""Shard and row in the store."""


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


def collect_contents(sets_paths: list[str]) -> tuple[set[str], set[Crop]]:
    """Collects the distinct texts and crops (image_id, box) of retrieval sets."""
    texts: set[str] = set()
    crops: set[Crop] = set()
    for path in sets_paths:
        for row in read_table(path, RETRIEVAL_SETS).to_pylist():
            texts.add(row["caption"])
            texts.update(foil["text"] for foil in row["foils"])
            crops.add((row["image_id"], (row["x"], row["y"], row["width"], row["height"])))
    return texts, crops


@dataclass
class Contents:
    """What an index is to hold.

    Attributes:
        key_of_text: key in the store of each text.
        key_of_crop: key in the store of each crop whose image has a file.
        problems: why crops have no feature.
    """

    key_of_text: dict[str, str]
    key_of_crop: dict[Crop, str]
    problems: dict[Crop, str]

    @property
    def keys(self) -> set[str]:
        """All keys."""
        return {*self.key_of_text.values(), *self.key_of_crop.values()}

    @property
    def n_crops(self) -> int:
        """Number of crops, with and without a file."""
        return len(self.key_of_crop.keys() | self.problems.keys())

    def missing(self, places: Mapping[str, Place]) -> tuple[list[str], list[Crop]]:
        """Returns the texts and crops that have no place in the store, less the crops that have a problem."""
        texts = [text for text, key in self.key_of_text.items() if key not in places]
        crops = [crop for crop, key in self.key_of_crop.items() if key not in places and crop not in self.problems]
        return texts, crops

    def index_rows(self, places: Mapping[str, Place]) -> list[dict]:
        """Returns the rows of table FEATURE_INDEX, sorted."""
        rows = [_index_row(TEXT, key, places[key], "") for key in self.key_of_text.values()]
        for crop in self.key_of_crop.keys() | self.problems.keys():
            place = places.get(self.key_of_crop.get(crop, ""))
            rows.append(_index_row(CROP, crop_id(*crop), place, "" if place else self.problems[crop]))
        return sorted(rows, key=lambda row: (row["kind"], row["id"]))


def _index_row(kind: str, id_: str, place: Place | None, reason: str) -> dict:
    shard, row = place if place else (None, None)
    return {"kind": kind, "id": id_, "shard": shard, "row": row, "reason": reason}


def plan_contents(texts: set[str], crops: set[Crop], images: dict[int, dict]) -> Contents:
    """Gives texts and crops their keys, in sorted order; crops of images without a file get a reason instead."""
    with_file = [crop for crop in sorted(crops) if images[crop[0]]["archive"] is not None]
    return Contents(
        key_of_text={text: text_id(text) for text in sorted(texts)},
        key_of_crop={crop: crop_key(images[crop[0]], crop[1]) for crop in with_file},
        problems=dict.fromkeys(crops.difference(with_file), IMAGE_MISSING),
    )


def describe_problems(problems: Mapping[Crop, str], n_crops: int, image_places: list[str]) -> list[str]:
    """Says for each reason how many crops have no feature, of which images, and where missing images were searched.

    Args:
        problems: reason for each crop without a feature.
        n_crops: number of all crops.
        image_places: zips and folders that were searched for the images.
    """
    lines = []
    for reason, count in sorted(Counter(problems.values()).items()):
        ids = sorted({image_id for (image_id, _), found in problems.items() if found == reason})
        first = ", ".join(map(str, ids[:IDS_SHOWN])) + (", ..." if len(ids) > IDS_SHOWN else "")
        where = f"; searched in {', '.join(image_places)}" if reason == IMAGE_MISSING else ""
        lines.append(f"{reason}: {count} of {n_crops} crops; {len(ids)} image(s): {first}{where}")
    return lines


def count_index(rows: list[dict]) -> dict[str, Counter]:
    """Returns the counts of an index, for each kind."""
    counts = {kind: Counter({READ: 0, KEPT: 0}) for kind in (TEXT, CROP)}
    for row in rows:
        counts[row["kind"]].update((READ, row["reason"] or KEPT))
    return counts


def write_index(index_path: str, rows: list[dict], origin: dict[str, str]) -> None:
    """Writes an index, after the file that says which model and store it points into."""
    with atomic_path(identity_path(index_path)) as partial, open(partial, "w", encoding="utf-8") as file:
        json.dump(origin, file, indent=2)
    write_table(index_path, FEATURE_INDEX, rows)


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
