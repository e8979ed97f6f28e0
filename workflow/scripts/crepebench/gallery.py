"""Build the gallery: one page on which people look at retrieval sets and at what each model made of them.

The page shows a choice of the sets (`crepebench.gallery_choice`), which is not proportional. What it says of each set
are the rows of tables RETRIEVAL_SETS, SCORES and SPLITS; resources/pages/gallery.js draws it.
"""

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from crepebench.exports import read_all_splits
from crepebench.families import FOIL_TYPES, SYSTEMATICITY, UNITS
from crepebench.files import atomic_path
from crepebench.gallery_choice import Pool, choose, read_pool
from crepebench.gallery_report import REPORT_BYTES, fitting_page
from crepebench.images import BadImageError, ImageReader, cut_crop
from crepebench.inline_pages import inline_page, picture_uri
from crepebench.schema import IMAGES, RETRIEVAL_SETS, SCORES, iterate_rows, read_table
from crepebench.splits import ALL_SPLITS, OTHER

TITLE = "Gallery of retrieval sets"
CROP_SIDE, IMAGE_SIDE = 256, 256
"""Pixels of the longer side, at most, of a crop and of a whole image in the page: 10 to 15 kB each."""
BOX = ("x", "y", "width", "height")
LOG = logging.getLogger(__name__)

Key = tuple[str, str]
"""set_id and foil_type."""


def read_rows(paths: Sequence[str], schema: pa.Schema, keys: Iterable[Key]) -> dict[Key, dict]:
    """Reads some rows of tables with the columns set_id and foil_type (RETRIEVAL_SETS, SCORES), by these."""
    wanted = set(keys)
    ids = pa.array(sorted({set_id for set_id, _ in wanted}), pa.string())
    tables = (read_table(path, schema) for path in paths)
    rows = (row for table in tables for row in table.filter(pc.is_in(table["set_id"], ids)).to_pylist())
    found = {(row["set_id"], row["foil_type"]): row for row in rows}
    return {key: row for key, row in found.items() if key in wanted}


def set_entry(row: Mapping, family: str, splits: Sequence[str], scores: Sequence[Mapping | None]) -> dict:
    """Returns what the page knows of a set, but for its pictures.

    Args:
        row: row of table RETRIEVAL_SETS.
        family: its family.
        splits: split of its region by each corpus; none where the family has no splits.
        scores: row of table SCORES by each model, None where the model does not measure the family.
    """
    names = ("set_id", "foil_type", "protocol", "image_id", "complexity", "caption", "caption_source", "foils")
    unit = UNITS[family]
    return {
        **{name: row[name] for name in names},
        "family": family,
        "unit": f"{unit} {row[f'{unit}_id']}",  # as text: JavaScript would round a long number
        "box": [row[side] for side in BOX],
        "splits": list(splits),
        "scores": [score and _score_entry(score) for score in scores],
    }


def _score_entry(score: Mapping) -> dict:
    """Returns rank, margin and wins, or why there are none."""
    if score["reason"]:
        return {"reason": score["reason"]}
    return {"rank": score["rank"], "margin": round(score["margin"], 6), "wins": score["wins"]}


def add_pictures(entries: Sequence[dict], images_path: str) -> dict:
    """Adds to entries the `crop` (a place among the crops, null where the image cannot be used), and returns pictures.

    Args:
        entries: as `set_entry` gives them; they are changed.
        images_path: table IMAGES.

    Returns:
        `crops`: data URIs; `images`: by id, `uri`, `width` and `height` (pixels of the whole image), or `problem`.
    """
    image_ids = {entry["image_id"] for entry in entries}
    images = {row["image_id"]: row for row in iterate_rows(images_path, IMAGES, image_ids=image_ids)}
    pictures: dict = {"crops": [], "images": {}}
    places: dict[tuple, int] = {}
    with ImageReader() as reader:
        for image_id in sorted(image_ids):
            of_image = [entry for entry in entries if entry["image_id"] == image_id]
            try:
                picture = reader.read(images[image_id]).picture
            except BadImageError as error:
                LOG.warning("image %d: %s", image_id, error)
                pictures["images"][str(image_id)] = {"problem": str(error)}
                for entry in of_image:
                    entry["crop"] = None
                continue
            width, height = picture.size
            whole = picture_uri(picture, IMAGE_SIDE)
            pictures["images"][str(image_id)] = {"uri": whole, "width": width, "height": height}
            for entry in of_image:
                box = tuple(entry["box"])
                if (image_id, box) not in places:
                    places[image_id, box] = len(pictures["crops"])
                    pictures["crops"].append(picture_uri(cut_crop(picture, box), CROP_SIDE))
                entry["crop"] = places[image_id, box]
    return pictures


