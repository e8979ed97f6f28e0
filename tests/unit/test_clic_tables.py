import csv
import json
import shutil

import numpy as np
import pytest

from crepebench.benchmark_results import result_rows
from crepebench.benchmark_tables import tabulate_benchmarks
from crepebench.clic_cells import benchmark_gains, gap_gain, productivity_rows, set_gains
from crepebench.clic_tables import COLUMNS, by_base, tabulate_clic
from crepebench.measures import write_csv
from crepebench.negation_cells import Bootstrap
from crepebench.schema import BENCHMARK_BLIND, BENCHMARK_ITEMS, BENCHMARK_SCORES, write_table

from . import test_productivity_tables, test_systematicity_tables
from .benchmark_rows import make_item, rows_of
from .query_rows import query

RIGHT, WRONG = [4.0, 1.0, 2.0, 3.0], [1.0, 4.0, 2.0, 3.0]
DRAW = Bootstrap(50, 1, ("m", "b"))
PUBLISHED = [("paper", "bench", "all", "accuracy", 61.0), ("other", "bench", "all", "accuracy", 99.0)]


def model(name, base, variant, seed, published_name=""):
    named = {"model": name, "base": base, "variant": variant, "seed": seed, "published_name": published_name}
    return {**named, "training_data": ["a"]}


MODELS = [model("mini", "mini", "base", ""), model("other", "mini", "clic", 0, "paper")]
MODELS += [model("third", "mini", "clic", 1, "paper"), model("fourth", "mini", "single", 0)]


def results(rows, answers):
    return [one for row, found in zip(rows, answers, strict=True) for one in result_rows(row, np.array(found), False)]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Tables of CREPE's families and of a benchmark by their own modules, and clic.csv: its path and rows by cell."""
    folder = tmp_path_factory.mktemp("clic")
    for name in ("systematicity", "productivity"):
        (folder / name).mkdir()
    systematicity = test_systematicity_tables.Run(folder / "systematicity")
    systematicity.write()
    systematicity.models = [(name, {**definition, "training_data": ["a"]}) for name, definition in systematicity.models]
    productivity = test_productivity_tables.Run(folder / "productivity")
    for path in (systematicity.path("{}.parquet"), productivity.path("{}")):
        for name in ("third", "fourth"):  # these are the base itself
            shutil.copyfile(path.format("mini"), path.format(name))
    items = rows_of([make_item("choose_caption", i, subset="one" if i < 3 else "two") for i in range(8)])
    path = {
        name: str(folder / name) for name in ("items", "blind", "table", "published", *(m["model"] for m in MODELS))
    }
    write_table(path["items"], BENCHMARK_ITEMS, items)
    write_table(path["blind"], BENCHMARK_BLIND, [])
    n_right = {"mini": 2, "other": 6, "third": 4, "fourth": 2}
    for name, n in n_right.items():
        write_table(path[name], BENCHMARK_SCORES, results(items, [RIGHT] * n + [WRONG] * (8 - n)))
    columns = ("model", "benchmark", "subset", "metric", "value", "source")
    rows = [dict(zip(columns, (*row, "here"), strict=True)) for row in PUBLISHED]
    write_csv(path["published"], columns, rows)
    evaluation = {"n_resamples": 100, "seed": 1, "matched": False, "cross_corpus": False}
    benchmarks = [("bench", "reader")]
    tabulate_clic(
        [path["items"]],
        [path[one["model"]] for one in MODELS],
        {
            "systematicity": [systematicity.path(f"sets-{i}.parquet") for i in range(2)],
            "productivity": [productivity.path(f"sets-{i}") for i in range(2)],
        },
        {
            "systematicity": [systematicity.path(f"{one['model']}.parquet") for one in MODELS],
            "productivity": [productivity.path(one["model"]) for one in MODELS],
        },
        [systematicity.path(f"split-{corpus}.parquet") for corpus in ("a", "b")],
        [],
        [path["published"]],
        path["table"],
        json.dumps({"evaluation": evaluation, "corpora": ["a", "b"], "benchmarks": benchmarks, "models": MODELS}),
    )
    with open(path["table"], newline="") as file:
        table = list(csv.DictReader(file))
    models = [(name, {"seen_images": []}) for name in n_right]
    others = json.dumps({"evaluation": evaluation, "models": models, "benchmarks": benchmarks})
    scores = [path[name] for name in n_right]
    own = path["items"] + ".csv"
    tabulate_benchmarks([path["items"]], scores, [path["blind"]], [], [], own, others)
    with open(own, newline="") as file:
        benchmark = list(csv.DictReader(file))
    return table, systematicity.tabulate(), productivity.tabulate(), benchmark


