import numpy as np
import pytest

from crepebench.families import FOIL_TYPES, PRODUCTIVITY, SYSTEMATICITY
from crepebench.gallery_choice import Pool, changes, choose, read_pool, restrict, sorts
from crepebench.schema import SCORES, write_table
from crepebench.splits import read_splits

from .gallery_files import CORPORA, MODELS, write_inputs


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    return write_inputs(tmp_path_factory.mktemp("inputs"), n=30)


def read_pools(paths, seed=0):
    split_of = {corpus: read_splits(path) for corpus, path in zip(CORPORA, paths["splits"], strict=True)}
    splits = {SYSTEMATICITY: split_of, PRODUCTIVITY: {}}
    return [read_pool(name, paths["sets"][name], paths["scores"][name], splits[name], seed) for name in FOIL_TYPES]


@pytest.fixture(scope="module")
def pools(inputs):
    return read_pools(inputs[0])


def scored(inputs, family, model):
    """Sets and scores of a model, those without a score left out."""
    _, sets, scores = inputs
    pairs = zip(sets[family], scores[family][model], strict=True)
    return [(row, score) for row, score in pairs if not score["reason"]]


def key_of(family, row):
    return family, row["set_id"], row["foil_type"]


def test_the_choice_depends_on_no_order_of_rows_and_no_number_of_parts(inputs, pools, tmp_path):
    other, _, _ = write_inputs(tmp_path, n=30, n_parts=3, backwards=True)
    chosen = choose(pools, 60, 3)
    assert choose(read_pools(other), 60, 3) == chosen
    assert choose(read_pools(inputs[0], seed=1), 60, 3) != chosen


@pytest.mark.parametrize("max_sets", [1, 2, 7, 60])
def test_as_many_sets_are_chosen_as_were_asked_for_and_none_twice(pools, max_sets):
    chosen = choose(pools, max_sets, 3)
    assert len(chosen) == len(set(chosen)) == max_sets


def test_all_scored_sets_are_chosen_where_there_are_no_more(inputs, pools):
    found = {
        key_of(family, row)
        for family in FOIL_TYPES
        for model in MODELS[family]
        for row, _ in scored(inputs, family, model)
    }
    assert set(choose(pools, 10_000, 3)) == found
    assert [len(pool.keys) for pool in pools] == [sum(key[0] == family for key in found) for family in FOIL_TYPES]
    assert [pool.n_sets for pool in pools] == [90, 120]
    assert len(found) < 210


def test_the_largest_margins_of_each_model_and_family_are_chosen_on_both_sides(inputs, pools):
    chosen = set(choose(pools, 100, 2))
    for family in FOIL_TYPES:
        for model in MODELS[family]:
            rows = sorted(scored(inputs, family, model), key=lambda pair: pair[1]["margin"])
            for row, _ in (*rows[:2], *rows[-2:]):
                assert key_of(family, row) in chosen


def test_the_largest_margins_fill_half_of_the_gallery_and_leave_room_for_what_is_rare():
    margins = np.array([0.001, *np.linspace(0.1, 0.9, 99)])[:, None]
    cells = np.array(["rare", *["common"] * 99])[:, None]
    keys = [(f"set {i}", "atom") for i in range(100)]
    pool = Pool(SYSTEMATICITY, keys, cells, np.ones((100, 1)), margins, {}, 100)
    chosen = choose([pool], 10, 1_000)
    assert len(chosen) == 10
    assert (SYSTEMATICITY, "set 0", "atom") in chosen
    assert {(SYSTEMATICITY, f"set {i}", "atom") for i in range(95, 100)} <= set(chosen)
    assert (SYSTEMATICITY, "set 94", "atom") not in chosen


def test_every_cell_has_sets_that_each_model_gets_right_and_wrong(inputs, pools):
    chosen = set(choose(pools, 120, 3))
    splits = [read_splits(path) for path in inputs[0]["splits"]]
    for family in FOIL_TYPES:
        for model in MODELS[family]:
            groups = {}
            for row, score in scored(inputs, family, model):
                names = [s[row["region_id"]] for s in splits] if family == SYSTEMATICITY else [row["complexity"]]
                for place, name in enumerate(names):
                    group = groups.setdefault((row["foil_type"], place, name, score["rank"] <= 1), [])
                    group.append(key_of(family, row) in chosen)
            assert len(groups) >= (30 if family == SYSTEMATICITY else 15)
            assert all(any(group) for group in groups.values())


