"""The recipe of PeakPatch's release, as an option: COCO's captions, each with a denial of a category that is absent.

Source: the released code, StevenCYLu/PeakPatch (MIT; arXiv 2607.23271): the first three captions of each image with
annotated instances; three families of templates with 3, 2 and 2 members; questions of the negated caption, two first
captions of images that share a category, and the right caption; rows, not images, are split 90 to 10. The templates
below are worded here.

Caveat: the negated caption is true of its image, since the category is absent, and is always labelled wrong. And the
same image stands on both sides of the split. So a model learns to prefer captions without negation. Our own templates
(`crepebench.negation_data`) are the default for this reason.
"""

import csv
import json
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from crepebench.accounting import KEPT, READ, write_accounting
from crepebench.captioned_images import FoundFiles
from crepebench.file_faults import named_faults
from crepebench.files import atomic_path
from crepebench.images import IMAGE_MISSING
from crepebench.inflection import article_for
from crepebench.negation_data import write_rows
from crepebench.negation_rows import (
    AFFIRMATIVE,
    NEGATED,
    OTHER_IMAGE,
    POSITIVE,
    RELEASED,
    REWORDED,
    RIGHT,
    TRAIN,
    VALIDATION,
    digest,
)
from crepebench.own_captions import file_image_id
from crepebench.texts import normalise_text

logger = logging.getLogger(__name__)

FAMILIES = {
    "no_X": ("{caption}, but there is no {noun}", "{caption}, with no {noun}", "there is no {noun}, but {caption}"),
    "without_X": ("{caption}, without {a_noun}", "without {a_noun}, {caption}"),
    "not_X": ("{caption}, but not {a_noun}", "not {a_noun}, but {caption}"),
}
"""Templates by family."""
N_CAPTIONS, N_OPTIONS, N_SHARED = 3, 4, 2
"""Captions of an image; options of a question; present categories of which other images share one."""
TRAIN_SHARE = 0.9
NEGCAP_COLUMNS = ("image_path", "original_caption", "negated_caption", "negation_type")
MCQ_COLUMNS = ("correct_answer", *(f"caption_{i}" for i in range(N_OPTIONS)), "correct_answer_template", "image_path")
CAVEAT = "labelled_wrong_but_true"
"""Unit of the accounting: negated captions that are true of their image, and count as wrong."""


def read_coco(
    instances_path: str, captions_path: str
) -> tuple[dict[int, str], dict[int, list[str]], dict[int, list[str]], list[str]]:
    """Reads COCO's annotations.

    Returns:
        File names, names of present categories (in the order of the annotations) and captions, by image id; and the
        names of all categories.

    Raises:
        ValueError: a file is no JSON of COCO; names it.
    """
    try:
        with named_faults(instances_path):
            instances = json.loads(Path(instances_path).read_text(encoding="utf-8"))
        with named_faults(captions_path):
            captions = json.loads(Path(captions_path).read_text(encoding="utf-8"))
        names = {row["id"]: str(row["name"]) for row in instances["categories"]}
        present: dict[int, list[str]] = {}
        for row in instances["annotations"]:
            own = present.setdefault(row["image_id"], [])
            if names[row["category_id"]] not in own:
                own.append(names[row["category_id"]])
        files = {row["id"]: str(row["file_name"]) for row in instances["images"]}
        texts: dict[int, list[str]] = {}
        for row in captions["annotations"]:
            texts.setdefault(row["image_id"], []).append(normalise_text(row["caption"]))
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{instances_path}, {captions_path}: no annotations of COCO ({error!r:.200})") from error
    return files, present, texts, sorted(names.values())


def negate(caption: str, noun: str, family: str, number: int) -> str:
    """Returns a caption with a denial of an absent category before or behind it."""
    bare = caption.rstrip(" .")
    return FAMILIES[family][number].format(caption=bare, noun=noun, a_noun=f"{article_for(noun)} {noun}")


def negcap_rows(
    present: Mapping[int, Sequence[str]], captions: Mapping[int, Sequence[str]], categories: Sequence[str], seed: int
) -> Iterator[dict]:
    """Yields image_id, caption, negated, family and concept of each of the first captions of images with instances."""
    rng = np.random.default_rng(seed)
    for image_id in sorted(present):
        absent = [name for name in categories if name not in present[image_id]]
        for caption in captions.get(image_id, ())[:N_CAPTIONS]:
            family = list(FAMILIES)[rng.integers(len(FAMILIES))]
            number = int(rng.integers(len(FAMILIES[family])))
            if absent and caption:
                noun = absent[rng.integers(len(absent))]
                row = {"image_id": image_id, "caption": caption, "concept": noun, "family": family}
                yield {**row, "negated": negate(caption, noun, family, number)}


def mcq_rows(
    rows: Iterable[Mapping], present: Mapping[int, Sequence[str]], captions: Mapping[int, Sequence[str]], seed: int
) -> Iterator[dict]:
    """Yields a question of each row: captions with the right one first, and roles.

    Where fewer than two other images share a category, reworded copies of the negated caption fill the question.
    """
    rng = np.random.default_rng(seed + 1)
    sharing: dict[str, list[int]] = {}
    for image_id in sorted(present):
        for name in present[image_id]:
            sharing.setdefault(name, []).append(image_id)
    for row in rows:
        found: dict[str, None] = {}
        pools = [sharing[name] for name in present[row["image_id"]][:N_SHARED]]
        pool = [image_id for one in pools for image_id in one]
        for place in rng.integers(len(pool), size=4 * N_OPTIONS):
            other = pool[place]
            first = next(iter(captions.get(other, ())), "")
            if other != row["image_id"] and first not in ("", row["caption"], row["negated"]) and len(found) < 2:
                found[first] = None
        others = list(found)
        reworded = [f"{words} {row['negated']}" for words in ("a picture of", "a photo of")][: 2 - len(others)]
        yield {
            **{"image_id": row["image_id"], "family": row["family"]},
            "captions": [row["caption"], row["negated"], *others, *reworded],
            "roles": [RIGHT, NEGATED, *[OTHER_IMAGE] * len(others), *[REWORDED] * len(reworded)],
        }


