"""The feature store in a real run. Each test works on a copy, since the finished run belongs to other tests, too."""

import json
import os
import shutil
import time
from pathlib import Path

import polars as pl
import pytest

from .conftest import TINY, assert_nothing_to_do, assert_ok, run_snakemake

MODEL = "mini_clip_cc12m"
INDEX = f"results/features/{MODEL}/systematicity.parquet"
SCORES = f"results/scores/{MODEL}/systematicity.parquet"
LOG = f"results/logs/extract_features/{MODEL}_systematicity.log"


@pytest.fixture
def run(tiny_run, tmp_path) -> Path:
    """A copy of the finished run, with time stamps and Snakemake's memory."""
    return Path(shutil.copytree(tiny_run, tmp_path / "run"))


def shards_of(folder: Path) -> dict[Path, bytes]:
    """Contents of the files of the model's folder in the store."""
    origin = json.loads((folder / INDEX).with_suffix(".identity.json").read_text())
    return {path: path.read_bytes() for path in (folder / origin["store"] / origin["identity"]).iterdir()}


def overlay_with(folder: Path, text: str) -> Path:
    """Writes the tiny overlay with further keys."""
    path = folder / "overlay.yaml"
    path.write_text(TINY.read_text() + text)
    return path


def test_another_batch_size_encodes_nothing(run, checkout, tmp_path):
    before = shards_of(run)
    overlay = overlay_with(tmp_path, "features:\n  batch_size: 7\n")
    done = run_snakemake(run, "--cores", "1", INDEX, overlay=overlay, root=checkout)
    assert_ok(done)
    assert "Encoding systematicity sets with mini_clip_cc12m" in done.stdout + done.stderr
    assert "nothing was encoded: all features that can be made are in the store" in (run / LOG).read_text()
    assert shards_of(run) == before


def test_a_damaged_shard_is_rebuilt_and_the_scores_are_the_same_bytes(run, checkout):
    before, scores = shards_of(run), (run / SCORES).read_bytes()
    texts = pl.read_parquet(run / INDEX).filter(pl.col("kind") == "text")
    (path,) = (path for path in before if path.stem == texts["shard"][0])
    damaged = bytearray(before[path])
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    done = run_snakemake(run, SCORES, "--cores", "1", "--forcerun", "score_retrieval_sets", root=checkout)
    assert done.returncode != 0
    assert f"{path.name} is damaged (" in done.stdout + done.stderr
    assert "`snakemake --forcerun extract_features`" in done.stdout + done.stderr
    assert_ok(run_snakemake(run, SCORES, "--cores", "1", "--forcerun", "extract_features", root=checkout))
    log = (run / LOG).read_text()
    assert f"{path.name} is damaged (" in log
    assert f"{texts.filter(pl.col('shard') == path.stem).height} texts and 0 crops were encoded" in log
    assert shards_of(run) == {**before, path.with_name(f"{path.name}.damaged"): bytes(damaged)}
    assert (run / SCORES).read_bytes() == scores


def test_pruning_removes_exactly_an_old_orphan(run, checkout):
    before = shards_of(run)
    used = next(iter(before))
    orphan = used.with_name("0123456789abcdef.parquet")
    orphan.write_bytes(before[used])
    os.utime(orphan, (time.time() - 31 * 86_400,) * 2)
    done = run_snakemake(run, "--cores", "1", "prune_stores", root=checkout)
    assert_ok(done)
    assert f"removed 1 files, {len(before[used])} bytes (1 unused)" in done.stdout
    assert f"removed {orphan.relative_to(run)}" in (run / "results/logs/prune_stores/prune_stores.log").read_text()
    assert shards_of(run) == before
    assert_nothing_to_do(run_snakemake(run, "-n", "--cores", "1", root=checkout))


def test_pruning_stops_at_a_shared_folder_without_an_index_and_names_it(run, checkout, tmp_path):
    before = shards_of(run)
    overlay = overlay_with(tmp_path, f"stores:\n  keep_days: 0\n  shared_with: [{tmp_path / 'other'}]\n")
    done = run_snakemake(run, "--cores", "1", "prune_stores", overlay=overlay, root=checkout)
    assert done.returncode != 0
    assert f"nothing was removed: {tmp_path / 'other'} holds no feature index" in done.stdout + done.stderr
    assert shards_of(run) == before


def test_a_change_of_the_pruning_re_runs_no_table(tiny_run, checkout, tmp_path):
    overlay = overlay_with(tmp_path, "stores:\n  keep_days: 3\n  shared_with: [elsewhere]\n")
    table = "results/tables/systematicity.csv"
    assert_nothing_to_do(run_snakemake(tiny_run, "-n", table, overlay=overlay, root=checkout))
