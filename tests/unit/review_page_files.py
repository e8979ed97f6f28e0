"""Small tables, pictures and a corpus from which the tests of the review make their page."""

import json
import zlib
from pathlib import Path

import numpy as np
from PIL import Image

from crepebench.families import FOIL_TYPES, PARTS_OF_TYPE
from crepebench.review_pages import build_review_page
from crepebench.schema import CAPTIONS, IMAGES, RETRIEVAL_SETS, SUBGRAPHS, write_table

PAGES = Path(__file__).resolve().parents[2] / "resources" / "pages"
NASTY = '<img src=x onerror="document.title=1"> & </script><script>document.title=2</script> é \u2028'
"""A text that must stay a text."""
KINDS = {
    "atom": ("object", "attribute", "relation"),
    "comp": ("attribute_object", "object_relation_object"),
    "swap": ("swapped_object",),
    "negate": ("negated_object", "negated_whole"),
}
CONFIG = {
    **{"seed": 0, "caption_share": 0.5, "set_share": 0.25, "min_captions": 2, "min_sets": 5},
    **{"captions_per_corpus": 0, "protocol": "refined", "parser": {}, "definitions": {}},
}


def box_of(i):
    return {"x": i, "y": 2 * i, "width": 40 + i, "height": 30}


def write_images(folder, n=12, without_file=(), unreadable=()):
    """Writes pictures of 120 x 90 pixels and table IMAGES; returns the table's path."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(1, n + 1):
        path = folder / f"{i}.png"
        Image.fromarray(rng.integers(0, 255, (90, 120, 3), dtype=np.uint8)).save(path)
        data = path.read_bytes() if i not in unreadable else b"no picture"
        path.write_bytes(data)
        has_file = i not in without_file
        rows.append(
            {
                **{"image_id": i, "width": 120, "height": 90, "path": path.name if has_file else None},
                **{"archive": str(folder) if has_file else None, "crc32": zlib.crc32(data) if has_file else None},
                **{"coco_id": None, "flickr_id": None},
            }
        )
    table = str(folder / "images.parquet")
    write_table(table, IMAGES, rows)
    return table


def make_set(family, foil_type, i, text="a caption of"):
    """Returns a set of image i; the first foil of the first image is nasty."""
    set_id = f"{i:08x}{sum(map(ord, family + foil_type)):08x}"
    foils = []
    for part in PARTS_OF_TYPE[family][foil_type]:
        for k in range(5):
            kinds = KINDS[part]
            foil_text = NASTY if (i, k) == (1, 0) else f"{part} foil {k} of {i}"
            foils.append(
                {
                    **{"foil_id": f"{i:04x}{zlib.crc32(part.encode()) % 2**32:08x}{k:04x}", "text": foil_text},
                    **{"kind": kinds[(i + k) % len(kinds)], "original": "a", "replacement": "b", "source": "test"},
                }
            )
    return {
        **{"set_id": set_id, "region_id": None, "subgraph_id": None, "protocol": "refined", "foil_type": foil_type},
        **{"image_id": i, **box_of(i), "complexity": 4 + i % 2, "caption": f"{text} {i}", "caption_source": "template"},
        **{"foils": foils, "subgraph_id" if family == "productivity" else "region_id": 2**60 + i},
    }


def write_sets(folder, n=12, n_parts=1):
    """Writes tables of sets, and returns their paths by family."""
    paths = {}
    for family, foil_types in FOIL_TYPES.items():
        rows = [make_set(family, foil_type, i) for i in range(1, n + 1) for foil_type in foil_types]
        paths[family] = [str(folder / f"{family}-{part}-of-{n_parts}.parquet") for part in range(n_parts)]
        for part, path in enumerate(paths[family]):
            write_table(path, RETRIEVAL_SETS, [row for row in rows if row["image_id"] % n_parts == part])
    return paths


def write_captions(folder, n=12, n_parts=1):
    """Writes tables of captions and their subgraphs, the last without a caption; returns the paths."""
    subgraphs, captions = [], []
    for i in range(1, n + 1):
        counts = {"n_objects": 3, "n_relations": 1, "n_attributes": 0, "n_components": 1, "n_swaps": 1}
        subgraphs.append(
            {"subgraph_id": 2**60 + i, "image_id": i, **box_of(i), "complexity": 4 + i % 2, "shape": "", "atoms": []}
            | counts
        )
        text = None if i == n else NASTY if i == 1 else f"a caption of {i}"
        caption = {"caption": text, "caption_source": "template" if text else "", "reason": "" if text else "none"}
        captions.append({"subgraph_id": 2**60 + i, **caption, "mentions": [], "n_attempts": 0, "failures": []})
    subgraphs_path = str(folder / f"subgraphs-{n_parts}.parquet")
    write_table(subgraphs_path, SUBGRAPHS, subgraphs)
    paths = [str(folder / f"captions-{part}-of-{n_parts}.parquet") for part in range(n_parts)]
    for part, path in enumerate(paths):
        write_table(path, CAPTIONS, [row for row in captions if row["subgraph_id"] % n_parts == part])
    return paths, subgraphs_path


def build(folder, n=12, n_parts=1, images_path=None, corpora=None, is_released=False, name="review", **changes):
    """Builds a page from such tables, and returns its path and its sample."""
    folder.mkdir(parents=True, exist_ok=True)
    captions, subgraphs = write_captions(folder, n, n_parts)
    page, sample = folder / name / "index.html", folder / name / "sample.json"
    build_review_page(
        sets_paths=write_sets(folder, n, n_parts),
        captions_paths=[] if is_released else captions,
        subgraphs_path=None if is_released else subgraphs,
        images_path=images_path or write_images(folder, n),
        corpus_paths=corpora or {},
        body_path=str(PAGES / "review.html"),
        styles=[str(PAGES / "page.css"), str(PAGES / "review.css")],
        scripts=[str(PAGES / "review_answers.js"), str(PAGES / "review.js")],
        page_path=str(page),
        sample_path=str(sample),
        cfg=json.dumps({**CONFIG, **changes}),
    )
    return page, json.loads(sample.read_text(encoding="utf-8"))
