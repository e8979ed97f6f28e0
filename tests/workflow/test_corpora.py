"""A user's own corpus in the DAG: read, recorded, fetched, and parsed again only where a shard failed."""

import functools
import gzip
import hashlib
import http.server
import json
import re
import shutil
import threading
from typing import ClassVar

import polars as pl
import pytest
import yaml

from .conftest import assert_nothing_to_do, assert_ok, run_snakemake

CAPTIONS = [
    "a red jar on a table",
    "two blue boxes",
    "A RED JAR",
    "a cup  next to a bottle",
    "a \u200bred jar on a box",
]
VOCABULARY, RECORD = "results/vocabularies/mine.parquet", "results/corpora/mine.json"


def write_overlay(folder, shards=1, **definition):
    """Writes a config whose only corpus is `mine`."""
    definition = {"source": "files", "format": "jsonl", "caption": "text"} | definition
    corpora = {"use": ["mine"], "shards": shards, "definitions": {"mine": definition}}
    overlay = folder / "overlay.yaml"
    overlay.write_text(yaml.safe_dump({"corpora": corpora, "evaluation": {"cross_corpus": True}}), encoding="utf-8")
    return overlay


def jsonl(captions):
    return "".join(json.dumps({"text": caption}) + "\n" for caption in captions).encode()


def vocabulary(folder):
    return pl.read_parquet(folder / VOCABULARY).drop("n_parsed")


def planned(done, rule):
    """Number of jobs of a rule in a dry run."""
    assert_ok(done)
    found = re.search(rf"^{rule} +(\d+)", done.stdout, re.MULTILINE)
    return int(found[1]) if found else 0


def test_a_corpus_in_json_lines_is_parsed_and_recorded(tmp_path):
    (tmp_path / "mine").mkdir()
    rows = jsonl(CAPTIONS) + b'{"text": null}\n{"url": "u"}\n{"text"\n'
    (tmp_path / "mine" / "a.jsonl").write_bytes(rows)
    overlay = write_overlay(tmp_path, files=["mine/*.jsonl"], release="of May")
    assert_ok(run_snakemake(tmp_path, VOCABULARY, RECORD, "--cores", "2", overlay=overlay))
    rows_of = vocabulary(tmp_path).filter(pl.col("kind") != "object_relation_object").iter_rows(named=True)
    counts = {(row["attribute"], row["object"]): row["count"] for row in rows_of}
    assert [counts[key] for key in (("", "jar"), ("red", ""), ("", "box"), ("red", "jar"))] == [3, 3, 2, 3]
    accounting = next((tmp_path / "results" / "vocabularies" / "shards" / "mine").glob("*.csv")).read_text()
    for reason in ("read,8", "kept,5", "text_null,1", "text_missing,1", "json_invalid,1"):
        assert f"vocabularies/mine,caption,{reason}" in accounting
    record = json.loads((tmp_path / RECORD).read_text())
    assert record["files"][0]["sha256"] == hashlib.sha256(rows).hexdigest()
    assert (record["corpus_id"][:6], record["release"]) == ("jsonl:", "of May")
    assert_nothing_to_do(run_snakemake(tmp_path, VOCABULARY, RECORD, "-n", overlay=overlay))


def test_a_failed_shard_is_retried_alone(tmp_path):
    (tmp_path / "mine").mkdir()
    for name, captions in zip("abc", (CAPTIONS[:2], CAPTIONS[2:4], CAPTIONS[4:]), strict=True):
        (tmp_path / "mine" / f"{name}.jsonl.gz").write_bytes(gzip.compress(jsonl(captions * 300)))
    damaged, whole = tmp_path / "mine" / "b.jsonl.gz", tmp_path / "whole.gz"
    shutil.copy2(damaged, whole)
    damaged.write_bytes(whole.read_bytes()[:-30])
    overlay = write_overlay(tmp_path, shards=3, files=["mine"])
    done = run_snakemake(tmp_path, VOCABULARY, "--cores", "2", "--keep-going", overlay=overlay)
    assert done.returncode != 0
    assert re.search(r"mine/b\.jsonl\.gz: the file is damaged in block 0 \(", done.stdout + done.stderr)
    shards = tmp_path / "results" / "vocabularies" / "shards" / "mine"
    assert sorted(path.name[:10] for path in shards.glob("*.parquet")) == ["part-00000", "part-00002"]
    shutil.copy2(whole, damaged)
    plan = run_snakemake(tmp_path, VOCABULARY, "-n", "--quiet", "rules", overlay=overlay)
    assert planned(plan, "parse_corpus") == 1
    assert_ok(run_snakemake(tmp_path, VOCABULARY, "--cores", "1", overlay=overlay))
    found = vocabulary(tmp_path)
    assert found.filter((pl.col("kind") == "object") & (pl.col("object") == "jar"))["count"].to_list() == [900]
    assert found["count"].sum() % 300 == 0


