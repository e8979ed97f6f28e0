import ast
import csv
import json

import pytest

from crepebench.accounting import write_accounting
from crepebench.dataset_statistics import COLUMNS, Cell, count_sets, n_words, tabulate_dataset_statistics
from crepebench.schema import RETRIEVAL_SETS, SPLITS, write_table
from crepebench.set_ids import set_id

from .published_files import published_paths, read_csv

N_FOILS = {"atom": 4, "comp": 6, "combined": 10, "swap": 5, "negate": 5}


def set_row(family, source_id, foil_type, caption="a b c", image_id=1, complexity=4, **changes):
    n_foils = 15 if foil_type == "overall" else 5 if family == "productivity" else N_FOILS[foil_type]
    foil = {"foil_id": "f", "kind": "object", "original": "c", "replacement": "d", "source": "wordnet"}
    row = {
        "set_id": f"{family}-{source_id}",
        "region_id": source_id if family == "systematicity" else None,
        "subgraph_id": source_id if family == "productivity" else None,
        "protocol": "paper",
        **{"foil_type": foil_type, "image_id": image_id, "complexity": complexity, "caption": caption},
        **dict.fromkeys(("x", "y", "width", "height"), 10),
        "caption_source": "template" if family == "productivity" else "visual_genome",
        "foils": [{**foil, "text": f"a b {i} d"} for i in range(n_foils)],
    }
    return {**row, **changes}