def split_rows(n_rows: int, seed: int) -> list[str]:
    """Returns the split of each row: 90% train, whatever the images."""
    order = np.random.default_rng(seed + 2).permutation(n_rows)
    splits = np.full(n_rows, VALIDATION, dtype=object)
    splits[order[: int(TRAIN_SHARE * n_rows)]] = TRAIN
    return splits.tolist()


def build_released_data(
    instances_path: str,
    captions_path: str,
    images_place: str,
    pairs_path: str,
    questions_path: str,
    images_path: str,
    sets_path: str,
    accounting_path: str,
    negcap_path: str,
    mcq_path: str,
    cfg: str,
) -> None:
    """Writes the data of the released recipe, as tables and in the released form.

    Args:
        instances_path: instances_train2014.json.
        captions_path: captions_train2014.json.
        images_place: zip or folder with the images.
        pairs_path: table NEGATION_PAIRS to write.
        questions_path: table NEGATION_QUESTIONS to write.
        images_path: table IMAGES to write.
        sets_path: table RETRIEVAL_SETS to write.
        accounting_path: counts to write.
        negcap_path: CSV of NEGCAP_COLUMNS to write.
        mcq_path: CSV of MCQ_COLUMNS to write.
        cfg: JSON of `seed`.
    """
    seed = json.loads(cfg)["seed"]
    files, present, captions, categories = read_coco(instances_path, captions_path)
    found, images, counts = FoundFiles(images_place), {}, Counter({READ: 0, KEPT: 0})
    for image_id in sorted(present):
        counts[READ] += 1
        file = found.find(files[image_id]) if image_id in files else IMAGE_MISSING
        counts[file if isinstance(file, str) else KEPT] += 1
        if not isinstance(file, str):
            own = {
                "image_id": file_image_id(f"coco_train2014/{files[image_id]}"),
                "coco_id": image_id,
                "flickr_id": None,
            }
            images[image_id] = {**own, **file}
    present = {image_id: names for image_id, names in present.items() if image_id in images}
    rows = list(negcap_rows(present, captions, categories, seed))
    questions = list(mcq_rows(rows, present, captions, seed))
    if not rows:
        raise ValueError(f"{captions_path}: no image has a caption, instances and a file")
    write_negcap(negcap_path, [{**row, "image_path": files[row["image_id"]]} for row in rows])
    write_mcq(mcq_path, [{**row, "image_path": files[row["image_id"]]} for row in questions], seed)
    pairs, asked = [], []
    for number, (row, split) in enumerate(zip(rows, split_rows(len(rows), seed), strict=True)):
        own = {"split": split, "image_id": images[row["image_id"]]["image_id"], "form": "explicit", "kind": "object"}
        texts = {"caption": row["caption"], "negated": row["negated"], "concept": row["concept"]}
        about = {"polarity": AFFIRMATIVE, "template": row["family"], "source": RELEASED}
        pairs.append({"pair_id": digest(RELEASED, number, row["negated"]), **own, **texts, **about})
        options = {"captions": questions[number]["captions"], "roles": questions[number]["roles"]}
        asked.append({"question_id": digest(RELEASED, "question", number), **own, **options, "template": POSITIVE})
    write_rows(
        pairs,
        asked,
        {row["image_id"]: row for row in images.values()},
        (pairs_path, questions_path, images_path, sets_path),
    )
    both = {row["image_id"] for row in pairs if row["split"] == TRAIN} & {
        row["image_id"] for row in pairs if row["split"] == VALIDATION
    }
    n = {READ: len(pairs), KEPT: len(pairs)}
    write_accounting(accounting_path, "negation_data", {"image": counts, "pair": n, "question": n, CAVEAT: n})
    logger.warning(
        "released recipe: all %d negated captions are true of their image and labelled wrong; %d images stand on both "
        "sides of the split",
        len(pairs),
        len(both),
    )


def write_negcap(path: str, rows: Iterable[Mapping]) -> None:
    """Writes pairs in the released form: rows of image_path, caption, negated, family."""
    cells = ((row["image_path"], row["caption"], row["negated"], row["family"]) for row in rows)
    _write_csv(path, NEGCAP_COLUMNS, cells)


def write_mcq(path: str, rows: Iterable[Mapping], seed: int) -> None:
    """Writes questions in the released form, options shuffled: rows of image_path and captions, the right one first."""
    rng = np.random.default_rng(seed + 3)

    def cells() -> Iterator[tuple]:
        for row in rows:
            order = rng.permutation(N_OPTIONS)
            yield (int(np.argmin(order)), *(row["captions"][i] for i in order), POSITIVE, row["image_path"])

    _write_csv(path, MCQ_COLUMNS, cells())


def _write_csv(path: str, columns: Sequence[str], rows: Iterable[Sequence]) -> None:
    with atomic_path(path) as partial, open(partial, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
