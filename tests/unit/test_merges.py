import random

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crepebench import merges, schema
from crepebench.merges import merge_sorted

COUNTS = pa.schema([("kind", pa.string()), ("object", pa.string()), ("count", pa.int64())])
KEYS = ["kind", "object"]


def write(path, rows):
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    pq.write_table(pa.table(dict(zip(COUNTS.names, columns, strict=True)), schema=COUNTS), path, row_group_size=3)
    return str(path)


def add_up(rows):
    return rows.group_by(KEYS).agg(pl.col("count").sum())


def merged(folder, *tables):
    paths = [write(folder / f"{i}.parquet", sorted(rows)) for i, rows in enumerate(tables)]
    n_rows = merge_sorted(paths, COUNTS, KEYS, str(folder / "merged.parquet"), add_up)
    rows = pq.read_table(folder / "merged.parquet").to_pylist()
    assert n_rows == len(rows)
    return [tuple(row.values()) for row in rows]


def test_counts_of_equal_keys_are_added_up_and_sorted(tmp_path):
    found = merged(tmp_path, [("a", "jar", 2), ("b", "box", 1)], [("a", "box", 5), ("a", "jar", 3)], [])
    assert found == [("a", "box", 5), ("a", "jar", 5), ("b", "box", 1)]


def test_empty_tables_give_an_empty_table(tmp_path):
    assert merged(tmp_path, [], []) == []


@pytest.mark.parametrize("range_rows", [1, 4, 10_000])
def test_ranges_of_any_size_give_the_same_table(tmp_path, monkeypatch, range_rows):
    monkeypatch.setattr(merges, "RANGE_ROWS", range_rows)
    rng = random.Random(1)
    words = ["", "a", "ab", "b", "box", "jar", "é", "中", "zebra", "a b"]
    tables = [
        [(kind, word, rng.randrange(1, 9)) for kind in ("x", "xy", "y") for word in words if rng.random() < 0.6]
        for _ in range(4)
    ]
    naive = {}
    for kind, word, count in (row for rows in tables for row in rows):
        naive[kind, word] = naive.get((kind, word), 0) + count
    assert merged(tmp_path, *tables) == [(*key, naive[key]) for key in sorted(naive)]


@pytest.mark.parametrize("n_tables", [2, 3, 7, 20])
def test_more_tables_than_may_be_open_at_once_are_merged_in_groups(tmp_path, monkeypatch, n_tables):
    monkeypatch.setattr(merges, "MAX_FILES", 3)
    n_open, merge_at_once = [], merges._merge_at_once

    def merge_and_note(paths, *others):
        n_open.append(len(paths))
        return merge_at_once(paths, *others)

    monkeypatch.setattr(merges, "_merge_at_once", merge_and_note)
    tables = [[("a", f"{n % 5}", n), ("b", f"{n}", 1)] for n in range(n_tables)]
    found = merged(tmp_path, *tables)
    assert sum(count for kind, _, count in found if kind == "a") == sum(range(n_tables))
    assert [key for kind, key, _ in found if kind == "b"] == sorted(str(n) for n in range(n_tables))
    assert max(n_open) <= 3
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [*(f"{i}.parquet" for i in range(n_tables)), "merged.parquet"]
    )


def test_one_range_is_read_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(merges, "RANGE_ROWS", 6)
    monkeypatch.setattr(schema, "ROWS_PER_GROUP", 3)
    sizes = []

    def add_up_and_note(rows):
        sizes.append(len(rows))
        return add_up(rows)

    paths = [write(tmp_path / f"{i}.parquet", [("a", f"{n:03d}", 1) for n in range(i, 90, 3)]) for i in range(3)]
    merge_sorted(paths, COUNTS, KEYS, str(tmp_path / "merged.parquet"), add_up_and_note)
    assert sum(sizes) == 90
    assert max(sizes) <= 6 + 3 * 3, "no more than a range and one row group of each file"


def test_a_table_of_another_version_is_refused(tmp_path):
    pq.write_table(pa.table({"kind": ["a"]}), tmp_path / "old.parquet")
    with pytest.raises(ValueError, match=r"old\.parquet was written by another version"):
        merge_sorted([str(tmp_path / "old.parquet")], schema.VOCABULARY, KEYS, str(tmp_path / "m.parquet"), add_up)
