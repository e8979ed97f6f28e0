import json
import os
import time
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock, Timeout

from crepebench.feature_index import Contents, write_index
from crepebench.feature_store import FeatureStore
from crepebench.schema import SCORES, write_table
from crepebench.stored_values import StoredValues, shards_path
from crepebench.stores import KEPT, REMOVED, judge_file, prune_stores, read_used_shards

MODEL = "0123456789abcdef" * 2
DAYS = 86_400


class Run:
    """A working directory whose index names keys of a store."""

    def __init__(self, folder, store):
        self.folder, self.store = folder, FeatureStore(str(store), MODEL)
        self.index = folder / "results" / "features" / "model" / "systematicity.parquet"

    def add(self, *keys, days=0):
        """Adds a shard of a certain age with the keys and returns its file."""
        self.store.add(keys, np.full((len(keys), 2), len(keys[0]), np.float32))
        path = self.store.folder / f"{self.store.find(keys)[keys[0]][0]}.parquet"
        os.utime(path, (time.time() - days * DAYS,) * 2)
        return path

    def write_index(self, *keys):
        contents = Contents({key: key for key in keys}, {}, {(1, (0, 0, 1, 1)): "image_missing"})
        origin = {"model": "model", "identity": MODEL, "store": "a path of another machine"}
        write_index(str(self.index), contents.index_rows(self.store.find(keys)), origin)


def prune(store, keep_days=30, shared_with=(), language_model="no such folder"):
    folders = {"features": str(store), "language_model": str(language_model)}
    return prune_stores(json.dumps({**folders, "keep_days": keep_days, "shared_with": [*shared_with]}))


@pytest.fixture
def store(tmp_path):
    return tmp_path / "store"


