"""What a model's features of a family are of, and where in the feature store they lie: the index.

The index is what a rule writes and scoring reads; the features themselves stay in the store. It stands beside a small
file `<family>.identity.json`, which names the store and the model's folder in it. `crepebench.feature_reader` reads it.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow.compute as pc

from crepebench.accounting import KEPT, READ
from crepebench.crop_tensors import EXACT
from crepebench.files import atomic_path
from crepebench.images import IMAGE_MISSING
from crepebench.schema import FEATURE_INDEX, RETRIEVAL_SETS, read_table, write_table
from crepebench.token_rows import TokenRow

TEXT = "text"
CROP = "crop"
TEXT_IN_FULL = "text_in_full"
"""What is counted in accounting: texts, and of these the ones that the model reads to their end."""
OVER_LIMIT = "over_token_limit"
SET_COLUMNS = ["image_id", "x", "y", "width", "height", "caption", "foils"]
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


def crop_key(image: dict, box: Box, pipeline: str) -> str:
    """Returns a crop's key in the store: checksum of the image file, box and pipeline; no pixel is read for it."""
    parts = ["crop", image["image_id"], image["crc32"], image["width"], image["height"], *box]
    if pipeline != EXACT:
        parts.append(pipeline)
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def collect_contents(sets_paths: list[str]) -> tuple[set[str], set[Crop]]:
    """Collects the distinct texts and crops (image_id, box) of retrieval sets; one of a benchmark may have no image."""
    texts: set[str] = set()
    crops: set[Crop] = set()
    for path in sets_paths:
        for batch in read_table(path, RETRIEVAL_SETS, SET_COLUMNS).to_batches():
            texts.update(batch["caption"].to_pylist())
            texts.update(pc.struct_field(batch["foils"].flatten(), "text").to_pylist())
            image_ids, *boxes = (batch[name].to_pylist() for name in SET_COLUMNS[:5])
            found = zip(image_ids, zip(*boxes, strict=True), strict=True)
            crops.update(crop for crop in found if crop[0] is not None)
    return texts, crops


@dataclass
class Contents:
    """What an index is to hold.

    Attributes:
        key_of_text: key in the store of each text.
        key_of_crop: key in the store of each crop whose image has a file.
        problems: why crops have no feature.
        token_rows: what is known of the tokens of each text, once it was tokenised.
    """

    key_of_text: dict[str, str]
    key_of_crop: dict[Crop, str]
    problems: dict[Crop, str]
    token_rows: dict[str, TokenRow] = field(default_factory=dict)

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
        texts = self.key_of_text.items()
        rows = [_index_row(TEXT, key, places[key], "", self.token_rows.get(text, NO_TOKENS)) for text, key in texts]
        for crop in self.key_of_crop.keys() | self.problems.keys():
            place = places.get(self.key_of_crop.get(crop, ""))
            rows.append(_index_row(CROP, crop_id(*crop), place, "" if place else self.problems[crop]))
        return sorted(rows, key=lambda row: (row["kind"], row["id"]))


NO_TOKENS = TokenRow(None, None, None)
"""Of a crop."""


def _index_row(kind: str, id_: str, place: Place | None, reason: str, tokens: TokenRow = NO_TOKENS) -> dict:
    shard, row = place if place else (None, None)
    return {"kind": kind, "id": id_, "shard": shard, "row": row, "reason": reason, **tokens._asdict()}


def plan_contents(texts: set[str], crops: set[Crop], images: dict[int, dict], pipeline: str = EXACT) -> Contents:
    """Gives texts and crops their keys, in sorted order; crops of images without a file get a reason instead."""
    with_file = [crop for crop in sorted(crops) if images[crop[0]]["archive"] is not None]
    return Contents(
        key_of_text={text: text_id(text) for text in sorted(texts)},
        key_of_crop={crop: crop_key(images[crop[0]], crop[1], pipeline) for crop in with_file},
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
    """Returns the counts of an index, for each kind, and of the texts that are over the model's limit of tokens."""
    counts = {unit: Counter({READ: 0, KEPT: 0}) for unit in (TEXT, TEXT_IN_FULL, CROP)}
    for row in rows:
        counts[row["kind"]].update((READ, row["reason"] or KEPT))
        if row["kind"] == TEXT:
            counts[TEXT_IN_FULL].update((READ, OVER_LIMIT if row["is_cut"] else KEPT))
    return counts


def write_index(index_path: str, rows: list[dict], origin: dict[str, str]) -> None:
    """Writes an index, after the file that says which model and store it points into."""
    with atomic_path(identity_path(index_path)) as partial, open(partial, "w", encoding="utf-8") as file:
        json.dump(origin, file, indent=2)
    write_table(index_path, FEATURE_INDEX, rows)


def identity_path(index_path: str) -> str:
    """Returns the file that says which store and model an index points into."""
    return index_path.removesuffix(".parquet") + ".identity.json"
