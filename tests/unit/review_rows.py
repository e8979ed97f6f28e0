"""A small sample of the review page, and the files of its annotators, as the tests of human review share them."""

import copy
import json
from pathlib import Path

from crepebench.review_answers import FORMAT, checksum_of
from crepebench.set_ids import foil_id, set_id

BOX = [1, 2, 30, 40]
CAPTIONS = ["a dog on a bed", "a cat near a tree"]


def caption_item(number, caption, complexity, has_set=True):
    identity = set_id("productivity", number, tuple(BOX), caption) if has_set else None
    return {
        **{"kind": "caption", "item_id": f"{number:016x}", "family": "productivity", "subgraph_id": number},
        **{"set_id": identity, "image_id": number, "box": BOX, "complexity": complexity},
        **{"caption": caption, "caption_source": "template"},
    }


def set_item(number, family, foil_type, caption, foils, complexity=None):
    """An item of a set; `foils` are pairs of kind and text."""
    identity = set_id(family, number, tuple(BOX), caption)
    candidates = [{"id": foil_id(identity, text), "text": text, "kind": kind} for kind, text in foils]
    candidates.insert(1, {"id": "truth", "text": caption, "kind": "truth"})
    return {
        **{"kind": "set", "item_id": f"{number:016x}", "set_id": identity, "family": family, "foil_type": foil_type},
        **{"complexity": complexity, "image_id": number, "box": BOX, "caption": caption, "candidates": candidates},
    }


def parser_item(number, corpus, n_found):
    found = [f"dog > has > thing {i}" for i in range(n_found)]
    item = {"kind": "parser", "item_id": f"{number:016x}", "corpus": corpus, "caption": "a dog and things"}
    return {**item, "found": found}


JAR = [("attribute", "a blue jar"), ("object", "a red cup")]
SWAP = [("swapped_object", "a bed on a dog"), ("swapped_object", "a bed near a dog")]
SAMPLE = {
    "sample_id": "0123456789abcdef",
    "run": {"protocol": "refined", "families": ["systematicity", "productivity"], "seed": 0},
    "items": [
        caption_item(1, CAPTIONS[0], 4),
        caption_item(2, CAPTIONS[1], 12, has_set=False),
        set_item(3, "systematicity", "atom", "a red jar", JAR, complexity=2),
        set_item(4, "productivity", "swap", CAPTIONS[0], SWAP, complexity=4),
        parser_item(5, "cc12m", 4),
        parser_item(6, "laion400m", 2),
    ],
}
CAPTION, LOOSE_CAPTION, JARS, DOGS, CC12M, LAION = (item["item_id"] for item in SAMPLE["items"])
ITEMS = {item["item_id"]: item for item in SAMPLE["items"]}


def foil_ids(item_id):
    return [candidate["id"] for candidate in ITEMS[item_id]["candidates"] if candidate["id"] != "truth"]


def good_answer(item):
    """The answer of one who finds nothing wrong."""
    if item["kind"] == "caption":
        return {"faithful": "yes"}
    if item["kind"] == "parser":
        return {"n_wrong": 0, "n_missed": 0}
    ids = [candidate["id"] for candidate in item["candidates"] if candidate["id"] != "truth"]
    foils = {identity: {"false": "yes", "natural": "yes"} for identity in ids}
    return {"pick": "truth", "faithful": "yes", "foils": foils}


def good_answers(sample=SAMPLE):
    return {item["item_id"]: good_answer(item) for item in sample["items"]}


def signed(annotator="Ada", answers=None, sample=SAMPLE, **changes):
    """A whole file of an annotator, with a checksum that fits unless it is one of the changes."""
    file = {
        **{"format": FORMAT, "sample_id": sample["sample_id"], "annotator": annotator},
        **{"saved_at": "2025-01-31T12:00:00.000Z", "n_items": len(sample["items"])},
        "answers": copy.deepcopy(good_answers(sample) if answers is None else answers),
    }
    file |= changes
    return {"checksum": checksum_of(file), **file}


def write_json(path, value):
    Path(path).write_text(json.dumps(value), encoding="utf-8")
    return str(path)


def edited(*changes):
    """Good answers with some replaced: each change is a path of keys and the value to put there."""
    answers = good_answers()
    for *path, last, value in changes:
        place = answers
        for key in path:
            place = place[key]
        place[last] = value
    return answers
