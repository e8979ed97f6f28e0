from dataclasses import replace

import numpy as np
import pytest

from crepebench.benchmark_blind import TOO_FEW_IMAGES, blind_rows
from crepebench.benchmark_cells import cells_of
from crepebench.benchmark_items import ImageRef, Item
from crepebench.benchmark_pools import score_pools
from crepebench.benchmark_results import result_rows, unscored_rows
from crepebench.benchmark_tables import benchmark_rows, manifest_of, read_published
from crepebench.blind_scorers import CountScorer, WordScorer

from .benchmark_rows import features_of, make_item, rows_of

OPTIONS = {"n_resamples": 200, "seed": 1, "seen_images": [], "manifest": {}}
RIGHT, WRONG = np.array([4.0, 1.0, 2.0, 3.0]), np.array([1.0, 4.0, 2.0, 3.0])


def table(items, hits, **options):
    """Rows by subset and metric; hits: True, False, or None for an item that is not scored."""
    rows = rows_of(items)
    scores = [
        one
        for row, hit in zip(rows, hits, strict=True)
        for one in (
            unscored_rows(row, "image_unreadable")
            if hit is None
            else result_rows(row, RIGHT if hit else WRONG, is_cut=False)
        )
    ]
    found = benchmark_rows("m", "b", rows, scores, options.pop("blind", []), {**OPTIONS, **options})
    return {(row["subset"], row["metric"]): row for row in found}


def choices(subsets, tags=None, images=None):
    tags, images = tags or [{}] * len(subsets), images or range(len(subsets))
    return [
        make_item("choose_caption", i, subset, tag, image)
        for i, (subset, tag, image) in enumerate(zip(subsets, tags, images, strict=True))
    ]


def test_micro_counts_items_alike_and_macro_subsets():
    found = table(choices(["a", "a", "a", "b"]), [True, True, False, False])
    assert found["all", "accuracy"]["value"] == 50.0
    assert found["all", "accuracy_macro"]["value"] == pytest.approx(100 / 3)
    assert (found["a", "accuracy"]["value"], found["b", "accuracy"]["value"]) == (pytest.approx(200 / 3), 0.0)


def test_tags_have_rows_and_a_macro_average_over_values_that_are_frequent_enough():
    tags = [{"relation": name} for name in ("on", "on", "under", "by")]
    hits = [True, False, True, False]
    found = table(choices(["s"] * 4, tags), hits)
    assert found["relation=on", "accuracy"]["value"] == 50.0
    assert found["all", "accuracy_macro_relation"]["value"] == 50.0
    macros = {"relation": {"least": 2, "rows": False}}
    found = table(choices(["s"] * 5, [*tags, {"relation": "under"}]), [*hits, True], manifest={"macro": macros})
    assert found["all", "accuracy_macro_relation"]["value"] == 75.0
    assert ("relation=on", "accuracy") not in found


def test_a_group_of_subsets_has_a_micro_and_a_macro_average():
    tags = [{"group": name} for name in ("add", "add", "add", "swap")]
    found = table(choices(["x", "x", "y", "z"], tags), [True, True, False, False])
    assert found["group=add", "accuracy"]["value"] == pytest.approx(200 / 3)
    assert found["group=add", "accuracy_macro"]["value"] == 50.0
    assert ("group=swap", "accuracy_macro") not in found


def test_the_bootstrap_draws_images_and_not_items():
    hits = [True] * 10 + [False] * 10
    one_each = table(choices(["s"] * 20), hits)["all", "accuracy"]
    of_two = table(choices(["s"] * 20, images=[0] * 10 + [1] * 10), hits)["all", "accuracy"]
    assert (of_two["low"], of_two["high"]) == (0.0, 100.0)
    assert 20.0 < one_each["low"] < 50.0 < one_each["high"] < 80.0


