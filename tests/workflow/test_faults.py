"""Runs that are killed, or lack disk, memory or permission: what they say, what they leave, how they go on."""

import json
import os
import random
import re
import shutil
import signal
import time
from contextlib import ExitStack
from pathlib import Path

import polars as pl
import pytest
import yaml

from ..unit.model_files import write_bert_vocabulary
from ..unit.stub_chat_server import StubChatServer
from .conftest import TINY, assert_ok, run_snakemake
from .faulty_runs import (
    background,
    check_settled,
    check_whole,
    partial_files,
    remount,
    small_disk,
    tables_of,
    wait_for,
    with_faults,
    without_privileges,
)

CORPORA = ("mini_cc12m", "mini_yfcc15m", "mini_laion400m")
SPLITS = tuple(f"results/splits/{corpus}.parquet" for corpus in CORPORA)
CC12M, YFCC15M = "results/vocabularies/.mini_cc12m.", "results/vocabularies/.mini_yfcc15m."
"""Parts of the paths of partial files of vocabularies."""
SEED = 20
ROOM = 1_500_000
"""Bytes that are left on the small disk: enough for the features of one model, too little for those of three."""


@pytest.fixture
def run(tiny_run, tmp_path) -> Path:
    """A copy of the finished run."""
    return Path(shutil.copytree(tiny_run, tmp_path / "run"))


@pytest.fixture
def without_splits(run) -> Path:
    """A run that has everything but vocabularies and splits."""
    for folder in ("splits", "vocabularies"):
        for path in (run / "results" / folder).glob("*.*"):
            path.unlink()
    return run


def assert_same_splits(run: Path, tiny_run: Path) -> None:
    for path in SPLITS:
        assert (run / path).read_bytes() == (tiny_run / path).read_bytes(), path


def kill_at_random(folder: Path, root: Path, target: str, n_kills: int, most_jobs: int) -> None:
    """Begins a run again and again; each is killed some jobs and some seconds after its start, and unlocked.

    Every third kill hits Snakemake alone, so that its jobs live on beside the next run.
    """
    rng, attempts = random.Random(SEED), []
    with ExitStack() as stack:
        for i in range(n_kills):
            n_jobs, seconds = rng.randint(0, most_jobs), rng.uniform(0, 4)
            attempt = stack.enter_context(background(folder, target, "--cores", "2", root=root))
            attempts.append(attempt)
            attempt.wait_for(lambda: attempt.n_finished() >= n_jobs)  # noqa: B023
            time.sleep(seconds)
            assert attempt.is_running(), attempt.said()[-3000:]
            attempt.kill_main() if i % 3 == 2 else attempt.kill_all()
            check_whole(folder / "results")
            assert_ok(run_snakemake(folder, "--unlock", root=root))
        assert_ok(run_snakemake(folder, target, "--cores", "2", root=root))
        wait_for(lambda: not any(attempt.has_jobs() for attempt in attempts))


def test_a_run_that_is_killed_three_times_ends_with_the_same_tables(run, tiny_run, checkout):
    for folder in ("splits", "vocabularies", "features", "stores", "scores"):
        shutil.rmtree(run / "results" / folder)
    table = "results/tables/systematicity_gap.csv"
    (run / table).unlink()
    kill_at_random(run, checkout, table, n_kills=3, most_jobs=4)
    assert tables_of(run) == tables_of(tiny_run)
    assert_same_splits(run, tiny_run)
    check_settled(run)


