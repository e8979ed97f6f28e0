"""Odd files of CREPE's authors: every row gives sets or is counted, or the file is refused by name and line."""

import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crepebench.accounting import KEPT, READ, read_accounting
from crepebench.families import PRODUCTIVITY, SYSTEMATICITY
from crepebench.released_files import PRODUCTIVITY_COLUMNS, SYSTEMATICITY_COLUMNS, find_released_paths
from crepebench.released_flags import flag_rows
from crepebench.released_sets import build_released_sets
from crepebench.released_splits import build_released_splits
from crepebench.schema import IMAGES, RETRIEVAL_SETS, SPLITS, read_table, write_table

from .mutations import csv_text, damaged, inputs, mutated, odd_texts, odd_values, only_errors_that_name

BOX = {"x": "0", "y": "5.0", "width": "100", "height": "80"}
FOILS = [f"a man on a {name}" for name in ("horse", "table", "box", "roof", "lawn", "car", "dog", "hat", "cat", "bus")]
PRODUCTIVITY_ROW = {
    **dict.fromkeys(PRODUCTIVITY_COLUMNS, "1"),
    **{"image_id": "1", "caption": "a man on a hill", "n": "4", "hard_negs": str(FOILS[:5]), **BOX},
}
SYSTEMATICITY_ROW = {
    **{"region_id": "7", "caption": "a man on a hill", "image_id": "1", **BOX},
    "valid_hard_negs_atom": str(FOILS[:4]),
    "valid_hard_negs_comp": str(set(FOILS[4:])),
    "valid_hard_negs_combined": str(FOILS),
}
FILES = {
    "prod_vg_hard_negs_atom_complexity_4.csv": (
        PRODUCTIVITY,
        [PRODUCTIVITY_ROW, {**PRODUCTIVITY_ROW, "image_id": "2"}],
    ),
    "syst_vg_hard_negs_seen_compounds_in_cc12m.csv": (
        SYSTEMATICITY,
        [{name: SYSTEMATICITY_ROW[name] for name in SYSTEMATICITY_COLUMNS}, {**SYSTEMATICITY_ROW, "region_id": "8.0"}],
    ),
}
CELLS = [
    "[]",
    "['a']",
    '["a", "b", "c", "d", "e"]',
    "{'a', 'b'}",
    "[1]",
    "('a',)",
    "['\\ud800'] * 9",
    "{[]: 1}",
    "[" * 300,
]
cells = st.one_of(odd_texts, odd_values.map(str), st.sampled_from([*CELLS, "[" + "'\\ud800', " * 5 + "]"]))


@pytest.fixture(scope="module")
def images(folder) -> str:
    """Table IMAGES of two images."""
    sizes = {"width": 90, "height": 90}
    nothing = dict.fromkeys(("archive", "path", "crc32", "coco_id", "flickr_id"))
    write_table(str(folder / "images.parquet"), IMAGES, [{"image_id": i, **sizes, **nothing} for i in (1, 3)])
    return str(folder / "images.parquet")


def read_released(folder: Path, images: str, path: Path, family: str) -> None:
    """Builds sets, splits and flags of one file."""
    sets, splits = str(folder / "sets.parquet"), str(folder / "splits.parquet")
    counts = str(folder / "counts.csv")
    with only_errors_that_name(path, path.name, images):
        build_released_sets([str(path)], images, sets, counts, family, 0, 1)
        by_unit: dict[str, dict] = {}
        for row in read_accounting([counts]):
            by_unit.setdefault(row["unit"], {})[row["reason"]] = row["count"]
        found = read_table(sets, RETRIEVAL_SETS).to_pylist()
        assert len(found) == sum(of_unit[KEPT] for of_unit in by_unit.values())
        assert len({(row["set_id"], row["foil_type"]) for row in found}) == len(found)
        assert all(of_unit[READ] >= of_unit[KEPT] for of_unit in by_unit.values())
        list(flag_rows(found, lambda _: True))
        if family == SYSTEMATICITY:
            build_released_splits([str(path)], splits, counts, "cc12m", '{"name": "cc12m"}')
            assert read_table(splits, SPLITS).num_rows <= by_unit["region_atom"][READ]


@inputs(0.7)
@given(st.data())
def test_odd_cells_give_sets_or_a_named_line(folder, images, data):
    name = data.draw(st.sampled_from(list(FILES)))
    family, rows = FILES[name]
    path = folder / name
    path.write_bytes(csv_text(data.draw(mutated([dict(row) for row in rows], values=cells))))
    read_released(folder, images, path, family)


@inputs(0.3)
@given(st.data())
def test_damaged_files_and_zips_give_sets_or_a_named_file(folder, images, data):
    name = data.draw(st.sampled_from(list(FILES)))
    family, rows = FILES[name]
    path = folder / name
    path.write_bytes(data.draw(damaged(csv_text(rows))))
    if data.draw(st.booleans()):
        with zipfile.ZipFile(folder / "release.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(data.draw(st.sampled_from(["", "../", "/", "a\\", "data/"])) + name, path.read_bytes())
        path.unlink()
        path = folder / "release.zip"
        path.write_bytes(data.draw(damaged(path.read_bytes(), most=1)))
    assert str(path) in find_released_paths(str(folder))
    read_released(folder, images, path, family)
