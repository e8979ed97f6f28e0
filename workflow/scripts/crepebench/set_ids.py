"""The stable ids of retrieval sets and foils, and the lists of those that are left out."""

import csv
import hashlib
import json
import re
from collections.abc import Iterable, Mapping

from crepebench.file_faults import named_faults

ID = re.compile("[0-9a-f]{16}")
COLUMNS = ("id", "reason")


def set_id(family: str, image_id: int, box: tuple[int, int, int, int], caption: str) -> str:
    """Returns the stable id of a retrieval set, whatever its foils."""
    return _hash(family, image_id, *box, caption)


def set_id_of(row: Mapping) -> str:
    """Returns the id of the set that a row of table FOIL_CANDIDATES gives."""
    return set_id(row["family"], row["image_id"], (row["x"], row["y"], row["width"], row["height"]), row["caption"])


def foil_id(set_id_: str, text: str) -> str:
    """Returns the stable id of a foil."""
    return _hash(set_id_, text)


def _hash(*parts) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def read_exclusions(paths: Iterable[str]) -> dict[str, str]:
    """Reads exclusion lists: CSV files with the columns `id` (of a set or a foil) and `reason`.

    Returns:
        Reasons by id, those of a repeated id joined.

    Raises:
        ValueError: a file is no CSV in UTF-8, lacks a column, or an id is none; names file, line and value.
    """
    reasons: dict[str, str] = {}
    for path in paths:
        with named_faults(path), open(path, newline="", encoding="utf-8-sig") as file:
            rows = csv.DictReader(file)
            if not set(COLUMNS) <= set(rows.fieldnames or ()):
                raise ValueError(f"{path}: an exclusion list has the columns {COLUMNS}, this file {rows.fieldnames}")
            for row in rows:
                identity = (row["id"] or "").strip()
                if not ID.fullmatch(identity):
                    raise ValueError(
                        f"{path}, line {rows.line_num}: {identity!r} is no set_id or foil_id (16 digits 0-9, a-f)"
                    )
                reason = (row["reason"] or "").strip()
                known = reasons.get(identity)
                reasons[identity] = "; ".join(filter(None, (known, reason))) if known != reason else reason
    return reasons
