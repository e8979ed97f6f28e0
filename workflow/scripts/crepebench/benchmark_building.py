"""Read a benchmark, find its pictures, and write its items and what of them has to be encoded."""

import csv
import importlib
import inspect
import json
import logging
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from crepebench.accounting import KEPT, READ, write_accounting
from crepebench.benchmark_images import ROOT_UNKNOWN, BenchmarkImages, FoundImage, base_name
from crepebench.benchmark_items import SHAPES, Item, check_items
from crepebench.benchmark_pools import POOL_SHAPES
from crepebench.benchmark_readers import READERS
from crepebench.file_faults import named_faults
from crepebench.files import atomic_path
from crepebench.pooled_features import frame_images
from crepebench.schema import BENCHMARK_ITEMS, IMAGES, RETRIEVAL_SETS, write_table
from crepebench.video_frames import lay_frames

logger = logging.getLogger(__name__)

FAMILY = "bench_"
"""Beginning of the family of a benchmark, before its name."""
ERROR, SKIP = POLICIES = ("error", "skip")
"""Values of `benchmarks.missing_images`."""
SHOWN = 20
MISSING_COLUMNS = ("item_id", "subset", "root", "name", "reason")


def read_items(
    reader: str, paths: Sequence[str], options: Mapping, benchmark: str, counts: Counter | None = None
) -> list[Item]:
    """Reads and checks the items of a benchmark.

    Args:
        reader: name of the reader.
        paths: its files.
        options: its options.
        benchmark: name for messages.
        counts: takes what a reader that counts its records has read, kept and dropped.

    Raises:
        ValueError: the reader is unknown, or gives no item or a wrong one.
    """
    if reader not in READERS:
        raise ValueError(
            f"benchmark {benchmark}: there is no reader {reader!r}; there are {', '.join(sorted(READERS))}"
        )
    module = importlib.import_module(READERS[reader])
    counting = {"counts": counts} if "counts" in inspect.signature(module.read).parameters else {}
    items = list(check_items(module.read(paths, options, **counting), benchmark, {**SHAPES, **POOL_SHAPES}))
    if not items:
        raise ValueError(f"benchmark {benchmark}: {', '.join(paths)}: no items")
    return items


def item_row(item: Item, images: Sequence[FoundImage]) -> dict:
    """Returns the row of table BENCHMARK_ITEMS; its reason is that of the first picture that cannot be used."""
    shown = []
    for ref, found in zip(item.images, images, strict=True):
        x, y, width, height = found.box or (None,) * 4
        place = {"image_id": found.row and found.row["image_id"], "x": x, "y": y, "width": width, "height": height}
        shown.append({"root": ref.root, "name": base_name(ref.name), **place})
    return {
        **{"item_id": item.id, "subset": item.subset, "task": item.task},
        "images": shown,
        "captions": list(item.captions),
        "kinds": list(item.kinds),
        "tags": [{"name": name, "value": item.tags[name]} for name in sorted(item.tags)],
        "reason": next((found.reason for found in images if found.reason), ""),
    }


def set_rows(row: Mapping) -> Iterator[dict]:
    """Yields rows of table RETRIEVAL_SETS that name each picture and text of an item, for them to be encoded.

    Args:
        row: row of table BENCHMARK_ITEMS.
    """
    none = dict.fromkeys(("image_id", "x", "y", "width", "height"))
    caption, *others = row["captions"]
    crops = [frame for image in row["images"] for frame in frame_images(image)]
    for number, image in enumerate(crops or [none]):
        identity = f"{row['item_id']}#{number}"
        foils = [{"foil_id": f"{identity}#{i}", "text": text} for i, text in enumerate(others)] if number == 0 else []
        yield {
            **{"set_id": identity, "region_id": None, "subgraph_id": None, "protocol": "given"},
            **{"foil_type": row["task"], **{key: image[key] for key in none}},
            **{"complexity": None, "caption": caption, "caption_source": "benchmark"},
            "foils": [{**foil, "kind": "given", "original": "", "replacement": "", "source": ""} for foil in foils],
        }