class Run:
    """A run of five regions and three subgraphs; a region has no comp set, so no combined one either."""

    def __init__(self, folder, repository):
        self.folder, self.repository = folder, repository
        regions = {1: "SC", 2: "SC", 3: "UC", 4: "UA", 5: "SC"}
        splits = [{"region_id": i, "split": split, "decided_by": "", "corpus_id": ""} for i, split in regions.items()]
        write_table(self.path("splits"), SPLITS, splits)
        systematicity = [set_row("systematicity", i, "atom", image_id=i // 2) for i in (1, 2, 3, 4)]
        systematicity += [set_row("systematicity", i, name) for i in (1, 3, 4) for name in ("comp", "combined")]
        write_table(self.path("systematicity"), RETRIEVAL_SETS, systematicity)
        productivity = [set_row("productivity", i, name, complexity=4) for i in (1, 2) for name in ("atom", "negate")]
        productivity += [set_row("productivity", 3, name, complexity=12) for name in ("atom", "swap", "overall")]
        write_table(self.path("productivity"), RETRIEVAL_SETS, productivity)
        read = {f"region_{name}": {"read": 5, "max_queries": 1, "kept": 4} for name in ("atom", "comp")}
        write_accounting(self.path("sets"), "retrieval_sets/systematicity", read)
        for part, n in (("captions-0", 4), ("captions-1", 12)):
            write_accounting(self.path(part), "captions", {f"subgraph_n{n}": {"read": 9, "refused": 2, "kept": 7}})

    def path(self, name):
        return str(self.folder / name)

    def tabulate(self):
        tabulate_dataset_statistics(
            [self.path("systematicity")],
            [self.path("productivity")],
            [self.path("splits")],
            [self.path(name) for name in ("captions-0", "captions-1", "sets")],
            **published_paths(self.repository, "counts", "released"),
            table_path=self.path("table.csv"),
            cfg=json.dumps({"use": ["cc12m"]}),
        )
        return read_csv(self.path("table.csv"))


@pytest.fixture(scope="module")
def rows(tmp_path_factory, repository):
    return Run(tmp_path_factory.mktemp("statistics"), repository).tabulate()


def cell(rows, corpus, split, foil_type, complexity="", counts_of="this run"):
    key = (corpus, split, foil_type, complexity, counts_of)
    names = ("corpus", "split", "foil_type", "complexity", "counts_of")
    found = [row for row in rows if tuple(row[name] for name in names) == key]
    assert len(found) == 1, key
    return found[0]


def counts(row):
    return tuple(int(row[name] or -1) for name in ("n_pool", "n_pairs", "n_sets", "n_foils", "n_texts", "n_images"))


@pytest.mark.parametrize(
    ("split", "foil_type", "expected"),
    [
        ("SC", "atom", (3, 2, 2, 8, 10, 2)),
        ("SC", "comp", (3, 1, 1, 6, 7, 1)),
        ("SC", "combined", (3, 1, 1, 10, 11, 1)),
        ("SC", "all", (3, 2, 3, 14, 16, 2)),
        ("UC", "all", (1, 1, 2, 10, 11, 1)),
        ("SC+UC", "all", (4, 3, 5, 24, 27, 2)),
        ("UA", "atom", (1, 1, 1, 4, 5, 1)),
    ],
)
def test_cells_of_a_corpus_are_counted(rows, split, foil_type, expected):
    assert counts(cell(rows, "cc12m", split, foil_type)) == expected


def test_all_regions_are_counted_whatever_their_split(rows):
    assert counts(cell(rows, "all", "all", "atom")) == (5, 4, 4, 16, 20, 3)
    assert counts(cell(rows, "cc12m", "all", "atom")) == (5, 4, 4, 16, 20, 3)


def test_productivity_is_counted_by_number_of_atoms(rows):
    assert counts(cell(rows, "", "", "negate", "4")) == (7, 2, 2, 10, 12, 1)
    assert counts(cell(rows, "", "", "overall", "12")) == (7, 1, 1, 15, 16, 1)
    assert counts(cell(rows, "", "", "all", "all")) == (14, 3, 6, 30, 33, 1)
    assert cell(rows, "", "", "all", "all")["caption_sources"] == "template"


def test_words_are_means_over_sets_and_foils(rows):
    row = cell(rows, "cc12m", "SC", "atom")
    assert (row["truth_words"], row["foil_words"]) == ("3.00", "4.00")


def test_counts_of_the_paper_stand_below_those_of_the_run(rows):
    at = [row for row in rows if (row["corpus"], row["split"], row["foil_type"]) == ("cc12m", "SC+UC", "all")]
    assert [row["counts_of"] for row in at] == ["this run", "arXiv v1", "CVPR 2023", "arXiv v3"]
    assert [at[-1][name] for name in ("n_pairs", "n_foils", "n_texts")] == ["29593", "295930", "325523"]
    assert "counts the truths" in at[-1]["note"]
    assert at[-1]["source"] == "arXiv:2212.07796v3, tab. 1 and app. A.5"


def test_productivity_of_paper_and_release_stand_side_by_side(rows):
    paper = cell(rows, "", "", "all", "all", "arXiv v3")
    release = cell(rows, "", "", "all", "all", "released files")
    assert (paper["n_pairs"], paper["n_foils"]) == ("17553", "183855")
    assert [release[name] for name in ("n_pairs", "n_sets", "n_foils", "n_images")] == [
        *("17274", "39715", "198575", "7379"),
    ]
    assert cell(rows, "", "", "swap", "4", "released files")["n_sets"] == "27"


def test_notes_of_one_row_are_not_repeated(rows):
    assert cell(rows, "", "", "all", "all", "CVPR 2023")["note"] == "rounded; 183855 in v3"


def test_table_has_its_columns_and_every_cell_once(rows):
    assert tuple(rows[0]) == COLUMNS
    keys = [tuple(row[name] for name in COLUMNS[:7]) for row in rows]
    assert len(set(keys)) == len(keys)


def test_two_types_of_one_pair_share_its_truth():
    found = Cell()
    for name in ("atom", "comp"):
        found.add(set_row("systematicity", 7, name), 3, 40)
    assert {name: found.counts()[name] for name in ("n_pairs", "n_sets", "n_foils", "n_texts")} == {
        **{"n_pairs": 1, "n_sets": 2, "n_foils": 10, "n_texts": 11},
    }


def test_words_are_parted_by_any_white_space():
    assert n_words(" a  man\ton a bench. ") == 5


@pytest.mark.parametrize("complexity", [4, 5])
def test_released_files_give_the_counts_of_the_committed_table(shared_data, repository, tmp_path, complexity):
    rows = []
    for name in ("atom", "swap", "negate"):
        path = shared_data / "crepe_productivity" / name / f"prod_vg_hard_negs_{name}_complexity_{complexity}.csv"
        with open(path, newline="", encoding="utf-8") as file:
            for record in csv.DictReader(file):
                box = tuple(int(float(record[side])) for side in ("x", "y", "width", "height"))
                image_id, caption = int(record["image_id"]), record["caption"]
                row = set_row("productivity", 1, name, caption, image_id, complexity)
                foils = [{**row["foils"][0], "text": text} for text in ast.literal_eval(record["hard_negs"])]
                rows.append({**row, "set_id": set_id("productivity", image_id, box, caption), "foils": foils})
    write_table(str(tmp_path / "sets.parquet"), RETRIEVAL_SETS, rows)
    found = count_sets("productivity", [str(tmp_path / "sets.parquet")], {})
    stated = read_csv(repository / "resources" / "published" / "released.csv")
    for row in stated:
        if row["complexity"] == str(complexity):
            ours = found["paper", ("productivity", "", "", row["foil_type"], row["complexity"])].counts()
            for name in ("n_pairs", "n_sets", "n_foils", "n_images"):
                assert ours[name] == int(row[name]), (row["foil_type"], name)
            for name in ("truth_words", "foil_words"):
                assert ours[name] == pytest.approx(float(row[name]), abs=0.006)