@pytest.fixture
def here(tmp_path, store, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return Run(tmp_path / "here", store)


@pytest.fixture
def there(tmp_path, store):
    return Run(tmp_path / "there", store)


def files_of(run):
    return set(run.store.folder.iterdir())


def test_old_shards_in_no_index_are_removed_and_all_others_stay(here, store, caplog):
    caplog.set_level("INFO")
    used, young, old = here.add("a", days=99), here.add("bb", days=29), here.add("ccc", days=31)
    here.write_index("a")
    sizes = {path: path.stat().st_size for path in (used, young, old)}
    summary = prune(store)
    assert files_of(here) == {used, young}
    assert summary == (
        f"{store}: removed 1 files, {sizes[old]} bytes (1 unused); "
        f"kept 2 files, {sizes[used] + sizes[young]} bytes (1 in use, 1 younger than 30 days)"
    )
    assert f"removed {old} ({sizes[old]} bytes): unused" in caplog.text
    assert f"kept {used} ({sizes[used]} bytes): in use" in caplog.text
    assert summary in caplog.text


def test_what_stays_can_be_read(here, store):
    here.add("a", "b", days=99)
    here.add("cc", days=99)
    here.write_index("a")
    prune(store)
    assert set(here.store.find(["a", "b", "cc"])) == {"a", "b"}
    assert len(here.store.read(list(here.store.find("ab").values()))) == 2


def test_keep_days_of_zero_removes_young_shards(here, store):
    used, young = here.add("a"), here.add("bb")
    here.write_index("a")
    prune(store, keep_days=0)
    assert files_of(here) == {used}
    assert not young.exists()


def test_damaged_and_half_written_files_are_removed_at_any_age_and_strangers_stay(here, store):
    used = here.add("a")
    here.write_index("a")
    used.with_name(f"{'0' * 16}.parquet.damaged").write_text("x")
    used.with_name(f".{'0' * 16}.123.partial.parquet").write_text("x")
    stranger = used.with_name("captions.parquet")
    stranger.write_text("x")
    os.utime(stranger, (0, 0))
    summary = prune(store)
    assert files_of(here) == {used, stranger}
    assert "removed 2 files, 2 bytes (1 damaged, 1 half-written)" in summary
    assert "1 not of the store" in summary


def test_folder_without_shards_is_not_touched(here, store):
    here.add("a")
    here.write_index("a")
    (store / "corpus").mkdir()
    (store / "corpus" / "captions.parquet").write_text("x")
    os.utime(store / "corpus" / "captions.parquet", (0, 0))
    prune(store, keep_days=0)
    assert (store / "corpus" / "captions.parquet").exists()
    assert not (store / "corpus.lock").exists()


def test_shard_of_the_same_name_of_another_model_is_not_in_use(here, store):
    used = here.add("a", days=99)
    here.write_index("a")
    other = store / ("f" * 32) / used.name
    other.parent.mkdir()
    os.link(used, other)
    prune(store)
    assert used.exists()
    assert not other.exists()


def test_shards_of_a_run_that_shares_the_store_stay(here, there, store):
    mine, theirs, nobodys = here.add("a", days=99), there.add("bb", days=99), here.add("ccc", days=99)
    here.write_index("a")
    there.write_index("bb")
    prune(store, shared_with=["../there"])
    assert files_of(here) == {mine, theirs}
    assert not nobodys.exists()
    prune(store)
    assert files_of(here) == {mine}


@pytest.mark.parametrize("made", ["", "results/features/model"])
def test_shared_folder_without_an_index_stops_and_is_named(here, there, store, made):
    here.add("a", days=99)
    here.add("bb", days=99)
    here.write_index("a")
    (there.folder / made).mkdir(parents=True)
    with pytest.raises(FileNotFoundError, match=rf"nothing was removed: {there.folder}.* holds no feature index"):
        prune(store, shared_with=[str(there.folder)])
    assert len(files_of(here)) == 2


def test_own_folder_without_an_index_stops(here, store):
    here.add("a", days=99)
    with pytest.raises(FileNotFoundError, match="holds no feature index"):
        prune(store)
    assert len(files_of(here)) == 1


def test_store_that_is_no_folder_stops(here, store):
    with pytest.raises(FileNotFoundError, match=f"stores.features: there is no folder {store}"):
        prune(store)


SPOILERS = {
    "index cut off": lambda run: run.index.write_bytes(run.index.read_bytes()[:50]),
    "index of another version": lambda run: write_table(str(run.index), SCORES, []),
    "identity gone": lambda run: run.index.with_name("systematicity.identity.json").unlink(),
    "identity cut off": lambda run: run.index.with_name("systematicity.identity.json").write_text('{"model": "mo'),
    "identity without identity": lambda run: run.index.with_name("systematicity.identity.json").write_text("{}"),
    "identity is a list": lambda run: run.index.with_name("systematicity.identity.json").write_text("[]"),
}


@pytest.mark.parametrize("spoil", SPOILERS.values(), ids=SPOILERS)
@pytest.mark.parametrize("whose", ["here", "there"])
def test_index_that_cannot_be_read_stops_and_is_named_and_nothing_is_removed(here, there, store, spoil, whose):
    here.add("a", days=99)
    here.add("bb", days=99)
    here.write_index("a")
    there.write_index("bb")
    here.add("ccc", days=99)
    spoil({"here": here, "there": there}[whose])
    with pytest.raises(
        ValueError, match=r"nothing was removed: the feature index .*systematicity.parquet cannot be read"
    ):
        prune(store, shared_with=["../there"])
    assert len(files_of(here)) == 3


def test_half_written_index_of_a_killed_job_is_no_index(here):
    used = here.add("a")
    here.write_index("a")
    here.index.with_name(".systematicity.123.partial.parquet").write_text("x")
    assert (MODEL, used.stem) in read_used_shards(str(here.folder))


def test_indexes_are_read_under_the_lock_of_the_models(here, store, monkeypatch):
    here.add("a")
    here.write_index("a")
    held = []

    def watching_read(folder):
        with pytest.raises(Timeout):
            FileLock(f"{here.store.folder}.lock").acquire(timeout=0)
        held.append(folder)
        return read_used_shards(folder)

    monkeypatch.setattr("crepebench.stores.read_used_shards", watching_read)
    prune(store)
    assert held == ["."]


@pytest.mark.parametrize(
    ("name", "age_days", "verdict"),
    [
        ("aaaaaaaaaaaaaaaa.parquet", 999, (KEPT, "in use")),
        ("bbbbbbbbbbbbbbbb.parquet", 4.9, (KEPT, "younger than 5 days")),
        ("bbbbbbbbbbbbbbbb.parquet", 5.0, (REMOVED, "unused")),
        ("aaaaaaaaaaaaaaaa.parquet.damaged", 0, (REMOVED, "damaged")),
        (".aaaaaaaaaaaaaaaa.9.partial.parquet", 0, (REMOVED, "half-written")),
        ("train.parquet", 999, (KEPT, "not of the store")),
    ],
)
def test_verdict_and_reason_of_a_file(tmp_path, name, age_days, verdict):
    assert judge_file(tmp_path / MODEL / name, age_days, {(MODEL, "a" * 16)}, 5) == verdict


SCORES_TABLE = "results/foils/systematicity/scores/part-00000-of-00001.parquet"


def score(folder, store, *texts, table=SCORES_TABLE, days=99):
    """Scores texts as a job of a run does, and returns the shard that it wrote, as if some days ago."""
    before = set(store.rglob("*.parquet"))
    values = StoredValues("b" * 32, lambda found: np.arange(len(found)), str(store), decimals=3)
    values.of(texts)
    (folder / table).parent.mkdir(parents=True, exist_ok=True)
    (folder / table).touch()
    values.write_used_shards(str(folder / table))
    (shard,) = set(store.rglob("*.parquet")) - before
    os.utime(shard, (time.time() - days * DAYS,) * 2)
    return shard


@pytest.fixture
def likelihoods(tmp_path, here):
    """The store of likelihoods of a run that has features, too."""
    here.add("a")
    here.write_index("a")
    return tmp_path / "likelihoods"


@pytest.mark.parametrize(
    "table", [SCORES_TABLE, SCORES_TABLE.replace("systematicity/scores", "productivity/entailment")]
)
def test_likelihoods_that_no_table_came_from_are_removed_when_they_are_old(here, store, likelihoods, table):
    old, young = (score(here.folder, likelihoods, text, table=table, days=days) for text, days in (("x", 99), ("y", 1)))
    used = score(here.folder, likelihoods, "a jar", "a cup", table=table)  # the table that came before is written over
    summary = prune(store, language_model=likelihoods)
    assert set(likelihoods.rglob("*.parquet")) == {used, young}
    assert not old.exists()
    assert f"{store}: removed 0 files" in summary
    assert f"{likelihoods}: removed 1 files" in summary
    assert "(1 in use, 1 younger than 30 days)" in summary


def test_damaged_and_half_written_likelihoods_are_removed(here, store, likelihoods):
    used = score(here.folder, likelihoods, "a jar")
    used.with_name(f"{'0' * 16}.parquet.damaged").write_text("x")
    used.with_name(f".{'0' * 16}.123.partial.parquet").write_text("x")
    assert "removed 2 files, 2 bytes (1 damaged, 1 half-written)" in prune(store, language_model=likelihoods)
    assert set(used.parent.iterdir()) == {used}


def test_likelihoods_of_a_run_that_shares_the_store_stay(here, there, store, likelihoods):
    there.add("bb")
    there.write_index("bb")
    theirs = score(there.folder, likelihoods, "a jar")
    prune(store, language_model=likelihoods, shared_with=["../there"])
    assert theirs.exists()
    prune(store, language_model=likelihoods)
    assert not theirs.exists()


@pytest.mark.parametrize("whose", ["here", "there"])
@pytest.mark.parametrize("text", [None, "{", "[]", '{"identity": "b"}'])
def test_likelihoods_of_unknown_shards_stop_and_nothing_is_removed(here, there, store, likelihoods, whose, text):
    there.add("bb")
    there.write_index("bb")
    orphan = here.add("ccc", days=99)
    folder = {"here": here, "there": there}[whose].folder
    shard = score(folder, likelihoods, "a jar")
    path = Path(shards_path(str(folder / SCORES_TABLE)))
    path.unlink()
    if text is not None:
        path.write_text(text)
    with pytest.raises(ValueError, match=r"nothing was removed: which shards .*part-00000-of-00001.parquet came from"):
        prune(store, language_model=likelihoods, shared_with=["../there"])
    assert shard.exists()
    assert orphan.exists()


def test_features_and_likelihoods_may_share_a_folder(here, store):
    used = here.add("a", days=99)
    here.write_index("a")
    scored = score(here.folder, store, "a jar")
    assert prune(store, language_model=store).count("\n") == 0
    assert used.exists() and scored.exists()


def test_another_folder_than_that_of_likelihoods_is_not_touched(here, store, likelihoods):
    answers = likelihoods.with_name("captions") / ("c" * 32) / "part.jsonl"
    answers.parent.mkdir(parents=True)
    answers.write_text("{}")
    os.utime(answers, (0, 0))
    score(here.folder, likelihoods, "a jar")
    prune(store, keep_days=0, language_model=likelihoods)
    assert answers.exists()
