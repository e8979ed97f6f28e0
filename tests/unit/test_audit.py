import csv
import json

import numpy as np
import pytest

from crepebench.audit import (
    COLUMNS,
    STRONGEST,
    audit_retrieval_sets,
    audit_sets,
    candidate_sets,
    judge,
    make_parts,
    productivity_cells,
    read_sets,
    systematicity_cells,
    tabulate_blind_baselines,
)
from crepebench.blind_scorers import CountScorer, Scorer
from crepebench.candidate_texts import CandidateSet, CandidateSets
from crepebench.measures import write_csv
from crepebench.schema import RETRIEVAL_SETS, SPLITS, write_table

SCORERS = [
    *(
        f"{which}_{count}"
        for count in ("words", "characters", "capitals", "punctuation")
        for which in ("fewest", "most")
    ),
    *("surface", "random_words", "words", "ngram", "combination", "strongest"),
]


class Audit:
    """Writes sets of two foil types and splits of two corpora; foils of `comp` have a word more than their truth."""

    def __init__(self, folder, n_regions=60):
        self.folder = folder
        rng = np.random.default_rng(1)
        self.rows = []
        for region_id in range(n_regions):
            for foil_type, n_foils, more in (("atom", 4, ""), ("comp", 6, " too")):
                texts = [f"a {rng.choice(['red', 'blue', 'green'])} {rng.choice(['jar', 'cup'])}" for _ in range(7)]
                foil = dict.fromkeys(("foil_id", "kind", "original", "replacement", "source"), "")
                row = {
                    "set_id": f"{region_id:03d}",
                    "protocol": "paper",
                    "foil_type": foil_type,
                    "image_id": region_id % 20,
                    "region_id": region_id,
                    "subgraph_id": None,
                    **dict.fromkeys(("x", "y", "width", "height", "complexity"), 1),
                    "caption": texts[0],
                    "caption_source": "visual_genome",
                    "foils": [{**foil, "text": text + more} for text in texts[1 : n_foils + 1]],
                }
                self.rows.append(row)
        for corpus, names in (("a", ("SC", "UC", "UA")), ("b", ("SC", "undecided", "SC"))):
            rows = [
                {"region_id": i, "split": names[i % 3], "decided_by": "", "corpus_id": corpus} for i in range(n_regions)
            ]
            write_table(self.path(f"{corpus}.parquet"), SPLITS, rows)

    def path(self, name):
        return str(self.folder / name)

    def tabulate(self, n_parts=1, out="table.csv", folds=3):
        paths = [self.path(f"sets-{n_parts}-{part}.parquet") for part in range(n_parts)]
        for part, path in enumerate(paths):
            write_table(path, RETRIEVAL_SETS, [row for row in self.rows if row["image_id"] % n_parts == part])
        cfg = {
            "audit": {"folds": folds, "seed": 1, "language_model": None},
            "evaluation": {"n_resamples": 100, "seed": 1},
            "corpora": ["a", "b"],
        }
        splits = [self.path("a.parquet"), self.path("b.parquet")]
        audit_retrieval_sets(paths, splits, self.path(out), "systematicity", json.dumps(cfg))
        with open(self.path(out), newline="") as file:
            return list(csv.DictReader(file))


def test_every_cell_has_every_scorer(tmp_path):
    rows = Audit(tmp_path).tabulate()
    assert tuple(rows[0]) == COLUMNS
    cells = [("all", "all"), ("a", "SC"), ("a", "UC"), ("a", "UA"), ("b", "SC")]
    expected = [(f, *cell, s) for f in ("atom", "comp") for cell in cells for s in SCORERS]
    assert [(row["foil_type"], row["corpus"], row["split"], row["scorer"]) for row in rows] == expected
    assert {(row["protocol"], row["family"], row["complexity"]) for row in rows} == {("paper", "systematicity", "")}
    assert {(row["foil_type"], row["random"]) for row in rows} == {("atom", "20.00"), ("comp", "14.29")}
    assert {(row["corpus"], row["split"], row["n"]) for row in rows} == {
        ("all", "all", "60"),
        *(("a", split, "20") for split in ("SC", "UC", "UA")),
        ("b", "SC", "40"),
    }


def test_the_strongest_scorer_finds_a_leak_and_none_where_there_is_none(tmp_path):
    rows = Audit(tmp_path, n_regions=300).tabulate()
    pooled = {(r["foil_type"], r["scorer"]): r for r in rows if r["corpus"] == "all"}
    assert pooled["comp", "strongest"]["pairwise_accuracy"] == pooled["comp", "strongest"]["recall_at_1"] == "100.00"
    assert pooled["comp", "fewest_words"]["pairwise_accuracy"] == "100.00"
    assert pooled["comp", "most_words"]["pairwise_accuracy"] == "0.00"
    assert float(pooled["atom", "strongest"]["low"]) < 53 and float(pooled["atom", "strongest"]["high"]) > 47
    assert pooled["atom", "fewest_words"]["recall_at_1"] == "0.00"  # all tie


def test_the_table_does_not_depend_on_parts(tmp_path):
    audit = Audit(tmp_path)
    assert audit.tabulate(1, "1.csv") == audit.tabulate(4, "4.csv")


