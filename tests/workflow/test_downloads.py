"""A run fetches what the folder of Visual Genome lacks, from a local server in place of the true one."""

import functools
import hashlib
import http.server
import json
import threading
from pathlib import Path
from typing import ClassVar

import polars as pl
import pytest
import yaml

from .conftest import TINY, assert_nothing_to_do, assert_ok, run_snakemake

NAMES = {"objects.json.zip": "objects_v1_2.json.zip", "relationships.json.zip": "relationships_v1_2.json.zip"}
"""Names of version 1.2, where they differ from those of the icons world."""
IMAGES = "results/visual_genome/images.parquet"


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Serves files and notes what is asked for."""

    asked: ClassVar[list[str]] = []

    def log_message(self, *_):
        self.asked.append(self.path)


@pytest.fixture
def server(tiny_run, tmp_path):
    """Address of a server of the tiny run's Visual Genome under the true names, and their paths."""
    folder = tmp_path / "served"
    folder.mkdir()
    paths = []
    for path in sorted((tiny_run / "results" / "icons" / "visual_genome").iterdir()):
        paths.append(folder / NAMES.get(path.name, path.name))
        paths[-1].write_bytes(path.read_bytes())
    handler = functools.partial(QuietHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}", paths
        running.shutdown()
        thread.join()


@pytest.fixture
def manifest(server, checkout):
    """The checkout's manifest, for that server."""
    address, paths = server
    path = checkout / "resources" / "visual_genome" / "manifest.yaml"
    text = path.read_text(encoding="utf-8")
    entries = yaml.safe_load(text)["files"]
    for entry in entries:
        entry["urls"] = [f"{address}/{entry['name']}"]
        for served in paths:
            if served.name == entry["name"]:
                content = served.read_bytes()
                entry |= {
                    "bytes": len(content),
                    "sha256": hashlib.sha256(content).hexdigest(),
                    "confidence": "confirmed",
                }
    path.write_text(yaml.safe_dump({"files": entries}), encoding="utf-8")
    yield path
    path.write_text(text, encoding="utf-8")


def overlay_of(folder: Path, **keys) -> Path:
    config = yaml.safe_load(TINY.read_text(encoding="utf-8"))
    overlay = folder / "overlay.yaml"
    overlay.write_text(yaml.safe_dump({**config, "visual_genome": {"source": "mine", **keys}}), encoding="utf-8")
    return overlay


def test_a_run_fetches_what_is_missing_once_and_records_it(manifest, server, checkout, tmp_path):
    address, paths = server
    run = tmp_path / "run"
    (run / "mine").mkdir(parents=True)
    own = next(path for path in paths if path.name == "attributes.json.zip")
    (run / "mine" / own.name).write_bytes(own.read_bytes())
    overlay = overlay_of(tmp_path)
    QuietHandler.asked.clear()
    assert_ok(run_snakemake(run, IMAGES, "--cores", "2", overlay=overlay, root=checkout))
    records = json.loads((run / "results" / "visual_genome" / "files.json").read_text())
    assert {Path(record["path"]).name: record["url"] for record in records} == {
        path.name: None if path == own else f"{address}/{path.name}" for path in paths
    }
    assert {record["hash_status"] for record in records} == {"confirmed"}
    assert sorted(QuietHandler.asked) == sorted(f"/{path.name}" for path in paths if path != own)
    images = pl.read_parquet(run / IMAGES)
    assert images["archive"].null_count() == 1
    assert set(images["archive"]) - {None} == {
        f"data/downloads/visual_genome/{n}" for n in ("images.zip", "images2.zip")
    }
    assert_nothing_to_do(run_snakemake(run, IMAGES, "-n", overlay=overlay, root=checkout))
    assert [path.name for path in (run / "mine").iterdir()] == [own.name]


def test_a_file_that_is_not_the_manifests_stops_the_run_and_is_named(manifest, server, checkout, tmp_path):
    run = tmp_path / "run"
    (run / "mine").mkdir(parents=True)
    for path in server[1]:
        content = path.read_bytes()
        (run / "mine" / path.name).write_bytes(content[:-1] + b"?" if path.name == "images.zip" else content)
    done = run_snakemake(run, IMAGES, "--cores", "1", overlay=overlay_of(tmp_path), root=checkout)
    assert done.returncode != 0
    assert "mine/images.zip is not images.zip: its SHA-256 is" in done.stdout + done.stderr
    assert not (run / IMAGES).exists()
