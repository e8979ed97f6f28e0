"""Small files of other benchmarks in their published form; all texts are our own."""

import csv
import json
from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from crepebench.benchmark_items import Item, check_items
from crepebench.benchmark_readers import READERS

PAIR = {"filename": "000000000001.jpg", "caption": "a red cup", "negative_caption": "a blue cup"}
PP = {"id": 0, **PAIR, "caption2": "a cup that is red"}
BOX = {"bbox_x": 10, "bbox_y": 20, "bbox_w": 30, "bbox_h": 40}
RELATION = {
    **{"image_id": 7, "image_path": "data/images/7.jpg", **BOX, "relation_name": "above"},
    **{"false_caption": "the cup is above the shelf", "true_caption": "the shelf is above the cup"},
}
ATTRIBUTION = {
    **{"image_path": "7.jpg", **BOX, "attributes": ["red", "tall"], "obj1_name": "cup"},
    **{"true_caption": "the red cup and the tall man", "false_caption": "the tall cup and the red man"},
}
WINOGROUND = {
    **{"id": 0, "image_0": "ex_0_img_0", "image_1": "ex_0_img_1", "tag": "Noun", "secondary_tag": ""},
    **{"caption_0": "a cup on a hat", "caption_1": "a hat on a cup", "num_main_preds": 1, "collapsed_tag": "Object"},
}
COLA = ["https://example.org/a/1.jpg", "red cup, blue hat", "https://example.org/a/2.jpg", "blue cup, red hat"]
VALSE = {
    **{"image_file": "v7w_5.jpg", "caption": "There are no cups.", "foil": "There are cups."},
    **{"provenance_of_foils": "zero_to_something", "mturk": {"foil": 0, "caption": 3, "other": 0}},
}
NEGBENCH = {
    **{"image_path": "data/coco/images/val2017/000000000001.jpg", "correct_answer": "0"},
    **{"caption_0": "a cup, no hat", "caption_1": "a hat, no cup", "caption_2": "a hat", "caption_3": "no cup"},
    "correct_answer_template": "hybrid",
}
BOXES = {
    **{"image": "COCO_train2014_000000000001.jpg", "phrase": "the cup without a handle"},
    **{"ref_bbox": [5, 6.5, 70, 80], "bbox_list": [[5, 6.5, 70, 80], [0, 0, 30, 40]]},
}
ORDER = {
    **{"id": "1.jpg:0", "image": "COCO_val2014_000000000001.jpg", "caption": "one two three four"},
    **{"nouns_adjectives": "two one three four", "other_words": "one two four three"},
    **{"runs": "four one two three", "within_runs": "three two one four"},
}
FILES = {
    "sugarcrepe": ("swap_obj.json", {"0": PAIR, "2": PAIR}),
    "sugarcrepe_pp": ("swap_att.json", [PP, {**PP, "id": 1}]),
    "aro": ("visual_genome_relation.json", [RELATION, {**RELATION, "relation_name": "near"}]),
    "aro_order": ("coco_order.jsonl", [ORDER]),
    "winoground": ("examples.jsonl", [WINOGROUND]),
    "cola": ("cola.json", [COLA]),
    "valse": ("existence.json", {"a": VALSE, "b": {**VALSE, "provenance_of_foils": "something_to_zero"}}),
    "negbench_mcq": ("COCO_val_mcq_llama3.1_rephrased.csv", [NEGBENCH]),
    "negrefcocog": ("NegRefCOCOg.json", [BOXES]),
}
"""Name and content of a good file, by reader."""


def write_file(folder: Path, name: str, content) -> str:
    """Writes a file as its name says, and returns its path."""
    path = folder / name
    if path.suffix == ".csv":
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(content[0]))
            writer.writeheader()
            writer.writerows(content)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(record) + "\n" for record in content), encoding="utf-8")
    else:
        path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


def read_items(reader: str, paths: Sequence[str], counts: Counter | None = None, **options) -> list[Item]:
    """Returns the items of some files, each checked."""
    read = import_module(READERS[reader]).read
    return list(check_items(read(list(map(str, paths)), options, Counter() if counts is None else counts), reader))
