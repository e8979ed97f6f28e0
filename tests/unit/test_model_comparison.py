import csv
import json
from math import comb

import numpy as np
import pytest

from crepebench.measures import CHUNK
from crepebench.model_comparison import (
    ALL,
    COLUMNS,
    changed_sets,
    compare,
    mcnemar,
    productivity_cells,
    read_sets,
    systematicity_cells,
    tabulate_model_comparison,
)
from crepebench.schema import MODEL_COMPARISON, RETRIEVAL_SETS, SCORES, SPLITS, read_table, write_table

KINDS = ["object", "object", "attribute", "relation"]


def score(wins):
    """Returns rank, margin and wins that go together."""
    return {"rank": 1 + sum(1 - win for win in wins), "margin": 0.1 * (min(wins) - 0.5), "wins": wins}


def compared(number, one, other, image_id=None, kinds=None, **names):
    return {
        **{"set_id": f"set {number}", "protocol": "refined", "foil_type": "atom"},
        **{"image_id": number if image_id is None else image_id, "region_id": number, "complexity": 2},
        "kinds": (kinds or KINDS)[: len(one or other)],
        "one": one and score(one),
        "other": other and score(other),
        **names,
    }


def random_sets(n, n_images, seed):
    rng = np.random.default_rng(seed)

    def wins():
        return [float(win) for win in rng.choice([0, 0.5, 1, 1, 1, 1], size=4)]

    kinds = (["object"] * 4, ["object", "object", "attribute", "relation"], ["attribute"] * 3 + ["relation"])
    sets = []
    for i in range(n):
        one, other = wins(), wins()
        lacking = rng.integers(12)
        one, other = (None if lacking == 0 else one), (None if lacking == 1 else other)
        sets.append(compared(i, one, other, int(rng.integers(n_images)), kinds[rng.integers(len(kinds))]))
    return sets


def naive_interval(image_ids, values, n_resamples, seed):
    """Draws images one resample at a time and averages the values of all of their records."""
    images, means = sorted(set(image_ids)), []
    rng = np.random.default_rng(seed)
    for start in range(0, n_resamples, CHUNK):
        for draw in rng.integers(0, len(images), size=(min(CHUNK, n_resamples - start), len(images))):
            chosen = [v for place in draw for i, v in zip(image_ids, values, strict=True) if i == images[place]]
            means.append(100 * sum(chosen) / len(chosen))
    return np.percentile(means, [2.5, 97.5])


@pytest.mark.parametrize("kind", [ALL, "object", "attribute"])
@pytest.mark.parametrize(("n", "n_images"), [(60, 17), (11, 11), (40, 3)])
def test_comparison_equals_a_naive_one(kind, n, n_images):
    sets = [row for row in random_sets(n, n_images, seed=n) if kind == ALL or kind in row["kinds"]]
    found = compare(sets, kind, 120, [7])
    both = [row for row in sets if row["one"] is not None and row["other"] is not None]
    rights, pairs = [], []
    for row in both:
        wins = [
            [w for w, k in zip(row[side]["wins"], row["kinds"], strict=True) if kind in (ALL, k)]
            for side in ("one", "other")
        ]
        rights.append((row["image_id"], wins[0].count(1.0) == len(wins[0]), wins[1].count(1.0) == len(wins[1])))
        pairs += [(row["image_id"], before, after) for before, after in zip(*wins, strict=True)]
    assert (found["n_sets"], found["n_images"]) == (len(both), len({row["image_id"] for row in both}))
    assert found["only_one"] == sum(row["other"] is None for row in sets)
    assert found["only_other"] == sum(row["one"] is None for row in sets)
    assert found["gained"] == sum(after and not before for _, before, after in rights)
    assert found["lost"] == sum(before and not after for _, before, after in rights)
    assert found["net"] == found["gained"] - found["lost"]
    assert found["one_recall_at_1"] == pytest.approx(100 * np.mean([before for _, before, _ in rights]))
    assert found["other_recall_at_1"] == pytest.approx(100 * np.mean([after for _, _, after in rights]))
    assert found["difference"] == pytest.approx(found["other_recall_at_1"] - found["one_recall_at_1"])
    assert found["difference"] == pytest.approx(100 * found["net"] / found["n_sets"])
    assert found["one_pairwise"] == pytest.approx(100 * np.mean([before for _, before, _ in pairs]))
    assert found["pairwise_difference"] == pytest.approx(100 * np.mean([after - before for _, before, after in pairs]))
    for name, values in (
        ("difference", [(i, after - before) for i, before, after in rights]),
        ("pairwise_difference", [(i, after - before) for i, before, after in pairs]),
    ):
        low, high = naive_interval(*map(list, zip(*values, strict=True)), 120, [7])
        assert (found[f"{name}_low"], found[f"{name}_high"]) == (pytest.approx(low), pytest.approx(high))


