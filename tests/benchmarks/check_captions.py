"""Measure how well the check of captions tells faithful captions from others, on hand-labelled ones.

Run `python tests/benchmarks/check_captions.py`; docs/captions.md has the figures. `--errors` shows the captions of the
first half that are judged wrongly; those of the second are never shown, so that its figures are a measurement.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "workflow" / "scripts")]

from crepebench.caption_checks import Checked, check_caption  # noqa: E402
from crepebench.word_tables import WordTables, read_word_tables  # noqa: E402
from crepebench.wordnet import Lexicon, read_wordnet, write_wordnet  # noqa: E402

LABELLED = ROOT / "resources" / "captions" / "labelled_captions.jsonl"


def read_labelled(path: Path = LABELLED) -> dict[str, list[dict]]:
    """Reads the labelled captions: "first" and "second" half."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    middle = len(rows) // 2
    return {"first": rows[:middle], "second": rows[middle:]}


def check_rows(rows: Sequence[dict], lexicon: Lexicon, tables: WordTables) -> list[Checked]:
    """Checks the captions of rows."""
    return [check_caption(row["caption"], row["atoms"], lexicon, tables) for row in rows]


def precision_and_recall(rows: Sequence[dict], checks: Sequence[Checked]) -> tuple[float, float]:
    """Returns precision and recall of "faithful", as fractions."""
    n_right = sum(row["faithful"] and not check.reason for row, check in zip(rows, checks, strict=True))
    n_passed = sum(not check.reason for check in checks)
    return n_right / max(1, n_passed), n_right / max(1, sum(row["faithful"] for row in rows))


def main() -> None:
    """Prints the figures of both halves."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--errors", action="store_true", help="print the first half's captions that are judged wrongly")
    arguments = parser.parse_args()
    tables = read_word_tables(sorted(map(str, (ROOT / "resources" / "foils").glob("*.csv"))))
    with tempfile.TemporaryDirectory() as folder:
        write_wordnet(folder, '{"install": true}')
        lexicon = Lexicon(read_wordnet(folder))
        halves = read_labelled()
        print("| half | captions | precision | recall | right reasons |\n|---|---|---|---|---|")
        for half, rows in halves.items():
            checks = check_rows(rows, lexicon, tables)
            precision, recall = precision_and_recall(rows, checks)
            faults = [(row["fault"], check.reason) for row, check in zip(rows, checks, strict=True) if row["fault"]]
            n_right = sum(fault == reason for fault, reason in faults)
            print(f"| {half} | {len(rows)} | {precision:.2f} | {recall:.2f} | {n_right} of {len(faults)} |")
            if arguments.errors and half == "first":
                for row, check in zip(rows, checks, strict=True):
                    if row["fault"] != check.reason:
                        print(f"{row['fault'] or 'faithful'} judged {check.reason or 'faithful'}: {row['caption']}")
        everything = [row for rows in halves.values() for row in rows]
        start = time.process_time()
        check_rows(everything, lexicon, tables)
        print(f"{len(everything) / (time.process_time() - start):,.0f} captions a second on one core")


if __name__ == "__main__":
    main()
