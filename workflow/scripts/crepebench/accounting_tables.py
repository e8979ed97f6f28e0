"""Join the counts of all stages into one table."""

from collections import Counter, defaultdict

from crepebench.accounting import COLUMNS, KEPT, READ, check_counts, read_accounting
from crepebench.measures import write_csv


def tabulate_accounting(accounting_paths: list[str], table_path: str) -> None:
    """Joins the counts of all stages, shards added up, and checks that nothing was lost.

    Args:
        accounting_paths: counts of the stages.
        table_path: accounting.csv.

    Raises:
        ValueError: the counts of a stage do not add up.
    """
    rows = read_accounting(accounting_paths)
    by_unit: dict[tuple[str, str], Counter] = defaultdict(Counter)
    for row in rows:
        by_unit[row["stage"], row["unit"]][row["reason"]] += row["count"]
    for (stage, unit), counts in by_unit.items():
        check_counts(stage, unit, counts)
    order = {READ: 0, KEPT: 2}
    rows.sort(
        key=lambda row: (list(by_unit).index((row["stage"], row["unit"])), order.get(row["reason"], 1), row["reason"])
    )
    write_csv(table_path, COLUMNS, rows)
