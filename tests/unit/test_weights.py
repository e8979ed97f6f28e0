import csv
import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from crepebench.downloads import DownloadError
from crepebench.models import load_model
from crepebench.weight_sources import HubFiles, UrlFile, is_fetched, stated_hash, tag_source, weight_sources
from crepebench.weights import WeightsError, chosen_files, fetch_weights, fetched_paths, git_blob_id

from .model_files import TEXTS, write_bert_vocabulary
from .test_flava_models import write_flava
from .test_open_clip_models import KINDS, write_folder

REVISION = "0123abc"
FLAVA_FILES = ("config.json", "model.safetensors", "vocab.txt")


class Hub:
    """A server with the two answers of the hub that are used: the list of a repository's files, and a file.

    `cut` is after how many bytes the next answer breaks off.
    """

    def __init__(self):
        self.repositories, self.plain, self.requests, self.cut = {}, {}, [], None
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                hub.requests.append(self.path)
                body = hub.body(self.path)
                if body is None:
                    self.send_error(404)
                    return
                start = int(self.headers.get("Range", "bytes=0-")[6:-1])
                self.send_response(206 if start else 200)
                if start:
                    self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
                self.send_header("ETag", '"fixed"')
                self.send_header("Content-Length", str(len(body) - start))
                self.end_headers()
                end = len(body)
                if "resolve" in self.path and hub.cut:
                    end, hub.cut = hub.cut, None
                self.wfile.write(body[start:end])

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def add(self, repository, files, is_large=lambda name: name.endswith(".safetensors")):
        """Adds a repository; `files` are bodies by name, of which the large ones are listed with their SHA-256."""
        siblings = []
        for name, body in files.items():
            sibling = {"rfilename": name, "size": len(body), "blobId": git_blob_id(body)}
            if is_large(name):
                sibling |= {"lfs": {"sha256": hashlib.sha256(body).hexdigest()}, "blobId": "of the pointer"}
            siblings.append(sibling)
        self.repositories[repository] = (files, {"sha": REVISION, "siblings": siblings})

    def body(self, path):
        path = path.partition("?")[0]
        for repository, (files, listing) in self.repositories.items():
            if path == f"/api/models/{repository}":
                return json.dumps(listing).encode()
            if path.startswith(f"/{repository}/resolve/{REVISION}/"):
                return files.get(path.removeprefix(f"/{repository}/resolve/{REVISION}/"))
        return self.plain.get(path)


@pytest.fixture
def hub(monkeypatch):
    hub = Hub()
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    yield hub
    hub.server.shutdown()
    hub.server.server_close()


@pytest.fixture
def online(monkeypatch):
    """Undoes what keeps the process from the hub."""
    import huggingface_hub.constants

    for variable in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.setenv(variable, "0")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)


class Fetch:
    """Calls the prefetch in a folder."""

    def __init__(self, folder):
        self.index, self.table, self.store = folder / "m.weights.json", folder / "models.csv", folder / "store"
        self.write_table([])

    def write_table(self, rows):
        with open(self.table, "w", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerows([["source_url", "sha256"], *rows])

    def __call__(self, definition):
        cfg = json.dumps({"store": str(self.store), "model": definition})
        fetch_weights(str(self.table), str(self.index), cfg)
        return json.loads(self.index.read_text())["files"]


@pytest.fixture
def fetch(tmp_path):
    return Fetch(tmp_path)


def bodies(folder, names=None):
    return {path.name: path.read_bytes() for path in folder.iterdir() if names is None or path.name in names}


def test_folder_of_open_clip_is_fetched_and_loaded_offline(hub, fetch, tmp_path, online):
    import huggingface_hub

    paths = write_folder(tmp_path / "a", KINDS["siglip"])[1]
    hub.add("org/model", {**bodies(tmp_path / "a"), "README.md": b"x", "open_clip_pytorch_model.bin": b"pickle"})
    definition = {"family": "open_clip", "weights": "hf-hub:org/model"}
    files = fetch(definition)
    names = ["open_clip_config.json", "open_clip_model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    assert sorted(file["path"].rpartition("/")[2] for file in files) == names
    hub.server.shutdown()
    assert not huggingface_hub.is_offline_mode()
    model = load_model(definition, [str(fetch.index)])
    assert huggingface_hub.is_offline_mode()
    expected = load_model({"family": "open_clip"}, paths)
    assert (model.encode_texts(TEXTS) == expected.encode_texts(TEXTS)).all()
    assert model.identity == expected.identity


def test_flava_is_fetched_and_loaded_offline(hub, fetch, tmp_path, online):
    write_flava(tmp_path / "a")
    hub.add("facebook/flava-full", bodies(tmp_path / "a", FLAVA_FILES))
    definition = {"family": "flava", "weights": "facebook/flava-full"}
    assert len(fetch(definition)) == 3
    found = load_model(definition, [str(fetch.index)]).encode_texts(TEXTS)
    expected = load_model({"family": "flava", "weights": str(tmp_path / "a")}).encode_texts(TEXTS)
    assert np.abs(found - expected).max() == 0


def test_what_is_in_the_store_is_not_fetched_again(hub, fetch):
    hub.add("org/model", {"a.safetensors": b"weights"})
    definition = {"family": "clip_fine_tune", "architecture": "ViT-B-32", "weights": "hf-hub:org/model"}
    first = fetch(definition)
    assert fetch(definition) == first
    assert [path for path in hub.requests if "resolve" in path] == [f"/org/model/resolve/{REVISION}/a.safetensors"]


def test_transfer_that_broke_off_goes_on(hub, fetch, monkeypatch):
    from crepebench import weights
    from crepebench.transfers import Patience

    monkeypatch.setattr(weights, "PATIENCE", Patience(backoff=0.0))
    body = bytes(range(256)) * 1000
    hub.add("org/model", {"a.safetensors": body})
    hub.cut = 100_000
    files = fetch({"family": "clip_fine_tune", "architecture": "ViT-B-32", "weights": "hf-hub:org/model"})
    assert files[0]["sha256"] == hashlib.sha256(body).hexdigest()
    assert sum("resolve" in path for path in hub.requests) == 2


def test_half_a_file_in_the_store_is_not_taken_for_the_whole(hub, fetch):
    hub.add("org/model", {"a.safetensors": b"weights"})
    target = fetch.store / "hub" / "org--model" / REVISION / "a.safetensors"
    target.parent.mkdir(parents=True)
    target.write_bytes(b"weig")
    fetch({"family": "clip_fine_tune", "architecture": "ViT-B-32", "weights": "hf-hub:org/model"})
    assert target.read_bytes() == b"weights"


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("a.safetensors", DownloadError, "its SHA-256 is"),
        ("a.bin", WeightsError, "the content is not the one that the hub lists"),
    ],
)
def test_other_content_than_the_hub_lists_is_refused(hub, fetch, name, error, message):
    hub.add("org/model", {name: b"weights"})
    hub.repositories["org/model"][0][name] = b"WEIGHTS"
    with pytest.raises(error, match=message):
        fetch({"family": "clip_fine_tune", "architecture": "ViT-B-32", "weights": "hf-hub:org/model"})
    assert not fetch.index.exists()
    assert not [path for path in fetch.store.rglob(name)]


