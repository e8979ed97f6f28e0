"""The items that people answer: a caption, a retrieval set, or a caption of a corpus with what the parser found in it.

An item's id is a digest of its kind and of what is shown, the sample's id one of all items. So an answer can never be
taken for one about other texts.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence

from crepebench.families import PRODUCTIVITY
from crepebench.parser_labels import Facts
from crepebench.parser_review import COLUMNS_OF_KIND, PART_SEPARATOR
from crepebench.review_sample import hashed_place

CAPTION, SET, PARSER = "caption", "set", "parser"
"""Kinds of items."""
TRUTH = "truth"
"""Id and kind of the true caption among the candidates."""
ID_LENGTH = 16
"""Hexadecimal digits of an id."""


def digest(*parts) -> str:
    """Returns an id of parts that JSON can hold."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:ID_LENGTH]


def sample_id(items: Sequence[Mapping]) -> str:
    """Returns the id of a sample: a digest of everything that is shown."""
    return digest(*items)


def box_of(row: Mapping) -> tuple[int, int, int, int]:
    """Returns the crop of a row: x, y, width, height in pixels of the image."""
    return row["x"], row["y"], row["width"], row["height"]


def set_item(row: Mapping, family: str, seed: int) -> dict:
    """Returns the item of a row of table RETRIEVAL_SETS, its candidates in an order at random.

    A foil that stands twice in a set, as in some released ones, has one id and is shown once.
    """
    foils = {
        foil["foil_id"]: {"id": foil["foil_id"], "text": foil["text"], "kind": foil["kind"]} for foil in row["foils"]
    }
    candidates = [{"id": TRUTH, "text": row["caption"], "kind": TRUTH}, *foils.values()]
    candidates.sort(key=lambda shown: hashed_place(seed, row["set_id"], row["foil_type"], shown["id"]))
    shown = {
        **{"set_id": row["set_id"], "family": family, "foil_type": row["foil_type"]},
        **{"complexity": row["complexity"], "image_id": row["image_id"], "box": list(box_of(row))},
        **{"caption": row["caption"], "candidates": candidates},
    }
    return {"kind": SET, "item_id": digest(SET, shown), **shown}


def caption_item(caption: Mapping, subgraph: Mapping, set_id: str | None) -> dict:
    """Returns the item of a caption of a subgraph.

    Args:
        caption: row of table CAPTIONS.
        subgraph: row of table SUBGRAPHS.
        set_id: set whose true caption it is; None if there is none.
    """
    shown = {
        **{"family": PRODUCTIVITY, "subgraph_id": subgraph["subgraph_id"], "set_id": set_id},
        **{"image_id": subgraph["image_id"], "box": list(box_of(subgraph)), "complexity": subgraph["complexity"]},
        **{"caption": caption["caption"], "caption_source": caption["caption_source"]},
    }
    return {"kind": CAPTION, "item_id": digest(CAPTION, shown), **shown}


def parser_item(corpus: str, caption: str, facts: Facts) -> dict:
    """Returns the item of a caption of a corpus, with the facts that the parser found in it."""
    shown = {
        "corpus": corpus,
        "caption": caption,
        "found": [PART_SEPARATOR.join(fact) for kind in COLUMNS_OF_KIND for fact in facts[kind]],
    }
    return {"kind": PARSER, "item_id": digest(PARSER, shown), **shown}


def shown_item(item: Mapping) -> dict:
    """Returns what the page gets of an item: nothing that could bias who answers, and no number that JavaScript rounds.

    The kinds of foils stay out, and so does whatever names a set; the page finds its pictures by image and crop.
    """
    if item["kind"] == PARSER:
        return {name: item[name] for name in ("kind", "item_id", "corpus", "caption", "found")}
    shown = {
        **{"kind": item["kind"], "item_id": item["item_id"], "caption": item["caption"], "box": item["box"]},
        **{"image": image_key(item), "crop": crop_key(item)},
    }
    if item["kind"] == SET:
        shown["candidates"] = [{"id": found["id"], "text": found["text"]} for found in item["candidates"]]
    return shown


def image_key(item: Mapping) -> str:
    """Returns the name of an item's image among the pictures of the page."""
    return str(item["image_id"])


def crop_key(item: Mapping) -> str:
    """Returns the name of an item's crop among the pictures of the page."""
    return f"{item['image_id']} {' '.join(map(str, item['box']))}"