def cells_of(table):
    return {(row["model"], row["seed"], row["benchmark"], row["subset"], row["metric"]): row for row in table}


def same(row, other, *names):
    assert [row[name] for name in ("value", "low", "high")] == [other[name] for name in names]


def test_columns_stand_in_order_and_no_cell_stands_twice(run):
    table = run[0]
    assert list(table[0]) == list(COLUMNS)
    assert len(cells_of(table)) == len(table)


def test_values_of_systematicity_are_those_of_its_own_tables(run):
    table, (main, gap, _, kinds), _, _ = run
    cells = cells_of(table)
    seeds = {"mini": "", "other": "0"}

    def cell(row, *parts):
        head = row["model"], seeds[row["model"]], "crepe_systematicity"
        return (*head, "/".join(("a", row["foil_type"], *(row[part] for part in parts))))

    of_a = [[row for row in rows if row["training_corpus"] == "a"] for rows in (main, gap, kinds)]
    assert [len(rows) for rows in of_a] == [18, 6, 36]
    for row in of_a[0]:
        names = [f"recall_at_1{end}" for end in ("", "_low", "_high")]
        same(cells[*cell(row, "split"), "recall_at_1"], row, *names)
    for row in of_a[1]:
        same(cells[*cell(row), "gap"], row, "gap", "gap_low", "gap_high")
    for row in of_a[2]:
        names = [f"pairwise_accuracy{end}" for end in ("", "_low", "_high")]
        same(cells[*cell(row, "split", "foil_kind"), "pairwise_accuracy"], row, *names)
    assert not any(row["subset"].startswith("b/") for row in table)  # a corpus that no model was trained on


def test_values_of_productivity_pool_the_sources_of_captions(run):
    table, _, (main, kinds), _ = run
    cells, n_found = cells_of(table), 0
    for row in main:
        subset = row["foil_type"] if row["complexity"] == "all" else f"{row['foil_type']}/n={row['complexity']}"
        is_pooled = row["caption_source"] == "all" or row["complexity"] in ("4", "6")
        if row["model"] == "other" and is_pooled:
            found = cells["other", "0", "crepe_productivity", subset, "recall_at_1"]
            same(found, row, "recall_at_1", "recall_at_1_low", "recall_at_1_high")
            n_found += 1
    assert n_found == 3 * 4
    row = next(row for row in kinds if row["model"] == "other")
    found = cells["other", "0", "crepe_productivity", f"{row['foil_type']}/{row['foil_kind']}", "pairwise_accuracy"]
    same(found, row, "pairwise_accuracy", "pairwise_accuracy_low", "pairwise_accuracy_high")


def test_values_of_benchmarks_are_those_of_their_table_macro_averages_with_them(run):
    table, _, _, benchmark = run
    cells = cells_of(table)
    rows = [row for row in benchmark if row["model"] == "other" and "ties" not in row["metric"]]
    assert {row["metric"] for row in rows} == {"accuracy", "accuracy_macro"}
    for row in rows:
        same(cells["other", "0", "bench", row["subset"], row["metric"]], row, "value", "low", "high")
    assert not any("ties" in row["metric"] for row in table)


def test_gains_are_differences_to_the_base_and_a_base_has_none(run):
    cells = cells_of(run[0])
    n_found = 0
    for (name, seed, benchmark, subset, metric), row in cells.items():
        if name != "other" or seed != "0" or metric.endswith("_gain"):
            continue
        gain = cells[name, seed, benchmark, subset, f"{metric}_gain"]
        before = cells["mini", "", benchmark, subset, metric]
        assert float(gain["value"]) == pytest.approx(float(row["value"]) - float(before["value"]), abs=0.011)
        n_found += 1
    assert n_found > 60
    assert cells["other", "0", "bench", "all", "accuracy_gain"]["value"] == "50.00"
    assert not any(key[0] == "mini" and key[-1].endswith("_gain") for key in cells)
    same_as_base = [row for key, row in cells.items() if key[:2] == ("fourth", "0") and key[-1].endswith("_gain")]
    assert same_as_base and all(row["value"] == row["low"] == row["high"] == "0.00" for row in same_as_base)