def test_sets_gained_and_lost_between_any_two_models_are_chosen(inputs, pools):
    chosen = set(choose(pools, 60, 0))
    for family in FOIL_TYPES:
        right = {
            model: {key_of(family, row): score["rank"] <= 1 for row, score in scored(inputs, family, model)}
            for model in MODELS[family]
        }
        for one in right:
            for other in right:
                gained = {key for key in right[one] if right[other].get(key) and not right[one][key]}
                assert one == other or gained & chosen


def test_sets_that_a_tuned_model_gains_and_loses_stand_before_other_sorts_in_every_family():
    def pool(family, pairs):
        ranks = np.ones((50, 3))
        ranks[40, 1] = ranks[45, 2] = 2.0  # the second model loses one against the first, and so does the third
        ranks[49] = [2.0, 1.0, 2.0]  # the second gains one
        cells = np.array([[f"{i}"] for i in range(50)])
        keys = [(f"set {i}", "atom") for i in range(50)]
        return Pool(family, keys, cells, ranks, np.zeros((50, 3)), {}, 50, pairs)

    families = (SYSTEMATICITY, PRODUCTIVITY)
    chosen = choose([pool(family, ((0, 1),)) for family in families], 4, 0)
    assert chosen == [(family, name, "atom") for family in families for name in ("set 40", "set 49")]
    assert choose([pool(family, ()) for family in families], 4, 0) != chosen
    found = restrict(pool(SYSTEMATICITY, ((0, 1),)), [("set 40", "atom"), ("set 45", "atom")])
    assert [places.tolist() for places in changes(found)] == [[], [0]]


def test_every_kind_of_foil_that_some_model_does_not_put_below_the_truth_is_chosen(inputs, pools):
    for pool, family in zip(pools, FOIL_TYPES, strict=True):
        found = {}
        for model in MODELS[family]:
            for row, score in scored(inputs, family, model):
                for foil, win in zip(row["foils"], score["wins"], strict=True):
                    if win < 1:
                        found.setdefault(foil["kind"], set()).add((row["set_id"], row["foil_type"]))
        assert {kind: {pool.keys[i] for i in places} for kind, places in pool.lost_kinds.items()} == found
        chosen = {(set_id, foil_type) for name, set_id, foil_type in choose(pools, 60, 0) if name == family}
        assert all(keys & chosen for keys in found.values())


def test_a_tie_with_a_foil_is_not_right(tmp_path):
    paths, sets, _ = write_inputs(tmp_path, n=2)
    row = sets[SYSTEMATICITY][1]
    rows = [
        {
            **{
                "set_id": each["set_id"],
                "foil_type": each["foil_type"],
                "reason": "" if each is row else "equal_tokens",
            },
            **{"rank": 1.5 if each is row else None, "margin": 0.0 if each is row else None},
            "wins": [0.5] + [1.0] * (len(row["foils"]) - 1) if each is row else None,
        }
        for each in sets[SYSTEMATICITY]
    ]
    for path in paths["scores"][SYSTEMATICITY]:
        write_table(path, SCORES, rows)
    pool = read_pools(paths)[0]
    assert pool.keys == [(row["set_id"], row["foil_type"])]
    assert list(pool.lost_kinds) == [row["foils"][0]["kind"]]
    *_, right, wrong = [places.tolist() for places in sorts(pool)][-4:][::2]
    assert (right, wrong) == ([], [0])


def test_a_set_that_a_table_of_scores_lacks_is_named(tmp_path):
    paths, sets, scores = write_inputs(tmp_path, n=2)
    path = paths["scores"][PRODUCTIVITY][1]
    write_table(path, SCORES, scores[PRODUCTIVITY]["clip_b"][:-1])
    lost = sets[PRODUCTIVITY][-1]
    with pytest.raises(ValueError, match=rf"clip_b.parquet does not speak of set {lost['set_id']} \(overall\)"):
        read_pools(paths)


def test_a_restricted_pool_is_that_of_its_sets_alone(pools):
    pool = pools[1]
    keys = pool.keys[3:40:4]
    found = restrict(pool, keys)
    assert found.keys == keys
    assert np.array_equal(found.margins, pool.margins[3:40:4], equal_nan=True)
    for kind, places in found.lost_kinds.items():
        assert {found.keys[i] for i in places} == {pool.keys[i] for i in pool.lost_kinds[kind]} & set(keys)
    assert {(set_id, foil_type) for _, set_id, foil_type in choose([found], 5, 1)} <= set(keys)


def test_no_sets_give_an_empty_choice(tmp_path):
    paths, _, _ = write_inputs(tmp_path, n=0)
    pools = read_pools(paths)
    assert [pool.n_sets for pool in pools] == [0, 0]
    assert choose(pools, 10, 3) == []