def test_recall_of_a_cell_is_that_of_ranks():
    sets = random_sets(80, 20, seed=3)
    both = [row for row in sets if row["one"] and row["other"]]
    found = compare(sets, ALL, 100, [1])
    for side in ("one", "other"):
        ranks = [row[side]["rank"] for row in both]
        assert found[f"{side}_recall_at_1"] == pytest.approx(100 * np.mean([rank <= 1 for rank in ranks]))


def test_identical_models_gain_and_lose_nothing():
    sets = [{**row, "other": row["one"]} for row in random_sets(50, 9, seed=2) if row["one"]]
    for kind in (ALL, "object"):
        found = compare([row for row in sets if kind == ALL or kind in row["kinds"]], kind, 200, [1])
        assert (found["gained"], found["lost"], found["net"], found["mcnemar_p"]) == (0, 0, 0, "1.0000")
        for name in ("difference", "pairwise_difference"):
            assert (found[name], found[f"{name}_low"], found[f"{name}_high"]) == (0.0, 0.0, 0.0)
    assert list(changed_sets(sets, "systematicity")) == []


def test_difference_is_positive_where_the_other_is_better():
    sets = [compared(i, [0.0, 1.0], [1.0, 1.0]) for i in range(9)] + [compared(9, [1.0, 1.0], [0.5, 1.0])]
    found = compare(sets, ALL, 200, [1])
    assert (found["gained"], found["lost"], found["net"], found["difference"]) == (9, 1, 8, 80.0)
    assert 0 < found["difference_low"] < 80 < found["difference_high"]
    assert found["pairwise_difference"] == pytest.approx(100 * (9 - 0.5) / 20)


def test_models_in_each_others_place_turn_the_signs_round():
    sets = random_sets(70, 20, seed=5)
    turned = [{**row, "one": row["other"], "other": row["one"]} for row in sets]
    found, back = compare(sets, ALL, 150, [1]), compare(turned, ALL, 150, [1])
    assert (found["gained"], found["lost"], found["only_one"]) == (back["lost"], back["gained"], back["only_other"])
    for name in ("difference", "pairwise_difference"):
        assert found[name] == pytest.approx(-back[name])
        assert found[f"{name}_low"] == pytest.approx(-back[f"{name}_high"])


def test_sets_of_an_image_stand_or_fall_together():
    sets = [compared(i, [0.0], [1.0], image_id=i % 2) for i in range(0, 40, 2)]
    sets += [compared(i, [1.0], [1.0], image_id=i % 2) for i in range(1, 40, 2)]
    found = compare(sets, ALL, 300, [1])
    assert (found["difference_low"], found["difference_high"]) == (0.0, 100.0)


def test_tie_is_not_right_and_counts_half_a_pair():
    found = compare([compared(1, [0.5, 1.0], [1.0, 1.0])], ALL, 100, [1])
    assert (found["gained"], found["one_recall_at_1"], found["one_pairwise"]) == (1, 0.0, 75.0)


def test_sets_that_only_one_model_scored_are_counted_and_not_compared():
    sets = [compared(1, None, [1.0]), compared(2, [0.0], None), compared(3, [0.0], None)]
    found = compare(sets, ALL, 100, [1])
    assert (found["n_sets"], found["only_one"], found["only_other"], found["difference"]) == (0, 2, 1, "")
    assert compare([*sets, compared(4, [0.0], [1.0])], ALL, 100, [1])["difference"] == 100.0
    assert list(changed_sets(sets, "systematicity")) == []


@pytest.mark.parametrize(("gained", "lost"), [(0, 0), (1, 0), (5, 5), (3, 9), (9, 3), (0, 8), (40, 61)])
def test_mcnemar_sums_the_tails_of_a_fair_coin(gained, lost):
    n = gained + lost
    tail = sum(comb(n, k) for k in range(min(gained, lost) + 1)) / 2**n
    assert mcnemar(gained, lost) == pytest.approx(min(1.0, 2 * tail))