def gallery_data(
    pools: Sequence[Pool],
    sets_paths: Mapping[str, Sequence[str]],
    scores_paths: Mapping[str, Mapping[str, str]],
    split_of: Mapping[str, Mapping[int, str]],
    images_path: str,
    config: Mapping,
) -> dict:
    """Chooses sets and returns what the page shows of them.

    Args:
        pools: sets of each family.
        sets_paths: tables RETRIEVAL_SETS of each family.
        scores_paths: table SCORES of each model that measures a family, by family and model.
        split_of: split of each region, by corpus.
        images_path: table IMAGES.
        config: max_sets, largest_margins and pairs (of a model and one that was made from it, by name).
    """
    chosen = choose(pools, config["max_sets"], config["largest_margins"])
    models = list(dict.fromkeys(model for of_family in scores_paths.values() for model in of_family))
    entries = []
    for pool in pools:
        keys = [(set_id, foil_type) for family, set_id, foil_type in chosen if family == pool.family]
        rows = read_rows(sets_paths[pool.family], RETRIEVAL_SETS, keys)
        scores = {model: read_rows([path], SCORES, keys) for model, path in scores_paths[pool.family].items()}
        for key in keys:
            row, of_models = rows[key], [scores[model][key] if model in scores else None for model in models]
            is_split = pool.family == SYSTEMATICITY
            splits = [splits[row["region_id"]] for splits in split_of.values()] if is_split else []
            entries.append(set_entry(row, pool.family, splits, of_models))
    return {
        "models": models,
        "pairs": [pair for pair in config["pairs"] if set(pair) <= set(models)],
        "corpora": list(split_of),
        "families": [
            {
                "name": pool.family,
                "foil_types": FOIL_TYPES[pool.family],
                "n_sets": pool.n_sets,
                "n_scored": len(pool.keys),
            }
            for pool in pools
        ],
        "splits": [*ALL_SPLITS, *OTHER],
        **add_pictures(entries, images_path),
        "sets": entries,
    }


def places_of(pairs: Sequence[Sequence[str]], models: Sequence[str]) -> list[tuple[int, int]]:
    """Returns the places of pairs among models, those left out that have a model that is none of these."""
    return [(models.index(one), models.index(other)) for one, other in pairs if {one, other} <= set(models)]


def build_gallery(
    sets_paths: Mapping[str, list[str]],
    scores_paths: Mapping[str, list[str]],
    splits_paths: list[str],
    images_path: str,
    body_path: str,
    styles_paths: list[str],
    scripts_paths: list[str],
    page_path: str,
    report_path: str,
    cfg: str,
) -> None:
    """Writes the page, and a smaller one for the report.

    Args:
        sets_paths: tables RETRIEVAL_SETS of each family.
        scores_paths: table SCORES of each model of a family, in the order of `models`.
        splits_paths: table SPLITS of each corpus, in the order of `corpora`.
        images_path: table IMAGES.
        body_path: HTML of the page's body.
        styles_paths: CSS files.
        scripts_paths: JavaScript files.
        page_path: page to write.
        report_path: the same page with no more sets than a report can hold.
        cfg: JSON of `gallery` (seed, max_sets, largest_margins), `corpora` (names), `models` (names, by family) and
            `pairs` (of a model and one that was made from it by tuning or a correction; none if it is left out).
    """
    settings = json.loads(cfg)
    config = {**settings["gallery"], "pairs": settings.get("pairs", [])}
    split_of = read_all_splits(splits_paths, settings["corpora"])
    pools = [
        read_pool(
            family,
            sets_paths[family],
            scores_paths[family],
            split_of if family == SYSTEMATICITY else {},
            config["seed"],
            places_of(config["pairs"], settings["models"][family]),
        )
        for family in FOIL_TYPES
    ]
    by_model = {
        family: dict(zip(settings["models"][family], paths, strict=True)) for family, paths in scores_paths.items()
    }
    data = gallery_data(pools, sets_paths, by_model, split_of, images_path, config)
    body = Path(body_path).read_text(encoding="utf-8")

    def render(shown: Mapping) -> str:
        return inline_page(TITLE, body, styles_paths, scripts_paths, shown)

    small = fitting_page(data, pools, config["largest_margins"], render, REPORT_BYTES)
    for path, page in ((page_path, render(data)), (report_path, small)):
        with atomic_path(path) as partial:
            Path(partial).write_text(page, encoding="utf-8")
    n_bad = sum("problem" in image for image in data["images"].values())
    LOG.info("%d sets of %d images; %d images cannot be used", len(data["sets"]), len(data["images"]), n_bad)
