"""Write the retrieval sets of the systematicity family: one image crop, its true caption and its foils."""

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Iterator, Sequence

from crepebench.accounting import KEPT, READ, write_accounting
from crepebench.foils import FOIL_TYPES
from crepebench.schema import FOIL_CANDIDATES, FOIL_CHOICES, RETRIEVAL_SETS, iterate_rows, write_table

logger = logging.getLogger(__name__)

FAMILY = "systematicity"


def set_id(family: str, image_id: int, box: tuple[int, int, int, int], caption: str) -> str:
    """Returns the stable id of a retrieval set, whatever its foils."""
    return _hash(family, image_id, *box, caption)


def foil_id(set_id_: str, text: str) -> str:
    """Returns the stable id of a foil."""
    return _hash(set_id_, text)


def _hash(*parts) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def retrieval_set_row(row: dict, chosen: Sequence[int] | None) -> dict:
    """Returns the row of table RETRIEVAL_SETS.

    Args:
        row: row of table FOIL_CANDIDATES.
        chosen: which of its foils to take; all where None.
    """
    identity = set_id(FAMILY, row["image_id"], (row["x"], row["y"], row["width"], row["height"]), row["caption"])
    foils = row["foils"] if chosen is None else [row["foils"][i] for i in chosen]
    copied = {name: row[name] for name in RETRIEVAL_SETS.names if name in row}
    return {
        **copied,
        "set_id": identity,
        "foils": [{"foil_id": foil_id(identity, foil["text"]), **foil} for foil in foils],
    }


def build_retrieval_sets(candidates_path: str, choices_paths: list[str], sets_path: str, accounting_path: str) -> None:
    """Writes the sets of one part, and counts for each foil_type how many regions give one.

    Args:
        candidates_path: table FOIL_CANDIDATES.
        choices_paths: table FOIL_CHOICES; none where all candidates are taken.
        sets_path: table RETRIEVAL_SETS to write.
        accounting_path: counts to write.
    """
    choices = {
        (row["region_id"], row["foil_type"]): row for path in choices_paths for row in iterate_rows(path, FOIL_CHOICES)
    }
    counts = {foil_type: Counter({READ: 0, KEPT: 0}) for foil_type in FOIL_TYPES}

    def rows() -> Iterator[dict]:
        for row in iterate_rows(candidates_path, FOIL_CANDIDATES):
            choice = choices.get((row["region_id"], row["foil_type"]), {"reason": "", "chosen": None})
            reason = row["reason"] or choice["reason"]
            counts[row["foil_type"]].update([READ, reason or KEPT])
            if not reason:
                yield retrieval_set_row(row, choice["chosen"])

    write_table(sets_path, RETRIEVAL_SETS, rows())
    for foil_type, found in counts.items():
        logger.info("%s: %d of %d regions give a set", foil_type, found[KEPT], found[READ])
    units = {f"region_{foil_type}": found for foil_type, found in counts.items()}
    write_accounting(accounting_path, f"retrieval_sets/{FAMILY}", units)
