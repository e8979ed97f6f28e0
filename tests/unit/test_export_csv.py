import csv
import json

import numpy as np
import pyarrow as pa
import pytest

from crepebench import export_csv
from crepebench.export_csv import write_crepe_csv
from crepebench.families import FOIL_TYPES
from crepebench.feature_index import CROP, TEXT, crop_id, text_id
from crepebench.feature_reader import Features
from crepebench.released_files import (
    PRODUCTIVITY_COLUMNS,
    SYSTEMATICITY_COLUMNS,
    find_released_paths,
    list_released_files,
    read_released_rows,
)
from crepebench.schema import RETRIEVAL_SETS
from crepebench.scores import score_sets

from .export_rows import make_set, make_sets, write_inputs

CFG = json.dumps({"corpora": [["yfcc15m_clip", "yfcc"]]})
PROD = "prod_hard_negatives/{0}/prod_vg_hard_negs_{0}_complexity_{1}.csv"
SYST = "syst_vg_hard_negs_{}_in_yfcc.csv"


@pytest.fixture
def export(tmp_path):
    """Exports small sets, and returns the folder and the sets by family."""

    def run(**options):
        inputs = tmp_path / "inputs"
        inputs.mkdir()
        paths, splits, subgraphs, sets = write_inputs(inputs, **options)
        folder = tmp_path / "crepe_csv"
        write_crepe_csv(paths, subgraphs, splits, str(folder), str(tmp_path / "counts.csv"), CFG)
        return folder, sets

    return run


