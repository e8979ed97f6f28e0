"""Write the retrieval sets of a family: one image crop, its true caption and its foils."""

import logging
from collections import Counter
from collections.abc import Iterator, Sequence

from crepebench.accounting import KEPT, READ, write_accounting
from crepebench.families import FOIL_TYPES, PRODUCTIVITY, SYSTEMATICITY, UNITS
from crepebench.schema import FOIL_CANDIDATES, FOIL_CHOICES, RETRIEVAL_SETS, iterate_rows, write_table
from crepebench.set_ids import foil_id, set_id_of

logger = logging.getLogger(__name__)


def retrieval_set_row(row: dict, chosen: Sequence[int]) -> dict:
    """Returns the row of table RETRIEVAL_SETS.

    Args:
        row: row of table FOIL_CANDIDATES.
        chosen: which of its foils to take.
    """
    identity = set_id_of(row)
    foils = [row["foils"][i] for i in chosen]
    copied = {name: row[name] for name in RETRIEVAL_SETS.names if name in row}
    return {
        **copied,
        "set_id": identity,
        "region_id": row["source_id"] if row["family"] == SYSTEMATICITY else None,
        "subgraph_id": row["source_id"] if row["family"] == PRODUCTIVITY else None,
        "foils": [{"foil_id": foil_id(identity, foil["text"]), **foil} for foil in foils],
    }


def build_retrieval_sets(
    candidates_path: str, choices_path: str, sets_path: str, accounting_path: str, family: str
) -> None:
    """Writes the sets of one part, and counts for each foil_type how many regions or subgraphs give one.

    Args:
        candidates_path: table FOIL_CANDIDATES.
        choices_path: table FOIL_CHOICES.
        sets_path: table RETRIEVAL_SETS to write.
        accounting_path: counts to write.
        family: family of the sets.
    """
    choices = {(row["source_id"], row["foil_type"]): row for row in iterate_rows(choices_path, FOIL_CHOICES)}
    counts = {foil_type: Counter({READ: 0, KEPT: 0}) for foil_type in FOIL_TYPES[family]}

    def rows() -> Iterator[dict]:
        for row in iterate_rows(candidates_path, FOIL_CANDIDATES):
            reason = row["reason"] or choices[row["source_id"], row["foil_type"]]["reason"]
            counts[row["foil_type"]].update([READ, reason or KEPT])
            if not reason:
                yield retrieval_set_row(row, choices[row["source_id"], row["foil_type"]]["chosen"])

    write_table(sets_path, RETRIEVAL_SETS, rows())
    unit = UNITS[family]
    for foil_type, found in counts.items():
        logger.info("%s: %d of %d %ss give a set", foil_type, found[KEPT], found[READ], unit)
    units = {f"{unit}_{foil_type}": found for foil_type, found in counts.items()}
    write_accounting(accounting_path, f"retrieval_sets/{family}", units)
