import zipfile

import pytest

from crepebench.released_files import (
    PRODUCTIVITY_COLUMNS,
    SYSTEMATICITY_COLUMNS,
    find_released_paths,
    list_released_files,
    missing_names,
    parse_foils,
    read_released_rows,
)

from .released_rows import ATOM_FOILS, COMP_FOILS, productivity_row, systematicity_row, write_released

PROD = "prod_vg_hard_negs_atom_complexity_4.csv"
SYST = "syst_vg_hard_negs_seen_compounds_in_cc12m.csv"


def read_one(path, family):
    (file,) = list_released_files([str(path)], family)
    return list(read_released_rows(file))


def test_names_say_family_type_complexity_split_and_corpus(tmp_path):
    for name in (
        PROD,
        SYST,
        "prod_vg_hard_negs_atom_all.csv",
        "notes.csv",
        "prod_vg_hard_negs_negate_complexity_12.csv",
    ):
        (tmp_path / "sub").mkdir(exist_ok=True)
        (tmp_path / "sub" / name).write_text("")
    paths = find_released_paths(str(tmp_path))
    found = [(file.foil_type, file.complexity) for file in list_released_files(paths, "productivity")]
    assert found == [("atom", 4), ("negate", 12)]
    assert [(file.split, file.corpus) for file in list_released_files(paths, "systematicity")] == [("SC", "cc12m")]


def test_a_file_in_a_zip_is_read_unless_it_is_unpacked_too(tmp_path):
    with zipfile.ZipFile(tmp_path / "prod_hard_negatives.zip", "w") as archive:
        for name in (f"prod_hard_negatives/atom/{PROD}", f"__MACOSX/prod_hard_negatives/atom/{PROD}"):
            path = write_released(tmp_path / "x" / PROD, [productivity_row(image_id=5)])
            archive.write(path, name)
    zipped = str(tmp_path / "prod_hard_negatives.zip")
    assert [row.image_id for row in read_one(zipped, "productivity")] == [5]
    unpacked = write_released(tmp_path / "atom" / PROD, [productivity_row(image_id=6)])
    (file,) = list_released_files([zipped, unpacked], "productivity")
    assert [row.image_id for row in read_released_rows(file)] == [6]


def test_two_files_of_one_name_are_refused(tmp_path):
    paths = [write_released(tmp_path / folder / PROD, []) for folder in "ab"]
    with pytest.raises(ValueError, match="two released files have one name"):
        list_released_files(paths, "productivity")


@pytest.mark.parametrize("order", [1, -1])
def test_columns_may_stand_in_any_order_and_others_beside_them(tmp_path, order):
    columns = ["Unnamed: 0", *SYSTEMATICITY_COLUMNS][::order]
    path = write_released(tmp_path / SYST, [systematicity_row() | {"Unnamed: 0": 0}], columns)
    (row,) = read_one(path, "systematicity")
    assert (row.region_id, row.image_id, row.box) == (7, 1, (10, 20, 300, 200))
    assert row.foils == {"atom": (*ATOM_FOILS,), "comp": (*COMP_FOILS,), "combined": (*ATOM_FOILS, *COMP_FOILS)}


def test_boxes_may_be_written_with_a_point(tmp_path):
    path = write_released(tmp_path / PROD, [productivity_row(box=(1.0, 2.0, 30.0, 40.0))])
    assert read_one(path, "productivity")[0].box == (1, 2, 30, 40)


@pytest.mark.parametrize(
    ("cell", "foils"),
    [("['b', \"it's\"]", ("b", "it's")), ("{'b', 'a'}", ("a", "b")), ('["b", "a"]', ("b", "a")), ("[]", ())],
)
def test_foils_are_lists_or_sets_and_sets_have_an_order(cell, foils):
    assert parse_foils(cell, "x") == foils


@pytest.mark.parametrize(
    "cell",
    [
        "['.ud800']".replace(".", "\\"),
        "__import__('os').getcwd()",
        "['a', 1]",
        "'a'",
        "['a'",
        "{'a': 'b'}",
        "",
        "[" * 5000,
        "['a'] * 3",
    ],
)
def test_other_cells_are_refused_and_named(cell):
    with pytest.raises(ValueError, match="here, line 3, hard_negs: no list or set of texts"):
        parse_foils(cell, "here, line 3, hard_negs")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"image_id": "x"}, "line 2, column image_id: no number: 'x'"),
        ({"width": "3.5"}, "line 2, column width: no whole number"),
        ({"x": "nan"}, "line 2, column x: no whole number"),
        ({"x": "1e300"}, "line 2, column x: no whole number"),
        ({"n": 5}, "line 2: n is 5, and the file's name says 4"),
    ],
)
def test_a_bad_cell_is_named_with_file_line_and_column(tmp_path, change, message):
    path = write_released(tmp_path / PROD, [productivity_row() | change])
    with pytest.raises(ValueError, match=f"{PROD}, {message}"):
        read_one(path, "productivity")


def test_a_missing_column_is_named(tmp_path):
    path = write_released(tmp_path / PROD, [productivity_row()], [c for c in PRODUCTIVITY_COLUMNS if c != "hard_negs"])
    with pytest.raises(ValueError, match=r"the columns \['hard_negs'\] are missing"):
        read_one(path, "productivity")


def test_a_damaged_zip_is_named(tmp_path):
    (tmp_path / "x.zip").write_bytes(b"no zip")
    with pytest.raises(ValueError, match=r"x\.zip: the zip is damaged"):
        list_released_files([str(tmp_path / "x.zip")], "productivity")


def test_files_that_are_missing_are_listed(tmp_path):
    files = list_released_files([write_released(tmp_path / PROD, [])], "productivity")
    missing = missing_names(files, "productivity", [])
    assert len(missing) == 26 and PROD not in missing
    assert len(missing_names([], "systematicity", ["cc12m", "yfcc", "laion"])) == 6


def test_a_row_that_ends_too_early_is_named(tmp_path):
    path = write_released(tmp_path / PROD, [productivity_row()], PRODUCTIVITY_COLUMNS)
    with open(path, "a", encoding="utf-8") as file:
        file.write("1,a jar\n")
    with pytest.raises(ValueError, match=rf"{PROD}, line 3: the row ends before the columns \[.*'hard_negs'"):
        read_one(path, "productivity")


@pytest.mark.parametrize(
    ("content", "message"),
    [("caption\n\u00e9".encode("latin-1"), "not a text in UTF-8"), (b'"a', "the columns .* are missing")],
)
def test_a_file_that_is_no_table_is_named(tmp_path, content, message):
    (tmp_path / PROD).write_bytes(content)
    with pytest.raises(ValueError, match=f"{PROD}: {message}"):
        read_one(str(tmp_path / PROD), "productivity")


def test_a_file_in_a_zip_that_would_fill_the_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("crepebench.released_files.MOST_BYTES", 1_000)
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(PROD, bytes(1_001))
    (file,) = list_released_files([str(tmp_path / "x.zip")], "productivity")
    with pytest.raises(ValueError, match=f"{PROD}: has 1,001 bytes, more than 1,000"):
        list(read_released_rows(file))
