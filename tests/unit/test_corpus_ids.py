import hashlib
import json
import logging

import pytest
import yaml

from crepebench import corpus_ids
from crepebench.corpus_ids import corpus_id, read_corpus_id, write_corpus_record

CFG = {"source": "files", "release": None, "reading": {"format": "cc12m"}}


def write(path, text):
    path.write_text(text)
    return str(path)


def record(folder, paths, manifests=(), **cfg):
    path = str(folder / "record.json")
    write_corpus_record("mine", paths, list(manifests), path, json.dumps({**CFG, **cfg}))
    return json.loads((folder / "record.json").read_text())


def test_record_says_what_each_file_is(tmp_path):
    paths = [write(tmp_path / "b.tsv", "u\ta jar\n"), write(tmp_path / "a.tsv", "<PERSON>\n")]
    found = record(tmp_path, paths, release="of May")
    digests = [hashlib.sha256(content).hexdigest() for content in (b"u\ta jar\n", b"<PERSON>\n")]
    assert [(file["path"], file["bytes"], file["sha256"]) for file in found["files"]] == [
        (paths[0], 8, digests[0]),
        (paths[1], 9, digests[1]),
    ]
    assert (found["corpus"], found["format"], found["release"]) == ("mine", "cc12m", "of May")
    assert (found["n_files"], found["bytes"]) == (2, 17)
    assert found["corpus_id"] == corpus_id("cc12m", {"format": "cc12m"}, digests)
    assert read_corpus_id(str(tmp_path / "record.json")) == found["corpus_id"]
    assert found["corpus_id"][:6] == "cc12m:" and len(found["corpus_id"]) == 18


def test_id_is_the_same_wherever_the_files_lie_and_whatever_they_are_called(tmp_path):
    ids = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        ids.append(record(tmp_path / name, [write(tmp_path / name / f"{name}.tsv", "u\ta jar\n")])["corpus_id"])
    assert ids[0] == ids[1]


@pytest.mark.parametrize(
    ("texts", "cfg"),
    [
        (["u\ta box\n", "u\ta jar\n"], {}),
        (["u\ta jar\nu\ta box\n"], {}),
        (["u\ta jar\n", "u\ta box \n"], {}),
        (["u\ta jar\n", "u\ta box\n"], {"reading": {"format": "tsv", "caption": 2}}),
        (["u\ta jar\n", "u\ta box\n"], {"reading": {"format": "tsv", "caption": 1}}),
        (["u\ta jar\n", "u\ta box\n"], {"source": "icons"}),
    ],
    ids=["order", "one file", "content", "format", "column", "source"],
)
def test_what_is_read_and_in_which_order_makes_the_id(tmp_path, texts, cfg):
    first = record(tmp_path, [write(tmp_path / "0", "u\ta jar\n"), write(tmp_path / "1", "u\ta box\n")])["corpus_id"]
    paths = [write(tmp_path / str(i), text) for i, text in enumerate(texts)]
    assert record(tmp_path, paths, **cfg)["corpus_id"] != first


def test_release_and_name_do_not_make_the_id(tmp_path):
    paths = [write(tmp_path / "a", "u\ta jar\n")]
    assert record(tmp_path, paths, release="x")["corpus_id"] == record(tmp_path, paths)["corpus_id"]


def test_folder_of_the_icons_world_is_hashed_file_by_file(tmp_path):
    (tmp_path / "captions").mkdir()
    for name in ("b.tsv", "a.tsv"):
        write(tmp_path / "captions" / name, name)
    found = record(tmp_path, [str(tmp_path / "captions")], source="icons")
    assert [file["path"][-5:] for file in found["files"]] == ["a.tsv", "b.tsv"]
    assert found["corpus_id"].startswith("icons:")


def write_manifest(folder, name, sha256):
    entry = {"name": name, "version": None, "member": None, "urls": ["https://h/a"], "bytes": None}
    entry |= {"sha256": sha256, "confidence": "confirmed" if sha256 else "none", "source": "us"}
    return write(folder / "manifest.yaml", yaml.safe_dump({"files": [entry]}))


def test_files_are_compared_with_the_manifest(tmp_path):
    path = write(tmp_path / "a.tsv", "u\ta jar\n")
    manifest = write_manifest(tmp_path, "a.tsv", hashlib.sha256(b"u\ta jar\n").hexdigest())
    (file,) = record(tmp_path, [path], [manifest])["files"]
    assert (file["hash_status"], file["url"]) == ("confirmed", None)
    write(tmp_path / "a.tsv", "u\ta box\n")
    with pytest.raises(ValueError, match=r"a\.tsv is not a\.tsv: its SHA-256 is"):
        record(tmp_path, [path], [manifest])


def test_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file at .*nowhere\.tsv"):
        record(tmp_path, [str(tmp_path / "nowhere.tsv")])


def test_progress_is_logged(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(corpus_ids, "LOG_INTERVAL", 0.0)
    monkeypatch.setattr(corpus_ids, "CHUNK", 4)
    with caplog.at_level(logging.INFO):
        record(tmp_path, [write(tmp_path / "a.tsv", "u\ta jar\n")])
    assert "mine: 4 of 8 bytes in 1 files hashed" in caplog.text
    assert "mine is cc12m:" in caplog.text


def test_manifests_of_corpora_that_come_with_the_workflow_can_be_read(repository):
    from crepebench.manifests import read_manifest

    for path in (repository / "resources" / "corpora").glob("*.yaml"):
        assert read_manifest(str(path))
