"""Fetch the weights of models into a store, once, so that jobs that compute need no network.

Each file is fetched by `crepebench.downloads`: one process at a time, under a temporary name, continued after a break,
and compared with the SHA-256 that the hub, the URL or the table of known models states. A model's index names the
files; `load_model` is given the index, and then works offline.
"""

import csv
import hashlib
import json
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

import requests

from crepebench.downloads import PATIENCE, download_file
from crepebench.files import atomic_path
from crepebench.manifests import CONFIRMED, NONE, ManifestEntry
from crepebench.weight_sources import HubFiles, UrlFile, weight_sources

logger = logging.getLogger(__name__)

INDEX_SUFFIX = ".weights.json"
ENDPOINT = "https://huggingface.co"
PICKLED = (".bin", ".pt", ".pth", ".ckpt")
TIMEOUT = 60
"""Seconds for an answer of the hub that lists files."""


class WeightsError(OSError):
    """Weights cannot be fetched, are not what they should be, or are no longer in the store."""


def fetch_weights(table_path: str, index_path: str, cfg: str) -> None:
    """Fetches the files of a model that the store lacks, and writes the index of all of them.

    Args:
        table_path: table of known models, with the SHA-256 of files at URLs as far as they are known.
        index_path: JSON to write; its name ends in INDEX_SUFFIX.
        cfg: JSON of `store` (folder) and `model` (config entry).

    Raises:
        WeightsError: the hub does not list a file that is needed, or a file is not the one that was stated.
        DownloadError: a file cannot be fetched.
        ValueError: the config entry names nothing that can be fetched.
    """
    config = json.loads(cfg)
    known, store, files = read_hashes(table_path), Path(config["store"]), []
    for source in weight_sources(config["model"]):
        if isinstance(source, UrlFile):
            files.append(_fetch_url(source, known.get(source.url, source.sha256), store))
        else:
            files += _fetch_hub(source, store)
    with atomic_path(index_path) as partial:
        Path(partial).write_text(json.dumps({"files": files}, indent=2) + "\n", encoding="utf-8")
    logger.info("%d files, %s bytes", len(files), f"{sum(file['bytes'] for file in files):,}")


def read_hashes(table_path: str) -> dict[str, str]:
    """Reads the SHA-256 of known files from the table of models, by URL."""
    with open(table_path, encoding="utf-8", newline="") as stream:
        return {row["source_url"]: row["sha256"] for row in csv.DictReader(stream) if row["sha256"]}


def _fetch_url(source: UrlFile, sha256: str, store: Path) -> dict:
    """Fetches the file at a URL; its folder in the store is named by the URL."""
    digest = hashlib.sha256(source.url.encode()).hexdigest()[:12]
    name = source.url.partition("?")[0].rpartition("/")[2]
    if not is_path_within(name):
        raise WeightsError(f"{source.url} names no file")
    whole = sha256 if len(sha256) == 64 else None
    entry = ManifestEntry(name, (source.url,), sha256=whole, confidence=CONFIRMED if whole else NONE)
    target = store / "urls" / digest / name
    record = download_file(entry, str(target), PATIENCE)
    if not record["sha256"].startswith(sha256):
        target.unlink()
        raise WeightsError(f"{source.url}: the SHA-256 is {record['sha256']}, which does not begin with {sha256}")
    return _file(target, record)


