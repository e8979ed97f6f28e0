import numpy as np
import pyarrow.parquet as pq
import pytest

from crepebench.feature_store import FeatureStore


def vectors(n, dim=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, dim)).astype(np.float32)


@pytest.fixture
def store(tmp_path):
    return FeatureStore(str(tmp_path / "store"), "model-1")


def test_vectors_are_found_and_read_back_exactly(store):
    added = vectors(11)
    store.add([f"key {i}" for i in range(11)], added)
    places = store.find(["key 7", "key 0", "key 10"])
    found = store.read([places["key 7"], places["key 0"], places["key 10"], places["key 7"]])
    assert found.dtype == np.float32
    assert np.array_equal(found, added[[7, 0, 10, 7]])


def test_unknown_keys_are_not_found(store):
    assert store.find(["a"]) == {}
    store.add(["a", "b"], vectors(2))
    assert set(store.find(["a", "c"])) == {"a"}


def test_second_shard_leaves_the_first_as_it_is(store):
    store.add(["a", "b"], vectors(2, seed=1))
    (first,) = store.folder.iterdir()
    before = first.read_bytes()
    store.add(["c"], vectors(1, seed=2))
    assert first.read_bytes() == before
    places = store.find(["a", "c"])
    expected = np.stack([vectors(2, seed=1)[0], vectors(1, seed=2)[0]])
    assert np.array_equal(store.read([places["a"], places["c"]]), expected)


def test_equal_content_is_one_shard(store):
    for _ in range(2):
        store.add(["a", "b"], vectors(2))
    assert len(list(store.folder.iterdir())) == 1


def test_key_in_two_shards_is_found_in_the_first_by_name(store):
    for seed in range(4):
        store.add(["a"], vectors(1, seed=seed))
    assert len(list(store.folder.iterdir())) == 4
    assert store.find(["a"])["a"] == (min(path.stem for path in store.folder.iterdir()), 0)


def test_models_do_not_see_each_other(tmp_path):
    FeatureStore(str(tmp_path), "one").add(["a"], vectors(1))
    assert FeatureStore(str(tmp_path), "other").find(["a"]) == {}


def test_missing_shard_is_named_with_the_command_that_rebuilds_it(store):
    store.add(["a"], vectors(1))
    places = store.find(["a"])
    (path,) = store.folder.iterdir()
    path.unlink()
    with pytest.raises(FileNotFoundError, match=rf"{path.name} is gone: .*--forcerun extract_features"):
        store.read([places["a"]])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_features_that_are_not_finite_are_refused(store, bad):
    added = vectors(5)
    added[3, 1] = bad
    with pytest.raises(ValueError, match="1 of 5 features are not finite"):
        store.add(list("abcde"), added)
    assert not store.folder.exists()


def test_keys_and_vectors_of_different_number_are_refused(store):
    with pytest.raises(ValueError, match="3 keys for 2 features"):
        store.add(["a", "b", "c"], vectors(2))
    assert store.find(["a"]) == {}


def test_reading_nothing_gives_no_rows(store):
    assert len(store.read([])) == 0


def test_vectors_that_are_no_contiguous_float32_are_stored_as_such(store):
    added = vectors(6).astype(np.float64)[::2]
    store.add(["a", "b", "c"], added)
    places = store.find(["c"])
    assert np.array_equal(store.read([places["c"]]), added[2:].astype(np.float32))


def test_shard_has_key_and_vector_columns(store):
    store.add(["a", "b"], vectors(2, dim=5))
    (path,) = store.folder.iterdir()
    schema = pq.read_schema(path)
    assert schema.names == ["key", "vector"]
    assert schema.field("vector").type.byte_width == 20
