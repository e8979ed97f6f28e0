"""Count what every stage read, kept and dropped, so that nothing is lost silently.

A stage's counts are a dict: READ and KEPT, and one entry per reason for which a record was dropped. They add up:
READ = KEPT + dropped. `write_accounting` refuses counts that do not.
"""

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from crepebench.files import atomic_path

READ = "read"
KEPT = "kept"
COLUMNS = ("stage", "unit", "reason", "count")


def write_accounting(path: str, stage: str, counts: Mapping[str, Mapping[str, int]]) -> None:
    """Writes the counts of a stage as CSV (stage, unit, reason, count).

    Args:
        path: file to write.
        stage: name of the stage.
        counts: for each unit (what a record is: "region", "caption") its counts.

    Raises:
        ValueError: the counts of a unit do not add up.
    """
    with atomic_path(path) as partial, open(partial, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for unit, by_reason in counts.items():
            check_counts(stage, unit, by_reason)
            dropped = sorted(set(by_reason) - {READ, KEPT})
            writer.writerows((stage, unit, reason, by_reason[reason]) for reason in (READ, *dropped, KEPT))


def kept_rows(results: Iterable[dict | str], counts: Counter) -> Iterator[dict]:
    """Yields the rows among results and counts all.

    Args:
        results: for each record its row, or the reason for which it is dropped.
        counts: counts of the unit to add to.
    """
    for result in results:
        counts[READ] += 1
        if isinstance(result, str):
            counts[result] += 1
        else:
            counts[KEPT] += 1
            yield result


def check_counts(stage: str, unit: str, by_reason: Mapping[str, int]) -> None:
    """Raises ValueError unless what was read equals what was kept and dropped."""
    read = by_reason[READ]
    rest = sum(count for reason, count in by_reason.items() if reason != READ)
    if read != rest:
        raise ValueError(f"{stage}: {read} {unit}s read, but {rest} kept or dropped: {dict(by_reason)}")


def read_accounting(paths: list[str]) -> list[dict[str, str | int]]:
    """Reads accounting files and adds up the rows of the same stage, unit and reason.

    Returns:
        Rows in the order of the files, shards merged.
    """
    totals: Counter = Counter()
    for path in paths:
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                totals[row["stage"], row["unit"], row["reason"]] += int(row["count"])
    return [dict(zip(COLUMNS, (*key, count), strict=True)) for key, count in totals.items()]