def _fetch_hub(source: HubFiles, store: Path) -> list[dict]:
    """Fetches files of a repository of the hub, all of one revision."""
    endpoint = os.environ.get("HF_ENDPOINT", ENDPOINT).rstrip("/")
    listing = _list_repository(f"{endpoint}/api/models/{source.repository}?blobs=true")
    try:
        siblings = {sibling["rfilename"]: sibling for sibling in listing["siblings"]}
        revision, files = listing["sha"], []
    except (KeyError, TypeError) as error:
        raise WeightsError(f"{source.repository}: the hub's list of its files has another form ({error!r})") from error
    for name in (revision, *siblings):  # they become paths in the store
        if not is_path_within(name):
            raise WeightsError(f"{source.repository}: the hub lists {name!r}, which leads out of its folder")
    for name in chosen_files(source, list(siblings)):
        sibling = siblings[name]
        sha256 = (sibling.get("lfs") or {}).get("sha256")
        entry = ManifestEntry(
            name=Path(name).name,
            urls=(f"{endpoint}/{source.repository}/resolve/{revision}/{quote(name)}",),
            n_bytes=sibling.get("size") or None,
            sha256=sha256,
            confidence=CONFIRMED if sha256 else NONE,
        )
        target = store / "hub" / source.repository.replace("/", "--") / revision / name
        record = download_file(entry, str(target), PATIENCE)
        if not sha256 and sibling.get("blobId") not in (None, git_blob_id(target.read_bytes())):
            target.unlink()
            raise WeightsError(f"{entry.urls[0]}: the content is not the one that the hub lists")
        files.append(_file(target, record))
    return files


def is_path_within(name: object) -> bool:
    """Says whether a name of the hub's, as a path, stays within the folder that it is joined to."""
    parts = name.split("/") if isinstance(name, str) else [""]
    return all(part not in ("", ".", "..") and not set(part) & set("\\\0") for part in parts)


def _list_repository(url: str) -> dict:
    """Returns the hub's list of a repository's files."""
    try:
        with requests.Session() as session:
            session.mount(url, requests.adapters.HTTPAdapter(max_retries=3))
            answer = session.get(url, timeout=TIMEOUT)
            answer.raise_for_status()
            return answer.json()
    except (requests.RequestException, ValueError) as error:
        raise WeightsError(f"{url}: the hub does not list the files ({error})") from error


def chosen_files(source: HubFiles, names: Sequence[str]) -> list[str]:
    """Returns which files of a repository are fetched.

    Raises:
        WeightsError: none of those of which one is needed is there.
    """
    chosen = [name for name in source.all_of if name in names]
    if source.one_of:
        first = next((name for name in source.one_of if name in names), None)
        if first is None:
            raise WeightsError(f"{source.repository} on the hub holds none of {', '.join(source.one_of)}")
        chosen.insert(0, first)
    if source.all_weights:
        safe = sorted(name for name in names if name.endswith(".safetensors"))
        weights = safe or sorted(name for name in names if name.endswith(PICKLED))
        if not weights:
            raise WeightsError(f"{source.repository} on the hub holds no weights")
        chosen = weights + chosen
    return chosen


def git_blob_id(content: bytes) -> str:
    """Returns the id by which git, and so the hub, knows a small file."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def _file(target: Path, record: Mapping) -> dict:
    return {"path": str(target), **{key: record[key] for key in ("url", "sha256", "bytes")}}


def fetched_paths(paths: Sequence[str]) -> list[str]:
    """Returns paths with each index replaced by the files that it names; with an index, the hub is not asked any more.

    Raises:
        WeightsError: a file of an index is no longer there, or has another size.
    """
    found = []
    for path in paths:
        if not path.endswith(INDEX_SUFFIX):
            found.append(path)
            continue
        go_offline()
        for file in json.loads(Path(path).read_text(encoding="utf-8"))["files"]:
            target = Path(file["path"])
            if not target.is_file() or target.stat().st_size != file["bytes"]:
                raise WeightsError(f"{target} has left the store; fetch it again with --forcerun fetch_weights")
            found.append(file["path"])
    return found


def go_offline() -> None:
    """Keeps the libraries of this process from asking the hub for anything."""
    import huggingface_hub.constants

    os.environ["HF_HUB_OFFLINE"] = os.environ["TRANSFORMERS_OFFLINE"] = "1"
    huggingface_hub.constants.HF_HUB_OFFLINE = True  # it reads the variable only once