def test_a_file_that_is_exchanged_for_an_older_one_gives_another_id(tmp_path):
    (tmp_path / "old.jsonl").write_bytes(jsonl(["a jar"]))
    (tmp_path / "a.jsonl").write_bytes(jsonl(["a box"]))
    overlay = write_overlay(tmp_path, files=["a.jsonl"])
    assert_ok(run_snakemake(tmp_path, RECORD, "--cores", "1", overlay=overlay))
    before = json.loads((tmp_path / RECORD).read_text())["corpus_id"]
    assert_nothing_to_do(run_snakemake(tmp_path, RECORD, "-n", overlay=overlay))
    shutil.copy2(tmp_path / "old.jsonl", tmp_path / "a.jsonl")
    assert_ok(run_snakemake(tmp_path, RECORD, "--cores", "1", overlay=overlay))
    assert json.loads((tmp_path / RECORD).read_text())["corpus_id"] != before


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Serves files and notes what is asked for."""

    asked: ClassVar[list[str]] = []

    def log_request(self, *_):
        self.asked.append(self.path)

    def log_message(self, *_):
        pass


@pytest.fixture
def manifest(tmp_path):
    """A manifest of two files of captions on a local server, with the second file's SHA-256 unknown."""
    served = tmp_path / "served"
    served.mkdir()
    entries = []
    handler = functools.partial(QuietHandler, directory=str(served))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        for name, captions, is_known in (("b.jsonl", CAPTIONS[:3], True), ("a.jsonl", CAPTIONS[3:], False)):
            content = jsonl(captions)
            (served / name).write_bytes(content)
            entry = {"name": name, "version": None, "member": None, "bytes": len(content) if is_known else None}
            entry["urls"] = [f"http://127.0.0.1:{running.server_port}/{n}" for n in ("gone", name)]
            entry["sha256"] = hashlib.sha256(content).hexdigest() if is_known else None
            entry |= {"confidence": "confirmed" if is_known else "none", "source": "us"}
            entries.append(entry)
        (tmp_path / "manifest.yaml").write_text(yaml.safe_dump({"files": entries}))
        QuietHandler.asked.clear()
        yield tmp_path / "manifest.yaml"
        running.shutdown()
        thread.join()


def test_a_corpus_is_fetched_once_by_its_manifest(manifest, tmp_path):
    overlay = write_overlay(tmp_path, manifest="manifest.yaml")
    assert_ok(run_snakemake(tmp_path, VOCABULARY, RECORD, "--cores", "2", overlay=overlay))
    folder = tmp_path / "data" / "downloads" / "corpora" / "mine"
    assert {path.name for path in folder.glob("[!.]*.jsonl")} == {"a.jsonl", "b.jsonl"}
    assert sorted(QuietHandler.asked) == ["/a.jsonl", "/b.jsonl", "/gone", "/gone"]
    record = json.loads((tmp_path / RECORD).read_text())
    assert [(file["path"][-7:], file["hash_status"]) for file in record["files"]] == [
        ("b.jsonl", "confirmed"),
        ("a.jsonl", "unknown"),
    ]
    assert all(file["url"].startswith("http://127.0.0.1:") for file in record["files"])
    assert vocabulary(tmp_path)["count"].sum() > 10
    QuietHandler.asked.clear()
    manifest.write_text(manifest.read_text() + "\n# a remark\n")
    plan = run_snakemake(tmp_path, VOCABULARY, RECORD, "-n", "--quiet", "rules", overlay=overlay)
    assert (planned(plan, "download_file"), planned(plan, "parse_corpus")) == (0, 0)


def test_a_plan_lists_what_a_corpus_lacks(manifest, tmp_path):
    overlay = write_overlay(tmp_path, manifest="manifest.yaml")
    done = run_snakemake(tmp_path, "plan", "--cores", "1", "--quiet", "all", overlay=overlay)
    assert_ok(done)
    assert re.search(r"^download_file +2 ", done.stdout, re.MULTILINE)
    assert "data/downloads/corpora/mine/a.jsonl\n    http://127.0.0.1" in done.stdout
    assert QuietHandler.asked == []