def test_repository_that_is_not_there_is_named(hub, fetch):
    with pytest.raises(WeightsError, match=r"/api/models/org/none.*: the hub does not list the files"):
        fetch({"family": "flava", "weights": "org/none"})


def test_file_at_a_url_is_compared_with_the_table(hub, fetch):
    hub.plain["/negclip.pth"] = b"weights"
    url = f"{hub.url}/negclip.pth"
    fetch.write_table([[url, hashlib.sha256(b"weights").hexdigest()]])
    definition = {"family": "clip_fine_tune", "architecture": "ViT-B-32", "weights": url}
    assert fetch(definition)[0]["bytes"] == 7
    fetch.write_table([[url, hashlib.sha256(b"other").hexdigest()]])
    hub.plain["/negclip.pth"] = b"WEIGHTS"
    with pytest.raises(DownloadError, match="its SHA-256 is"):
        fetch(definition)


def test_file_at_a_url_is_compared_with_the_hash_in_its_name(hub, fetch):
    start = hashlib.sha256(b"weights").hexdigest()[:8]
    for name in (f"a-{start}.pt", "a-00000000.pt"):
        hub.plain[f"/{name}"] = b"weights"
    definition = {"family": "open_clip", "architecture": "RN50"}
    fetch({**definition, "weights": f"{hub.url}/a-{start}.pt"})
    with pytest.raises(WeightsError, match="does not begin with 00000000"):
        fetch({**definition, "weights": f"{hub.url}/a-00000000.pt"})
    assert not list(fetch.store.rglob("a-00000000.pt"))


def test_albef_has_its_vocabulary_beside_it(hub, fetch, tmp_path):
    write_bert_vocabulary(tmp_path / "bert")
    hub.add("google-bert/bert-base-uncased", {**bodies(tmp_path / "bert"), "model.safetensors": b"not wanted"})
    hub.plain["/ALBEF.pth"] = b"weights"
    files = fetch({"family": "albef", "weights": f"{hub.url}/ALBEF.pth"})
    assert [file["path"].rpartition("/")[2] for file in files] == ["ALBEF.pth", "vocab.txt"]


def test_file_that_has_left_the_store_is_named(hub, fetch):
    hub.add("org/model", {"a.safetensors": b"weights"})
    files = fetch({"family": "clip_fine_tune", "architecture": "ViT-B-32", "weights": "hf-hub:org/model"})
    (fetch.store / "hub" / "org--model" / REVISION / "a.safetensors").unlink()
    with pytest.raises(WeightsError, match=r"a\.safetensors has left the store; .* --forcerun fetch_weights"):
        fetched_paths([str(fetch.index)])
    assert fetched_paths([files[0]["path"], "b.pt"]) == [files[0]["path"], "b.pt"]