def test_one_image_alone_teaches_nothing(tmp_path):
    audit = Audit(tmp_path, n_regions=6)
    for row in audit.rows:
        row["image_id"] = 5
    rows = audit.tabulate()
    assert {row["pairwise_accuracy"] for row in rows if row["scorer"] in ("words", "surface")} == {"50.00"}


def test_no_set_at_all_gives_an_empty_table(tmp_path):
    audit = Audit(tmp_path)
    audit.rows = []
    assert audit.tabulate() == []


class Fickle(Scorer):
    """Is right on the sets that it has learned from, and wrong on all others."""

    name = "fickle"
    learns = True

    def fit(self, sets):
        self._known = {found.truth for found in sets}

    def score(self, texts):
        return np.array([1.0 if text in self._known else -1.0 if text.startswith("truth") else 0.0 for text in texts])


def test_the_strongest_is_not_chosen_by_what_a_scorer_knows_of_its_own_sets():
    sets = CandidateSets.of([CandidateSet(i, f"truth {i}", (f"foil {i} x",)) for i in range(30)])
    scores = audit_sets(sets, [Fickle, lambda: CountScorer("fewest_words")], 3, 1)
    assert judge(scores["fickle"], sets).wins.mean() == 0.0
    assert judge(scores["fewest_words"], sets).wins.mean() == judge(scores[STRONGEST], sets).wins.mean() == 1.0


def test_ranks_and_wins_share_ties():
    sets = CandidateSets.of([CandidateSet(1, "a", ("b", "c")), CandidateSet(2, "d", ("e", "f"))])
    found = judge(np.array([1.0, 1.0, 0.0, 0.0, 2.0, 3.0]), sets)
    assert (found.ranks.tolist(), found.wins.tolist()) == ([1.5, 3.0], [0.75, 0.0])


def test_sets_of_different_sizes_are_refused():
    sets = CandidateSets.of([CandidateSet(1, "a", ("b",)), CandidateSet(2, "d", ("e", "f"))])
    with pytest.raises(ValueError, match=r"sets of different sizes in one foil_type: \[2, 3\]"):
        judge(np.zeros(5), sets)


def test_regions_in_no_split_are_in_the_pooled_cell_only():
    splits = {"a": {1: "SC", 2: "undecided", 3: "UC"}}
    cells = [(cell.corpus, cell.split, cell.rows.tolist()) for cell in systematicity_cells(np.array([3, 1, 2]), splits)]
    assert cells == [("all", "all", [0, 1, 2]), ("a", "SC", [1]), ("a", "UC", [0])]


def test_sets_are_read_with_their_texts(tmp_path):
    audit = Audit(tmp_path, n_regions=3)
    write_table(audit.path("sets.parquet"), RETRIEVAL_SETS, audit.rows[::-1])
    ((protocol, foil_type, found), _) = read_sets([audit.path("sets.parquet")], "systematicity")
    assert (protocol, foil_type, found["region_id"].to_list()) == ("paper", "atom", [0, 1, 2])
    row = audit.rows[0]
    expected = CandidateSet(row["image_id"], row["caption"], tuple(foil["text"] for foil in row["foils"]))
    assert candidate_sets(found)[0] == expected


def test_a_language_model_adds_its_two_scorers():
    names = [make().name for make in make_parts(1, object())]
    assert names == [*SCORERS[:-2], "language_model", "language_model_per_token"]


def test_productivity_is_pooled_and_cut_by_number_of_atoms():
    cells = [(cell.complexity, cell.rows.tolist()) for cell in productivity_cells(np.array([5, 4, 5]))]
    assert cells == [("", [0, 1, 2]), (4, [1]), (5, [0, 2])]


def test_productivity_needs_no_splits(tmp_path):
    audit = Audit(tmp_path)
    for row in audit.rows:
        row.update(region_id=None, subgraph_id=row["region_id"], complexity=4 + row["region_id"] % 2)
        row["foil_type"] = {"atom": "swap", "comp": "overall"}[row["foil_type"]]
    write_table(audit.path("sets.parquet"), RETRIEVAL_SETS, audit.rows)
    cfg = {"audit": {"folds": 3, "seed": 1, "language_model": None}, "evaluation": {"n_resamples": 100, "seed": 1}}
    audit_retrieval_sets([audit.path("sets.parquet")], [], audit.path("p.csv"), "productivity", json.dumps(cfg))
    with open(audit.path("p.csv"), newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["scorer"] == "strongest"]
    keys = [(row["family"], row["corpus"], row["split"], row["foil_type"], row["complexity"]) for row in rows]
    same = ("productivity", "all", "all")
    assert keys == [(*same, name, n) for name in ("swap", "overall") for n in ("", "4", "5")]


def test_audits_are_joined_as_they_are(tmp_path):
    paths = [str(tmp_path / f"{i}.csv") for i in range(2)]
    for i, path in enumerate(paths):
        write_csv(path, COLUMNS, [{**dict.fromkeys(COLUMNS, f"{i}"), "low": 1.0}])
    tabulate_blind_baselines(paths, str(tmp_path / "all.csv"))
    lines = [(tmp_path / name).read_text().splitlines() for name in ("0.csv", "1.csv", "all.csv")]
    assert lines[2] == [*lines[0], lines[1][1]]
