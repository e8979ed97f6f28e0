import hashlib
import multiprocessing
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from filelock import FileLock, Timeout

from crepebench.feature_store import DamagedShardError, FeatureStore, read_shard

ROUNDS = 60
KEYS_PER_ROUND = 40


def vectors(n, dim=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, dim)).astype(np.float32)


@pytest.fixture
def store(tmp_path):
    return FeatureStore(str(tmp_path / "store"), "model-1")


def files_of(store):
    return sorted(store.folder.iterdir())


def flip_vector_bit(path):
    """Flips a bit of a shard's first vector."""
    raw = bytearray(path.read_bytes())
    raw[bytes(raw).index(read_shard(path)[0].tobytes())] ^= 1
    path.write_bytes(raw)


def add_in_rounds(root, seed, barrier):
    """Adds keys of each round to one store, at the same time as another process does; the runs of keys overlap."""
    store = FeatureStore(root, "model-1")
    for i in range(ROUNDS):
        barrier.wait()
        first = KEYS_PER_ROUND * i + seed * KEYS_PER_ROUND // 2
        store.add([f"key {j}" for j in range(first, first + KEYS_PER_ROUND)], vectors(KEYS_PER_ROUND, seed=seed))


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
    (first,) = files_of(store)
    before = first.read_bytes()
    store.add(["c"], vectors(1, seed=2))
    assert first.read_bytes() == before
    places = store.find(["a", "c"])
    expected = np.stack([vectors(2, seed=1)[0], vectors(1, seed=2)[0]])
    assert np.array_equal(store.read([places["a"], places["c"]]), expected)


def test_keys_that_are_there_are_not_added_again(store):
    store.add(["a", "b"], vectors(2, seed=1))
    store.add(["c", "b", "d"], vectors(3, seed=2))
    store.add(["d", "a"], vectors(2, seed=3))
    assert len(files_of(store)) == 2
    places = store.find("abcd")
    expected = np.concatenate([vectors(2, seed=1), vectors(3, seed=2)[[0, 2]]])
    assert np.array_equal(store.read([places[key] for key in "abcd"]), expected)


def test_keys_that_another_object_added_meanwhile_are_skipped(store):
    store.find(["a"])
    FeatureStore(str(store.folder.parent), "model-1").add(["a"], vectors(1, seed=1))
    store.add(["a", "b"], vectors(2, seed=2))
    places = store.find(["a", "b"])
    assert np.array_equal(
        store.read([places["a"], places["b"]]), np.stack([vectors(1, seed=1)[0], vectors(2, seed=2)[1]])
    )


