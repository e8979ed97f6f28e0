"""Decode every image once and list those that cannot be used.

Images are checked in parts, a job each. Jobs run side by side; threads would not, since Pillow holds Python's lock
while it decodes. After a kill the finished parts stay.
"""

import csv
import logging
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from crepebench.files import atomic_path
from crepebench.images import BadImageError, ImageReader, check_most_are_good
from crepebench.schema import IMAGES, read_table

logger = logging.getLogger(__name__)

CHECK_COLUMNS = ("image_id", "place", "mode", "reason", "detail")
PROBLEM_COLUMNS = ("image_id", "place", "reason", "detail")
LINES_SHOWN = 20
PROGRESS_STEP = 1_000


def check_images(images: Iterable[Mapping], reader: ImageReader) -> Iterator[dict]:
    """Decodes images and yields a row of `CHECK_COLUMNS` for each.

    Args:
        images: rows of table IMAGES.
        reader: opens them.
    """
    for image in images:
        place = f"{image['archive']}/{image['path']}" if image["archive"] else ""
        row = {"image_id": image["image_id"], "place": place, "mode": "", "reason": "", "detail": ""}
        try:
            row["mode"] = reader.read(image).mode
        except BadImageError as error:
            row["reason"], row["detail"] = error.reason, error.detail
            logger.warning("image %d (%s): %s", image["image_id"], place or "no file", error)
        yield row


def validate_images(images_path: str, checks_path: str, part: int, n_parts: int) -> None:
    """Checks one part of the images: a run of neighbours in the table, and so in their zips.

    Args:
        images_path: table IMAGES.
        checks_path: CSV to write: `CHECK_COLUMNS`.
        part: index of the part, from 0.
        n_parts: number of parts.
    """
    table = read_table(images_path, IMAGES)
    start, end = (table.num_rows * i // n_parts for i in (part, part + 1))
    images = table.slice(start, end - start).to_pylist()
    began = time.monotonic()
    with ImageReader() as reader:
        _write_csv(checks_path, CHECK_COLUMNS, _logged(check_images(images, reader), len(images), began))


def tabulate_image_problems(check_paths: Sequence[str], problems_path: str) -> None:
    """Joins the checks of all parts and keeps the images that cannot be used.

    Args:
        check_paths: CSVs of all parts, in their order.
        problems_path: CSV to write: `PROBLEM_COLUMNS`, in the order of table IMAGES.

    Raises:
        ValueError: more than half of the images that have a file cannot be used.
    """
    rows = [row for path in check_paths for row in _read_csv(path)]
    bad = [row for row in rows if row["reason"]]
    modes = Counter(row["mode"] for row in rows if row["mode"])
    reasons = Counter(row["reason"] for row in bad)
    logger.info("%d images; modes of the good ones: %s; faults: %s", len(rows), _counts(modes), _counts(reasons))
    report = [
        f"image {row['image_id']} ({row['place']}): {row['reason']}: {row['detail']}" for row in bad if row["place"]
    ]
    shown = report[:LINES_SHOWN] + ["..."] * (len(report) > LINES_SHOWN)
    check_most_are_good(len(report), sum(row["place"] != "" for row in rows), shown)
    _write_csv(problems_path, PROBLEM_COLUMNS, ({name: row[name] for name in PROBLEM_COLUMNS} for row in bad))


def _logged(rows: Iterable[dict], n_rows: int, began: float) -> Iterator[dict]:
    """Yields rows and logs now and then how far they are."""
    for n_done, row in enumerate(rows, start=1):
        yield row
        if n_done % PROGRESS_STEP == 0 or n_done == n_rows:
            rate = n_done / max(time.monotonic() - began, 1e-9)
            logger.info("%d of %d images checked, %.0f a second", n_done, n_rows, rate)


def _counts(counts: Counter) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items())) or "none"


def _write_csv(path: str, columns: Sequence[str], rows: Iterable[dict]) -> None:
    with atomic_path(path) as partial, open(partial, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _read_csv(path: str) -> Iterator[dict]:
    with open(path, newline="", encoding="utf-8") as file:
        yield from csv.DictReader(file)