@pytest.mark.parametrize(
    ("source", "names", "expected"),
    [
        (HubFiles("a/b", ("x.safetensors", "x.bin"), ("t.json",)), ["x.bin", "t.json", "y"], ["x.bin", "t.json"]),
        (HubFiles("a/b", ("x.safetensors", "x.bin")), ["x.bin", "x.safetensors"], ["x.safetensors"]),
        (
            HubFiles("a/b", all_weights=True),
            ["v/m.safetensors", "t/m.safetensors", "m.pt"],
            ["t/m.safetensors", "v/m.safetensors"],
        ),
        (HubFiles("a/b", all_weights=True), ["b.pth", "README.md"], ["b.pth"]),
    ],
)
def test_safe_files_are_preferred(source, names, expected):
    assert chosen_files(source, names) == expected


@pytest.mark.parametrize("source", [HubFiles("a/b", ("x.bin",)), HubFiles("a/b", all_weights=True)])
def test_repository_without_weights_is_named(source):
    with pytest.raises(WeightsError, match=r"a/b on the hub holds (none of x\.bin|no weights)"):
        chosen_files(source, ["README.md"])


def test_tag_is_fetched_from_the_hub_with_a_safe_file_first():
    assert tag_source("RN50-quickgelu", "cc12m").repository == "timm/resnet50_clip.cc12m"
    assert tag_source("RN50-quickgelu", "cc12m").one_of[0].endswith(".safetensors")
    assert tag_source("ViTamin-S", "datacomp1b").one_of == ("pytorch_model.safetensors", "pytorch_model.bin")


def test_tag_whose_repository_is_another_tags_is_fetched_by_its_url():
    source = tag_source("ViT-B-16-plus-240", "laion400m_e32")
    assert isinstance(source, UrlFile)
    assert source.url.endswith("vit_b_16_plus_240-laion400m_e32-699c4b84.pt")
    assert source.sha256 == "699c4b84"


def test_unknown_tag_is_named():
    with pytest.raises(ValueError, match="open_clip has no tag 'cc13m' for 'RN50'; it has openai, yfcc15m, cc12m"):
        tag_source("RN50", "cc13m")


def test_tag_of_siglip_comes_with_its_vocabulary():
    definition = {"family": "open_clip", "architecture": "ViT-B-16-SigLIP", "weights": "webli"}
    assert [source.repository for source in weight_sources(definition)] == ["timm/ViT-B-16-SigLIP"] * 2


def test_openais_tag_is_that_of_its_architecture():
    definition = {"family": "openai_clip", "architecture": "ViT-L/14", "weights": "openai"}
    assert weight_sources(definition)[0].repository == "timm/vit_large_patch14_clip_224.openai"


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ("openai", True),
        ("hf-hub:org/model", True),
        ("facebook/flava-full", True),
        ("https://example.org/a.pt", True),
        ("negclip.pth", False),
        ("weights/negclip.pth", False),
        ("./model", False),
        ("", False),
    ],
)
def test_names_of_the_network_are_told_from_paths(weights, expected):
    assert is_fetched({"weights": weights}) == expected


def test_folder_that_is_there_is_not_fetched(tmp_path, monkeypatch):
    (tmp_path / "facebook" / "flava-full").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert not is_fetched({"weights": "facebook/flava-full"})


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://x.org/models/" + "ab" * 32 + "/RN50.pt", "ab" * 32),
        ("https://x.org/rn50-quickgelu-cc12m-f000538c.pt", "f000538c"),
        ("https://x.org/ALBEF.pth", ""),
    ],
)
def test_hash_in_a_url_is_read(url, expected):
    assert stated_hash(url) == expected


def test_weights_at_a_url_must_be_fetched_before():
    with pytest.raises(ValueError, match=r"https://example\.org/a\.pt is not fetched: rule fetch_weights does that"):
        load_model({"family": "albef", "weights": "https://example.org/a.pt"})


@pytest.mark.parametrize(
    "name", ["../../out.safetensors", "/out.safetensors", "a//out.safetensors", "a\\..\\out.bin", ""]
)
def test_name_on_the_hub_that_leads_out_of_the_store_is_refused(hub, fetch, tmp_path, name):
    hub.add("me/model", {name: b"x" * 99, "model.safetensors": b"x" * 99})
    with pytest.raises(WeightsError, match=r"me/model: the hub lists .* which leads out of its folder"):
        fetch({"family": "clip_fine_tune", "weights": "hf-hub:me/model"})
    assert not list(tmp_path.rglob("*.safetensors"))


def test_list_of_the_hub_in_another_form_is_named(hub, fetch):
    hub.repositories["me/model"] = ({}, {"siblings": [7]})
    with pytest.raises(WeightsError, match="me/model: the hub's list of its files has another form"):
        fetch({"family": "clip_fine_tune", "weights": "hf-hub:me/model"})


@pytest.mark.parametrize("url", ["https://h/..", "https://h/a/", "https://h/.?x=a.pt", "https://h/..\\a.pt"])
def test_url_that_names_no_file_is_refused(fetch, url):
    with pytest.raises(WeightsError, match="names no file"):
        fetch({"family": "clip_fine_tune", "weights": url})