def test_two_processes_that_add_at_once_put_no_key_into_two_shards(store):
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(2)
    root = str(store.folder.parent)
    writers = [context.Process(target=add_in_rounds, args=(root, seed, barrier)) for seed in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(timeout=120)
    assert [writer.exitcode for writer in writers] == [0, 0]
    keys = [key for path in files_of(store) for key in pq.read_table(path)["key"].to_pylist()]
    expected = {f"key {j}" for j in range(KEYS_PER_ROUND * ROUNDS + KEYS_PER_ROUND // 2)}
    assert len(keys) == len(set(keys))
    assert set(keys) == set(store.find(expected)) == expected


def test_lock_keeps_another_job_out_and_may_be_nested(store):
    other = FileLock(f"{store.folder}.lock")
    with store.locked(), store.locked():
        store.add(["a"], vectors(1))
        with pytest.raises(Timeout):
            other.acquire(timeout=0)
    with other.acquire(timeout=0):
        pass


def test_key_in_two_shards_is_found_in_the_first_by_name(store, tmp_path):
    for seed in range(4):
        single = FeatureStore(str(tmp_path / str(seed)), "model-1")
        single.add(["a"], vectors(1, seed=seed))
        shutil.copytree(single.folder, store.folder, dirs_exist_ok=True)
    assert len(files_of(store)) == 4
    assert store.find(["a"])["a"] == (files_of(store)[0].stem, 0)


def test_models_do_not_see_each_other(tmp_path):
    FeatureStore(str(tmp_path), "one").add(["a"], vectors(1))
    assert FeatureStore(str(tmp_path), "other").find(["a"]) == {}


def test_missing_shard_is_named_with_the_command_that_rebuilds_it(store):
    store.add(["a"], vectors(1))
    places = store.find(["a"])
    (path,) = files_of(store)
    path.unlink()
    with pytest.raises(FileNotFoundError, match=rf"{path.name} is gone: .*snakemake --forcerun extract_features"):
        store.read([places["a"]])


DAMAGES = {
    "empty": lambda path: path.write_bytes(b""),
    "truncated": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "no parquet": lambda path: path.write_text("no shard at all"),
    "flipped bit": flip_vector_bit,
    "of another shard": lambda path: write_other(path, ["c", "d"], pa.binary(12)),
    "without rows": lambda path: write_other(path, [], pa.binary(12)),
    "of other columns": lambda path: write_other(path, ["a", "b"], pa.string()),
    "with nulls": lambda path: write_other(path, ["a", None], pa.binary(12)),
}


def write_other(path, keys, vector_type):
    vector = [b"x" * 12 if vector_type != pa.string() else "x"] * len(keys)
    pq.write_table(pa.table({"key": pa.array(keys, pa.string()), "vector": pa.array(vector, vector_type)}), path)


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_shard_is_named_with_the_command_that_rebuilds_it(store, damage):
    store.add(["a", "b"], vectors(2))
    places = store.find(["a"])
    (path,) = files_of(store)
    damage(path)
    with pytest.raises(
        DamagedShardError, match=rf"{path.name} is damaged \(.+\): .*`snakemake --forcerun extract_features`"
    ):
        store.read([places["a"]])
    assert files_of(store) == [path]


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize("known", [True, False], ids=["verified before", "not verified before"])
def test_damaged_shard_is_set_aside_and_the_others_stay(store, damage, known, caplog):
    store.add(["a", "b"], vectors(2))
    (path,) = files_of(store)
    store.add(["c", "d"], vectors(2, seed=1))
    if known:
        store.find("abcd")
    else:
        store = FeatureStore(str(store.folder.parent), "model-1")
    damage(path)
    assert set(store.find("abcd")) == {"c", "d"}
    assert not path.exists()
    assert path.with_name(f"{path.name}.damaged").exists()
    assert f"{path.name} is damaged (" in caplog.text
    store.add(["a", "b"], vectors(2))
    assert path.exists()
    assert set(store.find("abcd")) == set("abcd")


def test_no_flipped_bit_and_no_cut_changes_what_is_read(store):
    added = vectors(5)
    store.add([f"key {i}" for i in range(5)], added)
    (path,) = files_of(store)
    whole = path.read_bytes()
    n_damaged = 0
    for i in range(len(whole)):
        for changed in (whole[:i], whole[:i] + bytes([whole[i] ^ 1 << i % 8]) + whole[i + 1 :]):
            path.write_bytes(changed)
            try:
                assert np.array_equal(read_shard(path), added)
            except DamagedShardError:
                n_damaged += 1
    assert n_damaged > len(whole)


def test_shard_without_wanted_keys_is_not_verified(store):
    store.add(["a"], vectors(1))
    (path,) = files_of(store)
    store.add(["c"], vectors(1, seed=1))
    flip_vector_bit(path)
    assert set(store.find(["c"])) == {"c"}
    assert path.exists()


def test_shard_that_was_written_anew_meanwhile_is_not_set_aside(store, monkeypatch):
    store.add(["a"], vectors(1))
    (path,) = files_of(store)
    good = path.read_bytes()
    flip_vector_bit(path)
    locked = store.locked

    def locked_after_another_job_mended_it():
        path.write_bytes(good)
        return locked()

    monkeypatch.setattr(store, "locked", locked_after_another_job_mended_it)
    assert set(store.find(["a"])) == {"a"}
    assert files_of(store) == [path]


def test_shard_that_vanishes_while_it_is_searched_is_not_found(store, monkeypatch):
    store.add(["a"], vectors(1))
    (path,) = files_of(store)

    def vanish(_path):
        raise FileNotFoundError(2, "gone")

    monkeypatch.setattr("crepebench.feature_store.read_shard", vanish)
    assert FeatureStore(str(store.folder.parent), "model-1").find(["a"]) == {}
    assert files_of(store) == [path]


def test_shard_that_the_system_refuses_to_read_is_not_set_aside(store, monkeypatch):
    store.add(["a"], vectors(1))
    (path,) = files_of(store)

    def refuse(_path):
        raise PermissionError(13, "no permission", str(path))

    monkeypatch.setattr("pyarrow.parquet.ParquetFile", refuse)
    with pytest.raises(PermissionError, match="no permission"):
        FeatureStore(str(store.folder.parent), "model-1").find(["a"])
    assert files_of(store) == [path]


def test_half_written_shard_of_a_killed_job_is_no_shard(store):
    store.add(["a"], vectors(1))
    (path,) = files_of(store)
    path.with_name(f".{path.stem}.123.partial.parquet").write_bytes(path.read_bytes()[:100])
    assert set(store.find(["a"])) == {"a"}


def test_half_written_shards_of_killed_jobs_are_removed_when_another_is_written(store):
    store.folder.mkdir(parents=True)
    (store.folder / ".0123456789abcdef.123.partial.parquet").write_bytes(b"PAR1")
    store.add(["a"], vectors(1))
    assert [path.name for path in files_of(store)] == [f"{store.find(['a'])['a'][0]}.parquet"]


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


def test_shard_has_key_and_vector_columns_and_is_named_by_their_hash(store):
    added = vectors(2, dim=5)
    store.add(["a", "b"], added)
    (path,) = files_of(store)
    schema = pq.read_schema(path)
    assert schema.names == ["key", "vector"]
    assert schema.field("vector").type.byte_width == 20
    assert path.stem == hashlib.sha256(b"a\nb" + added.tobytes()).hexdigest()[:16]


def units(n, dim=64, seed=0):
    added = vectors(n, dim, seed)
    return added / np.linalg.norm(added, axis=1, keepdims=True)


def test_rows_of_many_shards_come_in_the_order_that_is_asked_for(store):
    added = vectors(30)
    for start in range(0, 30, 4):
        store.add([f"key {i}" for i in range(start, min(start + 4, 30))], added[start : start + 4])
    order = np.random.default_rng(1).permutation(30)
    places = store.find(f"key {i}" for i in range(30))
    assert len(files_of(store)) == 8
    assert np.array_equal(store.read([places[f"key {i}"] for i in order]), added[order])


def test_only_shards_that_are_needed_are_read_and_each_once(store, monkeypatch):
    for name in "abc":
        store.add([f"{name}{i}" for i in range(3)], vectors(3, seed=ord(name)))
    places = store.find(["a0", "c0", "c2", "a2"])
    read = []
    monkeypatch.setattr("crepebench.feature_store.read_shard", lambda path: read.append(path.stem) or read_shard(path))
    store.read([places[key] for key in ("a0", "c0", "c2", "a2")])
    assert sorted(read) == sorted({places["a0"][0], places["c0"][0]})


def test_caller_may_say_where_the_rows_are_to_lie(store, tmp_path):
    store.add(["a", "b"], vectors(2))
    places = store.find(["b"])
    target = np.memmap(tmp_path / "rows", np.float32, "w+", shape=(1, 3))
    found = store.read([places["b"]], lambda shape: target.reshape(shape))
    assert isinstance(found, np.memmap)
    assert np.array_equal(target, vectors(2)[1:])


def test_half_precision_takes_half_the_space_and_is_of_length_one_again(tmp_path):
    added, sizes = units(50), []
    for precision in ("float32", "float16"):
        store = FeatureStore(str(tmp_path), "model-1", precision)
        store.add([f"key {i}" for i in range(50)], added)
        sizes.append(read_shard(*files_of(store)).nbytes)
    assert sizes[1] * 2 == sizes[0]
    places = store.find(["key 7", "key 49"])
    found = store.read([places["key 7"], places["key 49"]])
    assert found.dtype == np.float32
    assert np.abs(np.linalg.norm(found, axis=1) - 1).max() < 1e-6
    assert 0 < np.abs(found - added[[7, 49]]).max() < 1e-3


def test_precisions_do_not_see_each_other(tmp_path):
    FeatureStore(str(tmp_path), "model-1", "float16").add(["a"], units(1))
    assert FeatureStore(str(tmp_path), "model-1").find(["a"]) == {}


def test_folder_of_half_precision_is_read_by_its_name_alone(tmp_path):
    FeatureStore(str(tmp_path), "model-1", "float16").add(["a"], units(1))
    store = FeatureStore(str(tmp_path), "model-1-float16")
    assert np.abs(store.read([store.find(["a"])["a"]]) - units(1)).max() < 1e-3


def test_half_precision_that_is_taken_for_full_is_damage(tmp_path):
    store = FeatureStore(str(tmp_path), "model-1", "float16")
    store.add(["a"], units(1))
    (path,) = files_of(store)
    pq.write_table(pq.read_table(path).replace_schema_metadata(None), path)
    with pytest.raises(DamagedShardError, match="its content does not match its name"):
        read_shard(path)


def test_rows_that_are_not_of_length_one_are_refused_in_half_precision(tmp_path):
    store = FeatureStore(str(tmp_path), "model-1", "float16")
    with pytest.raises(ValueError, match="only features of length one"):
        store.add(["a", "b"], np.concatenate([units(1), 2 * units(1)]))


def test_values_that_are_no_features_are_kept_as_they_are(store):
    """As the likelihoods of texts are: one number each, of any size."""
    values = np.array([[-1234.567], [0.0], [3.25]], np.float32)
    store.add(["a", "b", "c"], values)
    places = store.find("abc")
    assert np.array_equal(store.read([places[key] for key in "cab"]), values[[2, 0, 1]])