def test_seeds_of_a_variant_have_mean_and_sample_deviation(run):
    table = run[0]
    accuracies = {
        (row["variant"], row["seed"]): row
        for row in table
        if (row["benchmark"], row["subset"], row["metric"]) == ("bench", "all", "accuracy")
    }
    values = {key: row["value"] for key, row in accuracies.items()}
    deviation = f"{np.std([75.0, 50.0], ddof=1):.2f}"
    assert values == {
        **{("base", ""): "25.00", ("clic", "0"): "75.00", ("clic", "1"): "50.00", ("clic", "mean"): "62.50"},
        **{("clic", "std"): deviation, ("single", "0"): "25.00", ("single", "mean"): "25.00"},
    }
    assert {row["low"] for key, row in accuracies.items() if key[1] in ("mean", "std")} == {""}
    assert accuracies["clic", "mean"]["model"] == "other"
    figures = {key: row["published"] for key, row in accuracies.items()}
    assert {key for key, figure in figures.items() if figure} == {("clic", "0"), ("clic", "1"), ("clic", "mean")}
    assert figures["clic", "mean"] == "61.00"


def test_a_gain_by_kind_of_foil_counts_each_foil(run):
    own = query(1, 1.0, 2) | {"foils": [{"kind": "swap"}, {"kind": "relation"}], "wins": [1.0, 1.0]}
    pairs = [(own, own | {"rank": 2.0, "wins": [0.0, 1.0]}), (own, own | {"rank": 1.5, "wins": [0.5, 1.0]})]
    found = {(row["subset"], row["metric"]): row["value"] for row in set_gains(pairs, "x", DRAW)}
    assert found == {
        **{("x", "recall_at_1_gain"): 100.0, ("x", "pairwise_accuracy_gain"): 37.5},
        **{("x/swap", "pairwise_accuracy_gain"): 75.0, ("x/relation", "pairwise_accuracy_gain"): 0.0},
    }


def test_a_gain_of_the_gap_is_that_of_unseen_less_that_of_seen():
    seen = [(query(i, 1.0), query(i, 1.0 + i % 2)) for i in range(10)]
    unseen = [(query(i, 1.0), query(i, 2.0)) for i in range(10)]
    row = gap_gain(seen, unseen, "x", DRAW)
    assert (row["metric"], row["value"]) == ("gap_gain", 50.0)
    assert row["low"] < 50.0 < row["high"]
    row = gap_gain(seen, seen, "x", DRAW)
    assert (row["value"], row["low"], row["high"]) == (0.0, 0.0, 0.0)


def test_items_that_one_model_did_not_score_are_in_no_gain():
    items = rows_of([make_item("choose_caption", i) for i in range(4)])
    own, before = results(items, [RIGHT] * 4), results(items[:3], [WRONG, RIGHT, RIGHT])
    (row,) = [row for row in benchmark_gains(items, own, before, {}, DRAW) if row["subset"] == "all"]
    assert round(row["value"], 2) == 33.33


def test_protocols_are_named_where_there_are_several():
    rows = [
        {**query(i, 1.0), "set_id": f"{i}", "complexity": 4, "caption_source": "template", "protocol": protocol}
        for i, protocol in enumerate(["paper", "refined"])
    ]
    config = {"n_resamples": 10, "seed": 1}
    assert {row["subset"] for row in productivity_rows("m", rows[:1], None, config)} >= {"atom", "atom/n=4"}
    found = {row["subset"] for row in productivity_rows("m", rows, None, config)}
    assert found >= {"paper/atom", "refined/atom", "paper/atom/n=4"} and "atom" not in found


def test_a_base_that_is_not_tabulated_is_named():
    with pytest.raises(ValueError, match="'other' has the base 'mini', which is not tabulated"):
        by_base(MODELS[1:])