@pytest.mark.slow
def test_a_run_that_is_killed_ten_times_ends_with_the_same_tables(tiny_run, checkout, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    kill_at_random(folder, checkout, "all", n_kills=10, most_jobs=7)
    assert tables_of(folder) == tables_of(tiny_run)
    check_settled(folder)
    made = {path.relative_to(folder) for path in (folder / "results").rglob("*") if path.is_file()}
    expected = {path.relative_to(tiny_run) for path in (tiny_run / "results").rglob("*") if path.is_file()}
    assert {path for path in made ^ expected if "stores" not in path.parts} == set()


def test_jobs_that_outlive_snakemake_do_not_damage_the_next_run(without_splits, tiny_run, checkout, tmp_path):
    folder, release = without_splits, tmp_path / "release"
    late = with_faults(f"whole wait {CC12M}", release=release)
    with background(folder, *SPLITS, "--cores", "2", root=checkout, env=late) as attempt:
        attempt.wait_for(lambda: list(folder.glob(f"{CC12M}*")))
        (partial,) = folder.glob(f"{CC12M}*")
        attempt.kill_main()
        assert_ok(run_snakemake(folder, "--unlock", root=checkout))
        assert_ok(run_snakemake(folder, *SPLITS, "--cores", "2", root=checkout))
        assert partial_files(folder) == [partial]
        assert_same_splits(folder, tiny_run)
        release.touch()
        wait_for(lambda: not attempt.has_jobs())
    vocabulary = "results/vocabularies/mini_cc12m.parquet"
    assert (folder / vocabulary).read_bytes() == (tiny_run / vocabulary).read_bytes()
    check_settled(folder)


def test_jobs_without_memory_are_named_the_others_go_on_and_the_run_can_be_resumed(without_splits, tiny_run, checkout):
    folder = without_splits
    faults = with_faults(f"whole kill {CC12M}", f"begun memory {YFCC15M}")
    done = run_snakemake(folder, *SPLITS, "--cores", "2", "--keep-going", root=checkout, env=faults)
    said = done.stdout + done.stderr
    assert done.returncode == 1
    assert said.count("Error in rule build_vocabulary") == 2
    assert "died with <Signals.SIGKILL: 9>" in said
    assert "CRITICAL crepebench: MemoryError" in said
    assert "while results/vocabularies/mini_yfcc15m.parquet was being written" in said
    assert [(folder / path).exists() for path in SPLITS] == [False, False, True]
    assert partial_files(folder) != []
    assert_ok(run_snakemake(folder, *SPLITS, "--cores", "2", root=checkout))
    assert_same_splits(folder, tiny_run)
    check_settled(folder)


def test_a_second_run_is_told_of_the_lock_and_a_job_that_hangs_can_be_ended(without_splits, tiny_run, checkout):
    folder = without_splits
    options = (*SPLITS, "--cores", "2", "--keep-going")
    with background(folder, *options, root=checkout, env=with_faults(f"whole wait {CC12M}")) as attempt:
        attempt.wait_for(lambda: all((folder / path).exists() for path in SPLITS[1:]))
        second = run_snakemake(folder, *SPLITS, "--cores", "1", root=checkout)
        assert second.returncode == 1
        assert "Directory cannot be locked" in second.stdout + second.stderr
        assert "It can be removed with the --unlock argument" in second.stdout + second.stderr
        (partial,) = partial_files(folder)
        hung = int(re.search(r"\.(\d+)-", partial.name)[1])
        assert os.getpgid(hung) == attempt.process.pid
        os.kill(hung, signal.SIGTERM)
        assert attempt.end() == 1
        assert "ended by SIGTERM: the time limit of a scheduler, or cancelled" in attempt.said()
    assert partial_files(folder) == []
    assert_ok(run_snakemake(folder, *SPLITS, "--cores", "2", root=checkout))
    assert_same_splits(folder, tiny_run)
    check_settled(folder)


def test_a_full_disk_is_named_leaves_no_half_written_file_and_the_run_goes_on_when_it_is_larger(
    tiny_run, checkout, tmp_path
):
    table, results = "results/tables/systematicity_gap.csv", tmp_path / "results"
    shutil.copytree(tiny_run / ".snakemake", tmp_path / ".snakemake")
    with small_disk(results, "64m"):
        for folder in (tiny_run / "results").iterdir():
            if folder.name in ("icons", "wordnet"):  # large, and only read
                (results / folder.name).symlink_to(folder)
            elif folder.is_dir() and folder.name not in ("features", "stores", "scores", "plots", "report"):
                shutil.copytree(folder, results / folder.name)
        (results / "tables" / "systematicity_gap.csv").unlink()
        used = shutil.disk_usage(results).used
        remount(results, f"size={used + ROOM}")
        rules = ("--allowed-rules", "extract_features", "score_retrieval_sets", "tabulate_systematicity")
        done = run_snakemake(tmp_path, table, "--cores", "1", *rules, root=checkout)
        assert done.returncode == 1
        assert re.search(
            r"No space left on device; the file is not written: 'results/[^']+'", done.stdout + done.stderr
        )
        assert partial_files(results) == []
        check_whole(results)
        remount(results, "size=64m")
        assert_ok(run_snakemake(tmp_path, table, "--cores", "2", *rules, root=checkout))
        assert (tmp_path / table).read_bytes() == (tiny_run / table).read_bytes()
        check_settled(tmp_path)


def test_a_read_only_folder_of_results_is_named_and_the_run_goes_on_when_it_can_be_written(
    tiny_run, checkout, tmp_path
):
    target = "results/icons/corpora/mini_cc12m/truth.json"
    with small_disk(tmp_path / "results", "64m"):
        remount(tmp_path / "results", "ro")
        done = run_snakemake(tmp_path, target, "--cores", "1", root=checkout)
        assert done.returncode == 1
        assert re.search("Read-only file system: .*results", done.stdout + done.stderr)
        remount(tmp_path / "results", "rw")
        assert_ok(run_snakemake(tmp_path, target, "--cores", "1", root=checkout))
        assert (tmp_path / target).read_bytes() == (tiny_run / target).read_bytes()
        check_settled(tmp_path)


def test_an_input_without_permission_is_named_and_the_run_goes_on_when_it_can_be_read(run, tiny_run, checkout):
    record = "results/corpora/mini_cc12m.json"
    captions = run / "results" / "icons" / "corpora" / "mini_cc12m" / "captions" / "cc12m.tsv"
    (run / record).unlink()
    captions.chmod(0)
    options = (record, "--cores", "1", "--allowed-rules", "validate_corpus")
    with background(run, *options, root=checkout, prefix=without_privileges()) as attempt:
        assert attempt.end() == 1
        assert f"Permission denied: '{captions.relative_to(run)}'" in attempt.said()
    captions.chmod(0o644)
    assert_ok(run_snakemake(run, *options, root=checkout))
    assert (run / record).read_bytes() == (tiny_run / record).read_bytes()
    check_settled(run)


def write_masked_model(folder: Path) -> None:
    """Writes a masked language model of one small layer with random weights."""
    import torch
    from transformers import BertConfig, BertForMaskedLM, BertTokenizer

    n_words = write_bert_vocabulary(folder)
    BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(1)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    BertForMaskedLM(BertConfig(vocab_size=n_words, **sizes)).save_pretrained(folder)


SCORES = "results/scores/mini_clip_cc12m/systematicity.parquet"
CAPTIONS = "results/captions/part-00000-of-00001.parquet"
LIKELIHOODS = "results/foils/systematicity/scores/part-00000-of-00001.parquet"


@pytest.mark.parametrize(
    ("targets", "stores"),
    [
        ((SCORES, CAPTIONS), ("features", "captions")),
        pytest.param((LIKELIHOODS,), ("language_model",), marks=pytest.mark.slow),
    ],
    ids=["features and answers", "likelihoods"],
)
def test_two_runs_in_different_folders_share_their_stores(tiny_run, checkout, tmp_path, targets, stores):
    config = yaml.safe_load(TINY.read_text())
    config["stores"] = {name: str(tmp_path / "stores" / name) for name in stores}
    if "language_model" in stores:
        write_masked_model(tmp_path / "bert")
        config["foils"] |= {"plausibility": "masked", "language_model": str(tmp_path / "bert")}
    folders = [Path(shutil.copytree(tiny_run, tmp_path / name)) for name in ("one", "other")]
    with StubChatServer(lambda prompt, seed: f"a jar of {len(prompt)}") as server, ExitStack() as stack:
        config["captioner"] = {"backend": "openai", "model": "m", "base_url": server.url, "attempts": 1}
        overlay = tmp_path / "overlay.yaml"
        overlay.write_text(yaml.safe_dump(config))
        runs = []
        for folder in folders:
            for path in ("features/mini_clip_cc12m", "scores/mini_clip_cc12m", "captions", "stores"):
                shutil.rmtree(folder / "results" / path)
            rules = ("extract_features", "score_retrieval_sets", "build_captions", "score_foils")
            options = (*targets, "--cores", "1", "--allowed-rules", *rules)
            runs.append(stack.enter_context(background(folder, *options, root=checkout, overlay=overlay)))
        for run in runs:
            assert run.end() == 0, run.said()[-3000:]
    for target in targets:
        assert (folders[0] / target).read_bytes() == (folders[1] / target).read_bytes(), target
        if target == SCORES:
            assert (folders[0] / target).read_bytes() == (tiny_run / target).read_bytes()
    check_whole(tmp_path / "stores")
    assert partial_files(tmp_path) == []
    for store in stores:
        keys = keys_of(tmp_path / "stores" / store)
        assert len(set(keys)) == len(keys) > 0, store


def keys_of(store: Path) -> list[str]:
    """Keys of all that a store holds."""
    keys = [key for path in store.rglob("*.parquet") for key in pl.read_parquet(path, columns=["key"])["key"]]
    lines = [line for path in store.rglob("*.jsonl") for line in path.read_text(encoding="utf-8").splitlines()]
    return keys + [json.loads(line)["key"] for line in lines]
