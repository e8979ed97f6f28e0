import json

import numpy as np
import pytest
import torch

from crepebench import peakpatch_features
from crepebench.models import load_model
from crepebench.peakpatch_features import disk_bytes, extract_captions, read_captions
from crepebench.text_layers import TextLayers

from .peakpatch_files import DIM, N_LAYERS, WIDTH, write_backbone

TEXTS = sorted(["a red jar", "a red jar without a lid", "no umbrella", "a b c d e f g h", "umbrella"])


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return load_model({"family": "open_clip"}, write_backbone(tmp_path_factory.mktemp("backbone") / "a")[1])


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    monkeypatch.setattr(peakpatch_features, "SHARD", 3)


def direct(model, texts, whole=False):
    return TextLayers(model.model).read(model.tokenise(texts).ids, 2, 1, whole)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(("tokens", "near"), [("float32", 1e-6), ("float16", 2e-3), ("recomputed", 1e-6)])
def test_stored_features_are_those_of_a_direct_pass(model, tmp_path, tokens, near, whole):
    index = str(tmp_path / "index.json")
    extract_captions(model, TEXTS, 2, 1, index, tokens, whole)
    texts = [TEXTS[i] for i in (4, 0, 2)]
    final = model.encode_texts(texts)
    read = direct(model, texts, whole)
    batch = read_captions(index, texts, final, model).batch([0, 1, 2])
    assert (batch.final.numpy() == final).all()
    assert torch.equal(batch.valid, read.valid)
    rows = torch.ones_like(read.valid) if whole else read.valid
    assert (batch.tokens - read.tokens)[rows].abs().max() < near
    assert (batch.peak - read.peak).abs().max() < 1e-6 and (batch.anchor - read.anchor).abs().max() < 1e-5
    assert batch.tokens.dtype == torch.float32


@pytest.mark.parametrize("tokens", ["float32", "float16", "recomputed"])
def test_cost_on_the_disk_is_said_before(model, tmp_path, tokens):
    index = tmp_path / "index.json"
    extract_captions(model, TEXTS, 2, 1, str(index), tokens)
    said = json.loads(index.read_text())
    n_tokens = int(direct(model, TEXTS).valid.sum())
    assert said["n_tokens"] == n_tokens
    assert said["bytes"] == disk_bytes(len(TEXTS), n_tokens, WIDTH, DIM, 77, tokens)
    on_disk = sum(path.stat().st_size for path in tmp_path.glob("*.safetensors"))
    assert said["bytes"] <= on_disk <= said["bytes"] + 2 * 700  # headers of two shards
    assert {"peak": 2, "anchor": 1, "n_layers": N_LAYERS}.items() <= said.items()


def test_papers_sequences_would_take_167_gigabytes():
    whole = disk_bytes(2_120_000, 2_120_000 * 77, 512, 512, 77, "float16")
    assert 167e9 < whole < 180e9


def test_finished_shards_of_a_killed_run_are_kept_and_others_removed(model, tmp_path, monkeypatch):
    index = tmp_path / "index.json"
    (tmp_path / "old.safetensors").write_bytes(b"")
    extract_captions(model, TEXTS, 2, 1, str(index), "float32")
    first = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("*.safetensors")}
    assert len(first) == 2 and "old.safetensors" not in first
    (tmp_path / json.loads(index.read_text())["shards"][1]).unlink()
    written = []
    write = peakpatch_features._write_shard
    monkeypatch.setattr(peakpatch_features, "_write_shard", lambda *a: (written.append(a[0].name), write(*a)))
    extract_captions(model, TEXTS, 2, 1, str(index), "float32")
    assert written == json.loads(index.read_text())["shards"][1:]
    extract_captions(model, TEXTS, 2, 2, str(index), "float32")
    assert len(written) == 3  # another layer, other shards


def test_too_small_a_disk_is_refused_with_the_cost(model, tmp_path, monkeypatch):
    free = type("Usage", (), {"free": 10})
    monkeypatch.setattr(peakpatch_features.shutil, "disk_usage", lambda _: free)
    with pytest.raises(OSError, match=r"the features of 5 captions need [0-9,]+ bytes"):
        extract_captions(model, TEXTS, 2, 1, str(tmp_path / "index.json"), "float32")


def test_wrong_settings_are_refused(model, tmp_path):
    with pytest.raises(ValueError, match="unknown way 'float8' to keep token features"):
        extract_captions(model, TEXTS, 2, 1, str(tmp_path / "index.json"), "float8")
    with pytest.raises(ValueError, match="layers of a NoneType are not read"):
        extract_captions(None, TEXTS, 2, 1, str(tmp_path / "index.json"), "float32")
    with pytest.raises(ValueError, match="there are no captions"):
        extract_captions(model, [], 2, 1, str(tmp_path / "index.json"), "float32")


def test_caption_of_other_data_is_not_found(model, tmp_path):
    extract_captions(model, TEXTS, 2, 1, str(tmp_path / "index.json"), "float32")
    with pytest.raises(KeyError):
        read_captions(str(tmp_path / "index.json"), ["a boat"], np.zeros((1, DIM), np.float32))
