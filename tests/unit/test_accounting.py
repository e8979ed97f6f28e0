from collections import Counter

import pytest

from crepebench.accounting import KEPT, READ, check_counts, kept_rows, read_accounting, write_accounting


def test_counts_are_written_read_first_and_kept_last(tmp_path):
    path = tmp_path / "accounting.csv"
    write_accounting(str(path), "regions", {"region": {KEPT: 5, "aspect": 1, READ: 9, "area": 3}})
    assert path.read_text().splitlines() == [
        "stage,unit,reason,count",
        "regions,region,read,9",
        "regions,region,area,3",
        "regions,region,aspect,1",
        "regions,region,kept,5",
    ]


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ({READ: 9, KEPT: 5, "area": 3}, "9 regions read, but 8 kept or dropped"),
        ({READ: 2, KEPT: 3}, "2 regions read, but 3 kept or dropped"),
        ({READ: 1, KEPT: 0}, "1 regions read, but 0 kept or dropped"),
    ],
)
def test_counts_that_do_not_add_up_are_refused(counts, message):
    with pytest.raises(ValueError, match=f"regions: {message}"):
        check_counts("regions", "region", counts)


def test_refused_counts_leave_no_file(tmp_path):
    counts = {"image": {READ: 1, KEPT: 1}, "region": {READ: 2, KEPT: 1}}
    with pytest.raises(ValueError, match="2 regions read"):
        write_accounting(str(tmp_path / "accounting.csv"), "regions", counts)
    assert list(tmp_path.iterdir()) == []


def test_counts_of_shards_are_added_up(tmp_path):
    paths = [str(tmp_path / name) for name in ("a.csv", "b.csv")]
    write_accounting(paths[0], "vocabularies/cc12m", {"caption": {READ: 3, KEPT: 2, "text_empty": 1}})
    write_accounting(paths[1], "vocabularies/cc12m", {"caption": {READ: 5, KEPT: 4, "columns_wrong": 1}})
    assert {row["reason"]: row["count"] for row in read_accounting(paths)} == {
        READ: 8,
        KEPT: 6,
        "text_empty": 1,
        "columns_wrong": 1,
    }


def test_counts_of_other_units_stay_apart(tmp_path):
    path = str(tmp_path / "accounting.csv")
    write_accounting(path, "features/m/f", {"text": {READ: 3, KEPT: 3}, "crop": {READ: 2, KEPT: 1, "image_missing": 1}})
    rows = read_accounting([path])
    assert [(row["unit"], row["reason"], row["count"]) for row in rows] == [
        ("text", READ, 3),
        ("text", KEPT, 3),
        ("crop", READ, 2),
        ("crop", "image_missing", 1),
        ("crop", KEPT, 1),
    ]


def test_rows_are_kept_and_reasons_counted():
    counts = Counter()
    assert list(kept_rows([{"id": 1}, "name_missing", {"id": 2}, "name_missing"], counts)) == [{"id": 1}, {"id": 2}]
    assert counts == {READ: 4, "name_missing": 2, KEPT: 2}