def test_cells_are_all_and_each_split_or_number_of_atoms():
    sets = [compared(i, [1.0], [1.0], complexity=4 + i % 2) for i in range(6)]
    splits = [("a", "a:1", {i: ["SC", "UC", "undecided"][i // 2] for i in range(6)})]
    cells = [
        (n["training_corpus"], n["split"], n["corpus_id"], len(rows)) for n, rows in systematicity_cells(sets, splits)
    ]
    assert cells == [("all", "all", "", 6), ("a", "SC", "a:1", 2), ("a", "UC", "a:1", 2), ("a", "UA", "a:1", 0)]
    assert [(n["complexity"], len(rows)) for n, rows in productivity_cells(sets)] == [("all", 6), ("4", 3), ("5", 3)]


class Run:
    """Writes the inputs of the stage: six sets of each family; the one model lacks set 5."""

    def __init__(self, folder):
        self.folder = folder
        self.sets = {
            family: [self.set_row(family, i) for i in range(6)] for family in ("systematicity", "productivity")
        }
        for family, rows in self.sets.items():
            write_table(self.path(f"{family}.parquet"), RETRIEVAL_SETS, rows)
            self.write_scores("one", family, [[1.0, 1.0]] * 3 + [[0.0, 1.0]] * 2 + [None])
            self.write_scores("other", family, [[1.0, 0.0]] + [[1.0, 1.0]] * 5)
        splits = [
            {"region_id": i, "split": "SC" if i < 3 else "UC", "decided_by": "", "corpus_id": "a:1"} for i in range(6)
        ]
        write_table(self.path("a.parquet"), SPLITS, splits)

    def path(self, name):
        return str(self.folder / name)

    def set_row(self, family, number):
        foil = dict.fromkeys(("foil_id", "text", "original", "replacement", "source"), "")
        return {
            **{"set_id": f"{family} {number}", "protocol": "refined", "foil_type": "atom", "image_id": number},
            "region_id": number if family == "systematicity" else None,
            "subgraph_id": number if family == "productivity" else None,
            **dict.fromkeys(("x", "y", "width", "height"), 1),
            **{"complexity": 4 + number % 2, "caption": "a", "caption_source": "template"},
            "foils": [{**foil, "kind": "object"}, {**foil, "kind": "attribute"}],
        }

    def write_scores(self, model, family, found):
        rows = []
        for number, wins in enumerate(found):
            values = score(wins) if wins else dict.fromkeys(("rank", "margin", "wins"))
            reason = "" if wins else "image_missing"
            rows.append({"set_id": f"{family} {number}", "foil_type": "atom", **values, "reason": reason})
        write_table(self.path(f"{model}-{family}.parquet"), SCORES, rows[::-1])

    def tabulate(self, one="one", other="other"):
        tabulate_model_comparison(
            {family: [self.path(f"{family}.parquet")] for family in self.sets},
            *({family: self.path(f"{model}-{family}.parquet") for family in self.sets} for model in (one, other)),
            [self.path("a.parquet")],
            self.path("table.csv"),
            self.path("changes.parquet"),
            one,
            other,
            json.dumps({"evaluation": {"n_resamples": 100, "seed": 1}, "corpora": ["a"]}),
        )
        with open(self.path("table.csv"), newline="") as file:
            return list(csv.DictReader(file)), read_table(self.path("changes.parquet"), MODEL_COMPARISON).to_pylist()


@pytest.fixture
def run(tmp_path):
    return Run(tmp_path)


def test_table_has_a_row_for_each_cell_and_kind(run):
    rows, _ = run.tabulate()
    assert list(rows[0]) == list(COLUMNS)
    cells = [(row["family"], row["training_corpus"], row["split"], row["complexity"]) for row in rows[::3]]
    assert cells == [
        *(("systematicity", "all", "all", ""), ("systematicity", "a", "SC", ""), ("systematicity", "a", "UC", "")),
        *(("productivity", "", "", n) for n in ("all", "4", "5")),
    ]
    assert [row["foil_kind"] for row in rows] == ["all", "attribute", "object"] * 6
    assert {(row["one"], row["other"]) for row in rows} == {("one", "other")}


def test_sets_are_gained_and_lost_by_foil_kind(run):
    rows, _ = run.tabulate()
    found = {row["foil_kind"]: [row[name] for name in ("n_sets", "only_other", "gained", "lost")] for row in rows[:3]}
    assert found == {"all": ["5", "1", "2", "1"], "attribute": ["5", "1", "0", "1"], "object": ["5", "1", "2", "0"]}


def test_changed_sets_are_listed_with_ranks_and_margins(run):
    _, changes = run.tabulate()
    assert [(row["set_id"], row["change"], row["one_rank"], row["other_rank"]) for row in changes[:3]] == [
        ("systematicity 0", "lost", 1.0, 2.0),
        ("systematicity 3", "gained", 2.0, 1.0),
        ("systematicity 4", "gained", 2.0, 1.0),
    ]
    assert [row["family"] for row in changes] == ["systematicity"] * 3 + ["productivity"] * 3
    assert (changes[0]["one_margin"], changes[0]["other_margin"]) == (pytest.approx(0.05), pytest.approx(-0.05))


def test_model_against_itself_changes_nothing(run):
    rows, changes = run.tabulate("other", "other")
    assert changes == []
    numbers = ("gained", "lost", "net", "difference", "difference_low", "difference_high", "mcnemar_p")
    assert {tuple(row[name] for name in numbers) for row in rows} == {("0", "0", "0", "0.00", "0.00", "0.00", "1.0000")}


def test_scores_of_other_sets_are_refused(run):
    run.write_scores("one", "productivity", [[1.0, 1.0]])
    with pytest.raises(ValueError, match=r"one-productivity\.parquet does not speak of set productivity 1 \(atom\)"):
        run.tabulate()


def test_set_that_neither_scored_is_left_out(run):
    run.write_scores("other", "productivity", [[1.0, 0.0]] * 5 + [None])
    paths = [run.path(f"{name}.parquet") for name in ("productivity", "one-productivity", "other-productivity")]
    assert len(read_sets([paths[0]], *paths[1:])) == 5