def read_csv(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def in_short(row, foil_type=None, foils=None):
    """Returns what the released format holds of a set, or of a released row's foils of one type."""
    if foils is None:
        box = tuple(row[name] for name in ("x", "y", "width", "height"))
        return row["foil_type"], row["image_id"], box, row["caption"], tuple(foil["text"] for foil in row["foils"])
    return foil_type, row.image_id, row.box, row.caption, foils


def read_back(folder, family):
    """Returns what is in the files of a family that the authors have, too."""
    return [
        in_short(row, foil_type, foils)
        for file in list_released_files(find_released_paths(str(folder)), family)
        for row in read_released_rows(file)
        for foil_type, foils in row.foils.items()
        if foils
    ]


def test_productivity_sets_come_back_equal(export):
    folder, sets = export()
    expected = [in_short(row) for row in sets["productivity"] if row["foil_type"] != "overall"]
    assert sorted(read_back(folder, "productivity")) == sorted(expected)


def test_overall_sets_have_files_of_their_own_in_the_same_form(export):
    folder, sets = export()
    rows = [row for n in (4, 5) for row in read_csv(folder / PROD.format("overall", n))]
    expected = [row for row in sets["productivity"] if row["foil_type"] == "overall"]
    texts = {int(row["image_id"]): json.loads(row["hard_negs"]) for row in rows}
    assert texts == {row["image_id"]: [foil["text"] for foil in row["foils"]] for row in expected}


def test_productivity_files_have_the_released_columns_and_forms(export):
    folder, _ = export()
    path = folder / PROD.format("atom", 5)
    assert path.read_text(encoding="utf-8").splitlines()[0] == ",".join(PRODUCTIVITY_COLUMNS)
    row = read_csv(path)[0]
    assert (row["image_id"], row["x"], row["width"], row["n"]) == ("1", "1.0", "41.0", "5")
    assert [row[f"n_{name}"] for name in ("objects", "relations", "attributes", "connected_components")] == [
        *("3", "1", "1", "2"),
    ]


@pytest.mark.parametrize("refined", [False, True])
def test_systematicity_sets_of_seen_and_unseen_compounds_come_back_equal(export, refined):
    folder, sets = export(refined=refined)
    if refined:
        found = [
            read_back(folder / f"syst_hard_negatives_{name}", "systematicity") for name in ("atom", "comp", "combined")
        ]
        found = [row for rows in found for row in rows]
    else:
        found = read_back(folder, "systematicity")
    in_files = [row for row in sets["systematicity"] if row["image_id"] in (1, 2, 5)]
    assert sorted(found) == sorted(map(in_short, in_files))


def test_one_truth_for_all_types_gives_the_released_layout(export):
    folder, _ = export()
    names = sorted(path.name for path in folder.glob("syst*/*.csv"))
    assert {path.name for path in folder.glob("syst*")} == {"syst_hard_negatives"}
    splits = ("seen_compounds", "unseen_atoms", "unseen_compounds")
    assert names == [SYST.format(split) for split in splits]
    path = folder / "syst_hard_negatives" / SYST.format("seen_compounds")
    assert path.read_text(encoding="utf-8").splitlines()[0] == ",".join(SYSTEMATICITY_COLUMNS)
    assert [row["region_id"] for row in read_csv(path)] == ["101", "105"]


def test_no_list_of_a_type_that_is_scored_is_empty(export):
    folder, _ = export(refined=True)
    for name in ("atom", "comp", "combined"):
        for row in read_csv(folder / f"syst_hard_negatives_{name}" / SYST.format("unseen_compounds")):
            cells = {key: len(json.loads(row[f"valid_hard_negs_{key}"])) for key in ("atom", "comp", "combined")}
            assert {key for key, size in cells.items() if size} == {name}


def test_regions_in_no_split_are_counted(export, tmp_path):
    export()
    counts = {(row["unit"], row["reason"]): row["count"] for row in read_csv(tmp_path / "counts.csv")}
    assert counts["yfcc15m_clip_comp_set", "undecided"] == "1" and counts["yfcc15m_clip_comp_set", "kept"] == "4"
    assert counts["productivity_swap_set", "kept"] == "5"


def test_sets_of_different_sizes_in_a_file_are_refused(tmp_path):
    from crepebench.export_csv import write_productivity

    sets = [make_set("productivity", "swap", i, "truth", {"swap": i}) for i in (2, 4)]
    with pytest.raises(ValueError, match=r"complexity_4\.csv: .*2 \(set prod.*4 \(set prod"):
        write_productivity(sets, {}, tmp_path)


def authors_ranks(rows, column, features, crop_features):
    """Returns the rank of the truth in each row as the authors' script finds it: one query at a time, 32-bit floats.

    Features are normalised, the truth stands before the foils, and the place of candidate 0 among the products sorted
    from the highest counts, from 0. A tie falls as the sort has it.
    """
    ranks = []
    for row in rows:
        texts = [row["caption"], *json.loads(row[column])]
        image = crop_features[row["image_id"]]
        image = image / np.linalg.norm(image)
        stacked = np.stack([features[text] for text in texts])
        stacked = stacked / np.linalg.norm(stacked, axis=-1, keepdims=True)
        order = np.argsort(-(image @ stacked.T), kind="stable")
        ranks.append(int(np.flatnonzero(order == 0)[0]))
    return ranks


def features_of(texts, crops, sets):
    """Returns features as scoring reads them from the store: unit rows in 32 bits."""
    boxes = {i: tuple(row[name] for name in ("x", "y", "width", "height")) for i, row in sets.items()}
    rows = {TEXT: {text_id(text): i for i, text in enumerate(texts)}}
    rows[CROP] = {crop_id(int(i), boxes[i]): len(texts) + k for k, i in enumerate(crops)}
    matrix = np.stack([*texts.values(), *crops.values()])
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    return Features(rows, matrix, np.arange(len(matrix)), np.zeros(len(matrix), bool), {})


@pytest.mark.parametrize(
    ("family", "foil_type", "column"),
    [("productivity", "negate", "hard_negs"), ("systematicity", "combined", "valid_hard_negs_combined")],
)
def test_the_authors_arithmetic_on_our_files_gives_our_ranks_but_for_ties(export, family, foil_type, column):
    folder, sets = export(n=40, splits=("SC", "UC") * 20)
    rng = np.random.default_rng(3)
    sets = {str(row["image_id"]): row for row in sets[family] if row["foil_type"] == foil_type}
    texts = {text for row in sets.values() for text in (row["caption"], *(foil["text"] for foil in row["foils"]))}
    features = {text: rng.normal(size=16).astype(np.float32) for text in sorted(texts)}
    crops = {i: rng.normal(size=16).astype(np.float32) for i in sets}
    tied = "7"
    features[sets[tied]["foils"][3]["text"]] = features[sets[tied]["caption"]]  # one text to the model
    name = f"*/*/*_{foil_type}_*.csv" if family == "productivity" else "*/*.csv"
    rows = [row for path in sorted(folder.glob(name)) for row in read_csv(path) if json.loads(row[column])]
    found = dict(zip((row["image_id"] for row in rows), authors_ranks(rows, column, features, crops), strict=True))
    assert found.keys() == sets.keys()
    ours = score_sets(pa.Table.from_pylist(list(sets.values()), RETRIEVAL_SETS), features_of(features, crops, sets))
    for (i, row), scored in zip(sets.items(), ours, strict=True):
        assert scored["set_id"] == row["set_id"]
        assert scored["rank"] - 1 == found[i] + (0.5 if i == tied else 0), i


def test_sets_of_a_type_that_the_released_files_do_not_have_are_counted_and_not_written(tmp_path, monkeypatch):
    types = {**FOIL_TYPES, "systematicity": (*FOIL_TYPES["systematicity"], "other")}
    monkeypatch.setattr(export_csv, "FOIL_TYPES", types)
    sets = make_sets("systematicity", 2)
    sets += [{**row, "foil_type": "other"} for row in sets if row["foil_type"] == "atom"]
    counts = export_csv.write_systematicity(sets, {101: "SC", 102: "UC"}, "cc12m", tmp_path)
    assert counts["other"] == {"read": 2, "kept": 0, "no_column": 2}
    assert counts["atom"] == {"read": 2, "kept": 2}
    assert {path.name for path in tmp_path.iterdir()} == {"syst_hard_negatives"}