def build_benchmark_items(
    files_paths: Sequence[str],
    items_path: str,
    images_path: str,
    sets_path: str,
    missing_path: str,
    accounting_path: str,
    frames_path: str,
    benchmark: str,
    cfg: str,
) -> None:
    """Writes the items of a benchmark.

    Args:
        files_paths: files of the benchmark.
        items_path: table BENCHMARK_ITEMS to write.
        images_path: table IMAGES of the pictures that are used, to write.
        sets_path: table RETRIEVAL_SETS to write; it holds what is to be encoded.
        missing_path: CSV of the pictures that cannot be used, to write.
        accounting_path: counts to write.
        frames_path: folder to write frames of clips to; it is made in any case.
        benchmark: its name in the config.
        cfg: JSON of `reader`, `options`, `roots` (folders and zips by name) and `missing_images` (error or skip).

    Raises:
        ValueError: a file is none of the benchmark's, no item can be used, or pictures are missing and the policy is
            `error`; says what and where.
    """
    config = json.loads(cfg)
    records: Counter = Counter()
    with named_faults(", ".join(files_paths)):
        items = read_items(config["reader"], files_paths, config["options"], benchmark, records)
    refs = [ref for item in items for ref in item.images]
    os.makedirs(frames_path, exist_ok=True)
    roots, clips = lay_frames(refs, config["roots"], frames_path)
    images = BenchmarkImages(roots, refs)
    found = [[images.find(ref) for ref in item.images] for item in items]
    rows = [item_row(item, pictures) for item, pictures in zip(items, found, strict=True)]
    missing = [
        (item.id, item.subset, ref.root, base_name(ref.name), picture.reason)
        for item, pictures in zip(items, found, strict=True)
        for ref, picture in zip(item.images, pictures, strict=True)
        if picture.reason
    ]
    counts = Counter({READ: len(rows), KEPT: 0})
    counts.update(row["reason"] or KEPT for row in rows)
    if missing:
        report = _describe_missing(missing, rows, config["roots"], benchmark)
        if config["missing_images"] == ERROR:
            raise ValueError(f"{report} (benchmarks.missing_images: skip goes on without them)")
        if not counts[KEPT]:
            raise ValueError(f"{report}, so that no item is left")
        logger.warning("%s", report)
    kept = [row for row in rows if not row["reason"]]
    used = {frame["image_id"] for row in kept for image in row["images"] for frame in frame_images(image)}
    write_table(items_path, BENCHMARK_ITEMS, rows)
    write_table(images_path, IMAGES, (images.used[image_id] for image_id in sorted(used)))
    write_table(sets_path, RETRIEVAL_SETS, (one for row in kept for one in set_rows(row)))
    with atomic_path(missing_path) as partial, open(partial, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(MISSING_COLUMNS)
        writer.writerows(missing)
    units = {"record": records} if records else {}
    units |= {f"clip_{root}": found for root, found in clips.items()}
    write_accounting(accounting_path, f"benchmark_items/{benchmark}", {**units, "item": counts})
    logger.info("%s: %d of %d items can be used, of %d pictures", benchmark, len(kept), len(rows), len(used))


def _describe_missing(missing: Sequence[tuple], rows: Sequence[Mapping], roots: Mapping, benchmark: str) -> str:
    """Says how many pictures and items are lost, which come first, why, and where they were searched."""
    names = sorted({(root, name) for _, _, root, name, _ in missing})
    reasons = Counter(reason for *_, reason in missing)
    first = ", ".join(f"{root}/{name}" for root, name in names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
    unknown = sorted({root for _, _, root, _, reason in missing if reason == ROOT_UNKNOWN})
    known = sorted({root for root, _ in names} & set(roots))
    searched = ", ".join(f"{root}: {' and '.join(roots[root])}" for root in known)
    lines = [
        f"benchmark {benchmark}: {len(names)} pictures cannot be used, and with them "
        f"{sum(bool(row['reason']) for row in rows)} of {len(rows)} items "
        f"({', '.join(f'{reason}: {count}' for reason, count in sorted(reasons.items()))}): {first}"
    ]
    lines += [f"searched in {searched}"] if searched else []
    lines += [f"benchmarks.roots has no {', '.join(unknown)}"] if unknown else []
    return "; ".join(lines)