def test_items_of_texts_alone_are_resampled_by_the_image_that_their_tag_names():
    items = [make_item("text_only", i, tags={"image": str(i // 10)}) for i in range(20)]
    rows = rows_of(items)
    similarities = [np.array([float(i < 10), 0.0, 0.0]) for i in range(20)]
    scores = [
        one for row, found in zip(rows, similarities, strict=True) for one in result_rows(row, found, is_cut=False)
    ]
    found = next(benchmark_rows("m", "b", rows, scores, [], OPTIONS))
    assert (found["metric"], found["subset"], found["low"], found["high"]) == ("tot", "all", 0.0, 100.0)


def test_items_that_were_not_scored_are_counted_and_marked():
    found = table(choices(["s"] * 4), [True, False, None, None])["all", "accuracy"]
    assert (found["value"], found["n_items"], found["n_missing"]) == (50.0, 2, 2)
    assert "images_missing" in found["marks"]
    assert table(choices(["s"] * 2), [True, True])["all", "accuracy"]["marks"] == ""


def test_chance_is_that_of_the_items_of_a_row():
    found = table(choices(["s"] * 3), [False] * 3)["all", "accuracy"]
    assert (found["chance"], found["marks"]) == (25.0, "not_above_chance")


def test_pairs_have_three_metrics():
    rows = rows_of([make_item("pairs", i) for i in range(3)])
    scores = [one for row in rows for one in result_rows(row, np.array([4.0, 1.0, 2.0, 3.0]), False)]
    found = {row["metric"]: row for row in benchmark_rows("m", "b", rows, scores, [], OPTIONS)}
    strict = {name: found[name] for name in ("text", "image", "group")}
    assert [row["value"] for row in strict.values()] == [100.0] * 3
    assert [row["chance"] for row in strict.values()] == pytest.approx([25.0, 25.0, 100 / 6])
    assert {row["blind"] for row in found.values()} == {""}


def leaky(n_items, texts):
    rows = rows_of(choices(["s"] * n_items))
    return [{**row, "captions": texts(i)} for i, row in enumerate(rows)]


def test_a_leak_in_the_captions_is_found_on_images_that_were_not_seen():
    rows = leaky(24, lambda i: [f"true {i}", f"lie {i}", f"lie {i + 1}", f"lie {i + 2}"])
    blind = [one for row, found in blind_rows(rows, [WordScorer], 2, 1) for one in result_rows(row, found, False)]
    scores = [one for row in rows for one in result_rows(row, RIGHT, False)]
    found = next(benchmark_rows("m", "b", rows, scores, blind, OPTIONS))
    assert (found["value"], found["blind"], found["marks"]) == (100.0, 100.0, "not_above_blind")


def test_captions_that_differ_in_nothing_but_their_order_are_at_chance_without_the_picture():
    rows = leaky(24, lambda i: ["a b", "b a", "a  b", "b  a"])
    blind = [found for _, found in blind_rows(rows, [WordScorer, lambda: CountScorer("most_words")], 2, 1)]
    assert {len(set(scores.tolist())) for scores in blind} == {1}


def test_two_true_captions_are_both_compared_with_the_false_one():
    rows = rows_of([make_item("two_captions", i) for i in range(24)])
    rows = [{**row, "captions": ["good one", "good two", "bad"]} for row in rows]
    found = [result_rows(row, scores, False) for row, scores in blind_rows(rows, [WordScorer], 2, 1)]
    assert {one["strict"] for (one,) in found} == {1.0}


def test_nothing_is_answered_blind_with_few_images_or_where_captions_decide_nothing():
    few = rows_of(choices(["s"] * 5))
    assert {found for _, found in blind_rows(few, [WordScorer], 2, 1)} == {TOO_FEW_IMAGES}
    pairs = rows_of([make_item("pairs", i) for i in range(24)])
    assert {found for _, found in blind_rows(pairs, [WordScorer], 2, 1)} == {"not_decided_by_captions"}


def test_a_subset_that_is_called_all_has_one_row():
    cells = list(cells_of(rows_of(choices(["all"] * 3)), {}))
    assert [(cell.subset, cell.average) for cell in cells] == [("all", "")]


def test_published_figures_stand_beside_their_cells(tmp_path):
    path = tmp_path / "benchmarks.csv"
    path.write_text("model,benchmark,subset,metric,value,source\nm,b,all,accuracy,61.5,a paper\n")
    rows = rows_of(choices(["s"]))
    scores = result_rows(rows[0], RIGHT, False)
    found = list(benchmark_rows("m", "b", rows, scores, [], OPTIONS, read_published([str(path)])))
    assert [row["published"] for row in found if row["subset"] == "all"] == [61.5, ""]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model,benchmark\n", "has no column metric, source, subset, value"),
        ("model,benchmark,subset,metric,value,source\nm,b,all,accuracy,many,x\n", "line 2: 'many' is no number"),
        ("model,benchmark,subset,metric,value,source\n" + "m,b,all,accuracy,1,x\n" * 2, "line 3: a second figure"),
    ],
)
def test_a_wrong_table_of_published_figures_is_named(tmp_path, text, message):
    (tmp_path / "p.csv").write_text(text)
    with pytest.raises(ValueError, match=f"p.csv.*{message}"):
        read_published([str(tmp_path / "p.csv")])


def test_a_reader_may_have_no_manifest(repository):
    paths = sorted(map(str, (repository / "resources" / "benchmarks").glob("*.yaml")))
    assert manifest_of(paths, "sugarcrepe")["title"] == "SugarCrepe"
    assert manifest_of(paths, "nobody") == {}


def test_a_number_of_items_that_is_not_the_published_one_is_marked():
    manifest = {"subsets": {"a": 2, "b": 7}}
    found = table(choices(["a", "a", "b"]), [True, True, True], manifest=manifest)
    marks = {subset: row["marks"] for (subset, metric), row in found.items() if metric == "accuracy"}
    assert marks == {"all": "count_differs_b_1_of_7", "a": "", "b": "count_differs_b_1_of_7"}


def test_recalls_of_a_pool_and_classes_are_rows_with_the_chance_of_their_pool():
    images = [ImageRef("r", f"{i}.png") for i in range(4)]
    items = [Item(f"q{i}", "s", "retrieve_image", (image,), (f"text {i}",), {}) for i, image in enumerate(images)]
    rows = rows_of(items)
    scores = list(score_pools(rows, features_of(rows, oracle_of_pool(rows))))
    found = {row["metric"]: row for row in benchmark_rows("m", "b", rows, scores, [], OPTIONS) if row["subset"] == "s"}
    first = found["text_to_image_recall_at_1"]
    assert (first["value"], first["chance"], first["n_items"], first["blind"]) == (100.0, 25.0, 4, "")
    assert found["text_to_image_recall_at_5"]["chance"] == 100.0


def oracle_of_pool(rows):
    """Gives each caption the vector of its picture."""
    number_of = {row["captions"][0]: row["images"][0]["image_id"] for row in rows}
    return lambda one: np.eye(1, 9, number_of.get(one, one)).ravel()


def test_kinds_of_wrong_captions_are_counted_ties_split_and_carry_no_mark_of_chance():
    kinds = ("right", "wrong_positive", "wrong_hybrid", "wrong_hybrid")
    items = [replace(make_item("choose_caption", i), kinds=kinds) for i in range(4)]
    rows = rows_of(items)
    scores = [[4, 1, 2, 3], [1, 4, 2, 3], [1, 4, 4, 3], [1, 2, 3, 4]]
    results = [one for row, found in zip(rows, scores, strict=True) for one in result_rows(row, np.array(found), False)]
    found = {(row["subset"], row["metric"]): row for row in benchmark_rows("m", "b", rows, results, [], OPTIONS)}
    assert found["all", "chosen_wrong_positive"]["value"] == 100 * 1.5 / 4
    assert found["all", "chosen_wrong_hybrid"]["value"] == 100 * 1.5 / 4
    assert [found["all", f"chosen_wrong_{kind}"]["chance"] for kind in ("positive", "hybrid")] == [25, 50]
    assert found["all", "chosen_wrong_hybrid"]["marks"] == ""
    assert ("all", "chosen_wrong_hybrid_ties_split") not in found and ("all", "chosen_right") not in found
