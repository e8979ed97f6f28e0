import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from crepebench.dataset_card import Part, card, licence_of
from crepebench.export_datasets import export_schema, write_datasets_folder
from crepebench.families import FOIL_TYPES

from .export_rows import write_inputs

CONFIG = {
    "corpora": [["cc12m", "cc12m"]],
    "protocol": "paper",
    "data": "built",
    "source": "data/vg",
    "captioner": "gpt",
}


@pytest.fixture
def exported(tmp_path):
    """An exported folder, and the sets in it by family."""
    paths, splits, _, sets = write_inputs(tmp_path)
    write_datasets_folder(paths, splits, str(tmp_path / "datasets"), json.dumps(CONFIG))
    return tmp_path / "datasets", sets


def head_of(folder):
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert text.startswith("---\n")
    return yaml.safe_load(text[4:].partition("\n---\n")[0])


def test_the_card_names_the_files_of_every_foil_type_and_they_hold_equal_sets(exported):
    folder, sets = exported
    configs = {config["config_name"]: config["data_files"] for config in head_of(folder)["configs"]}
    assert list(configs) == [f"{family}_{name}" for family, names in FOIL_TYPES.items() for name in names]
    for family, rows in sets.items():
        found = []
        for name in FOIL_TYPES[family]:
            (files,) = configs[f"{family}_{name}"]
            assert files["split"] == "test"
            tables = [pq.read_table(path) for path in sorted(folder.glob(files["path"]))]
            found += pa.concat_tables(tables).to_pylist()
        splits = [row.pop("split_cc12m", None) for row in found]
        assert sorted(found, key=str) == sorted(rows, key=str)
        of_region = {101: "SC", 102: "UC", 103: "UA", 104: "undecided", 105: "SC", None: None}
        assert splits == [of_region[row["region_id"]] for row in found]


def test_files_have_one_schema_and_nothing_beside_them_is_data(exported):
    folder, _ = exported
    for path in folder.rglob("*.parquet"):
        corpora = ["cc12m"] if path.parent.name.startswith("systematicity") else []
        assert pq.read_schema(path).equals(export_schema(corpora))
    assert {path.suffix for path in folder.rglob("*") if path.is_file()} == {".md", ".parquet"}


def test_the_card_states_counts_licences_and_limits(exported):
    folder, _ = exported
    text = (folder / "README.md").read_text(encoding="utf-8")
    for words in (
        "| productivity_overall | 5 | 5 | 15 |",
        "| systematicity_comp | cc12m, SC | 2 |",
        "| productivity_atom | 4 atoms | 2 |",
        "CC BY 4.0",
        "worded by gpt",
        "each keeps its owner's terms",
        "a foil may be true of the image",
    ):
        assert words in text
    head = head_of(folder)
    assert (head["license"], head["size_categories"]) == ("cc-by-4.0", ["n<1K"])


def test_the_same_sets_give_the_same_bytes(exported, tmp_path):
    folder, _ = exported
    paths, splits, _, _ = write_inputs(tmp_path)
    write_datasets_folder(
        {name: found[::-1] for name, found in paths.items()}, splits, str(tmp_path / "b"), json.dumps(CONFIG)
    )
    for path in folder.rglob("*.*"):
        assert path.read_bytes() == (tmp_path / "b" / path.relative_to(folder)).read_bytes()


@pytest.mark.parametrize(
    ("change", "licence", "words"),
    [
        ({"source": "icons"}, "apache-2.0", "embedded icons world"),
        ({"data": "crepe_release"}, "unknown", "who state no licence"),
        ({}, "cc-by-4.0", "Krishna"),
    ],
)
def test_the_licence_is_that_of_where_the_texts_come_from(change, licence, words):
    config = CONFIG | change
    assert licence_of(config) == licence
    assert words in card([Part("a", "data/a/*.parquet", 1, 1, 5, {})], config)
