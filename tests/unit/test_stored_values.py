import json

import numpy as np
import pytest

from crepebench.feature_store import FeatureStore
from crepebench.stored_values import StoredValues, item_key, read_shards_file, shards_path

ITEMS = ["a jar", ("a jar", "a cup"), ("a cup", "a jar"), "a cup"]
IDENTITY = "b" * 32


class Model:
    """Gives each item the number of its letters, and notes what it was asked."""

    def __init__(self):
        self.asked = []

    def __call__(self, items):
        self.asked += items
        return np.array([len(str(item)) / 3 for item in items])


def values_of(folder, compute, decimals=3):
    return StoredValues(IDENTITY, compute, str(folder), decimals)


def test_each_item_has_its_own_number_whatever_the_order(tmp_path):
    found = values_of(tmp_path, Model()).of(ITEMS)
    assert found == {item: round(len(str(item)) / 3, 3) for item in ITEMS}
    assert values_of(tmp_path, Model()).of(ITEMS[::-1]) == found


def test_a_text_and_pairs_of_it_have_keys_of_their_own():
    items = ["a", ("a",), ("a", "a"), ("a, a",), "a a", ("a", "b"), ("b", "a")]
    assert len({item_key(item) for item in items}) == len(items)


def test_what_is_in_the_store_is_not_computed_again(tmp_path):
    first, second = Model(), Model()
    values_of(tmp_path, first).of(ITEMS[:2])
    values_of(tmp_path, second).of([*ITEMS, ITEMS[0]])
    assert (first.asked, second.asked) == (ITEMS[:2], ITEMS[2:])


def test_a_long_list_is_kept_a_shard_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr("crepebench.stored_values.ITEMS_PER_SHARD", 2)

    def fail_at_the_second(items):
        if "c" in items:
            raise KeyboardInterrupt
        return np.ones(len(items))

    with pytest.raises(KeyboardInterrupt):
        values_of(tmp_path, fail_at_the_second).of("abcd")
    rest = Model()
    values_of(tmp_path, rest).of("abcd")
    assert rest.asked == ["c", "d"]


def test_shards_that_numbers_came_from_are_noted(tmp_path):
    values_of(tmp_path / "store", Model()).of(ITEMS[:1])
    values_of(tmp_path / "store", Model()).of(ITEMS[2:])
    values = values_of(tmp_path / "store", Model())
    values.of(ITEMS[:1])
    table = str(tmp_path / "part.parquet")
    values.write_used_shards(table)
    ((shard, _),) = FeatureStore(str(tmp_path / "store"), IDENTITY).find([item_key(ITEMS[0])]).values()
    assert read_shards_file(table) == {(IDENTITY, shard)}
    assert json.loads((tmp_path / "part.shards.json").read_text())["identity"] == IDENTITY
    assert shards_path(table) == str(tmp_path / "part.shards.json")


def test_nothing_to_score_makes_no_store(tmp_path):
    values = values_of(tmp_path / "store", None)
    assert values.of([]) == {}
    values.write_used_shards(str(tmp_path / "part.parquet"))
    assert read_shards_file(str(tmp_path / "part.parquet")) == set()
    assert not (tmp_path / "store").exists()


def test_numbers_pruned_while_the_rest_is_computed_are_computed_again(tmp_path):
    def prune_once(items):
        if "a" not in items:
            for path in tmp_path.rglob("*.parquet"):
                path.unlink()
        return np.ones(len(items))

    values_of(tmp_path, prune_once).of(["a"])
    assert values_of(tmp_path, prune_once).of(["a", "b"]) == {"a": 1.0, "b": 1.0}


def test_store_that_loses_all_that_is_added_stops(tmp_path, monkeypatch):
    monkeypatch.setattr(FeatureStore, "add", lambda *args: None)
    with pytest.raises(OSError, match="has lost numbers 3 times"):
        values_of(tmp_path, Model()).of(["a"])


def test_number_that_is_none_is_refused(tmp_path):
    with pytest.raises(ValueError, match="not finite"):
        values_of(tmp_path, lambda items: np.full(len(items), np.nan)).of(["a"])
