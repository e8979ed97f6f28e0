import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crepebench import schema
from crepebench.schema import GRAPHS, IMAGES, OBJECTS, REGION_DESCRIPTIONS, SCORES, SPLITS, read_table, write_table

ROWS = [
    (
        IMAGES,
        [
            {
                "image_id": 1,
                "width": 640,
                "height": 480,
                "archive": "images.zip",
                "path": "VG_100K/1.jpg",
                "crc32": 4_294_967_295,
                "coco_id": None,
                "flickr_id": 8_505_158_818,
            }
        ],
    ),
    (
        GRAPHS,
        [
            {
                "region_id": 5,
                "image_id": 1,
                "atoms": [
                    {
                        "kind": "object",
                        "text": "jar",
                        "surface": "jars",
                        "start": 4,
                        "end": 8,
                        "subject": -1,
                        "object": -1,
                    }
                ],
                "compounds": [],
                "n_atoms": 1,
            }
        ],
    ),
    (
        SCORES,
        [
            {"set_id": "a", "foil_type": "atom", "rank": 1.5, "margin": 0.0, "wins": [0.5, 1.0], "reason": ""},
            {
                "set_id": "b",
                "foil_type": "atom",
                "rank": None,
                "margin": None,
                "wins": None,
                "reason": "image_missing",
            },
        ],
    ),
]


@pytest.mark.parametrize(("table", "rows"), ROWS, ids=["images", "graphs", "scores"])
def test_rows_and_schema_survive_a_round_trip(tmp_path, table, rows):
    path = str(tmp_path / "table.parquet")
    assert write_table(path, table, rows) == len(rows)
    assert pq.read_schema(path).equals(table)
    found = read_table(path, table)
    assert found.schema.equals(table)
    assert found.to_pylist() == rows


def test_table_without_rows_has_its_schema(tmp_path):
    path = str(tmp_path / "table.parquet")
    assert write_table(path, SPLITS, []) == 0
    assert read_table(path, SPLITS).schema.equals(SPLITS)
    assert read_table(path, SPLITS).num_rows == 0


def test_rows_keep_their_order_across_row_groups(tmp_path, monkeypatch):
    monkeypatch.setattr(schema, "ROWS_PER_GROUP", 4)
    path = str(tmp_path / "table.parquet")
    rows = [{"region_id": 7 * i % 11, "split": "SC", "decided_by": "", "corpus_id": "c:1"} for i in range(11)]
    write_table(path, SPLITS, iter(rows))
    assert pq.ParquetFile(path).num_row_groups == 3
    assert read_table(path, SPLITS)["region_id"].to_pylist() == [7 * i % 11 for i in range(11)]


@pytest.mark.parametrize("n_rows", [3, 4, 6, 9, 12])
def test_batches_that_end_with_a_row_group_or_not_lose_no_row(tmp_path, monkeypatch, n_rows):
    monkeypatch.setattr(schema, "ROWS_PER_GROUP", 6)
    monkeypatch.setattr(schema, "ROWS_PER_BATCH", 4)
    path = str(tmp_path / "table.parquet")
    rows = [{"region_id": i, "split": "SC", "decided_by": "", "corpus_id": "c:1"} for i in range(n_rows)]
    assert write_table(path, SPLITS, rows) == n_rows
    assert read_table(path, SPLITS).to_pylist() == rows
    assert pq.ParquetFile(path).num_row_groups == -(-n_rows // 6)


def test_only_the_columns_asked_for_are_read(tmp_path):
    path = str(tmp_path / "table.parquet")
    write_table(path, SPLITS, [{"region_id": 1, "split": "UC", "decided_by": "red jar", "corpus_id": "c:1"}])
    assert read_table(path, SPLITS, ["split"]).to_pylist() == [{"split": "UC"}]


@pytest.mark.parametrize("x", ["left", [1], {"left": 1}])
def test_row_of_another_type_is_refused_by_file_name(tmp_path, x):
    row = {"region_id": 1, "image_id": 1, "x": x, "y": 0, "width": 1, "height": 1, "phrase": "a jar"}
    with pytest.raises(ValueError, match=r"descriptions\.parquet: a row does not fit the table"):
        write_table(str(tmp_path / "descriptions.parquet"), REGION_DESCRIPTIONS, [row])
    assert list(tmp_path.iterdir()) == []


OBJECT = {
    "image_id": 1,
    "object_id": 1,
    "names": ["jar"],
    "synsets": [],
    "attributes": [],
    "merged_object_ids": [],
    "x": 0,
    "y": 0,
}
OBJECT |= {"width": 1, "height": 1}


@pytest.mark.parametrize("x", [1.5, -0.25, np.float64(1.5), float("nan"), float("inf")])
def test_fraction_is_not_cut_off_silently(tmp_path, x):
    row = {**OBJECT, "x": x}
    with pytest.raises(ValueError, match=rf"objects\.parquet: a row does not fit the table \(.*'x'.*{x}\)"):
        write_table(str(tmp_path / "objects.parquet"), OBJECTS, [{**row, "x": 1}, row])
    assert list(tmp_path.iterdir()) == []


def test_float_without_a_fraction_is_an_integer(tmp_path):
    row = {**OBJECT, "x": 7.0}
    write_table(str(tmp_path / "objects.parquet"), OBJECTS, [row])
    assert read_table(str(tmp_path / "objects.parquet"), OBJECTS)["x"].to_pylist() == [7]


@pytest.mark.parametrize(("more", "fewer"), [({}, ["decided_by"]), ({"spilt": "SC"}, ["split"]), ({"n": 1}, [])])
def test_row_with_other_fields_is_refused_by_file_name(tmp_path, more, fewer):
    row = {"region_id": 1, "split": "SC", "decided_by": "", "corpus_id": "c:1", **more}
    for name in fewer:
        del row[name]
    with pytest.raises(
        ValueError, match=r"splits\.parquet: a row has the fields \[.*\], the table \['corpus_id', 'decided_by'"
    ):
        write_table(str(tmp_path / "splits.parquet"), SPLITS, [row])
    assert list(tmp_path.iterdir()) == []


def test_table_of_another_version_is_refused(tmp_path):
    path = str(tmp_path / "splits.parquet")
    pq.write_table(pa.table({"region_id": pa.array([1], pa.int32()), "split": ["SC"], "decided_by": [""]}), path)
    with pytest.raises(ValueError, match=r"splits\.parquet was written by another version"):
        read_table(path, SPLITS)


def test_table_of_equal_columns_and_another_version_is_refused_with_the_command_to_run(tmp_path):
    path = str(tmp_path / "splits.parquet")
    older = SPLITS.with_metadata(schema.made_by("build_splits", version=0))
    write_table(path, older, [{"region_id": 1, "split": "UC", "decided_by": "red jar", "corpus_id": "c:1"}])
    with pytest.raises(ValueError, match=r"version 0, where .* version 2 are expected.*--forcerun build_splits$"):
        read_table(path, SPLITS)


def test_every_table_names_the_rule_that_writes_it(repository):
    tables = {name: value for name, value in vars(schema).items() if isinstance(value, pa.Schema)}
    rules = "".join(path.read_text() for path in (repository / "workflow" / "rules").glob("*.smk"))
    assert tables
    for name, table in tables.items():
        assert f"rule {table.metadata[b'rule'].decode()}:" in rules, name
