"""Name a corpus by what its files hold, so that a result can say which list of captions it rests on.

There is more than one YFCC-15M, and LAION's lists were published anew after filtering; a name alone does not tell them
apart. So the id of a corpus holds a digest of its files, and its record says what each file is.
"""

import hashlib
import json
import logging
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from crepebench.corpora import list_files
from crepebench.downloads import accept_local_file
from crepebench.files import atomic_path
from crepebench.manifests import UNKNOWN, ManifestEntry, read_manifest, size_text

logger = logging.getLogger(__name__)

CHUNK = 8 * 1024 * 1024
LOG_INTERVAL = 10.0
"""Seconds between two reports of progress."""


def corpus_id(source: str, reading: Mapping, digests: Sequence[str]) -> str:
    """Returns the id of a corpus: what it is, and the first 12 digits of a digest.

    Args:
        source: format of the files, or "icons".
        reading: keys of its definition that choose what is read in the files.
        digests: SHA-256 of each file, in their order.
    """
    content = json.dumps([source, reading, list(digests)], sort_keys=True)
    return f"{source}:{hashlib.sha256(content.encode()).hexdigest()[:12]}"


def write_corpus_record(
    corpus: str, corpus_paths: list[str], manifest_paths: list[str], record_path: str, cfg: str
) -> None:
    """Hashes the files of a corpus, checks them against its manifest, and writes what they are.

    Args:
        corpus: name of the corpus.
        corpus_paths: its files, or folders of them, in the order in which they are read.
        manifest_paths: its manifest, if it has one.
        record_path: JSON to write: corpus, corpus_id, source, format, release (None if not stated), n_files, bytes, and
            files: path, bytes, sha256, url (None unless fetched here) and hash_status (see `manifests.check_file`).
        cfg: JSON of `source`, `release` and `reading`, the keys that choose what is read in the files.

    Raises:
        FileNotFoundError: a file is not there.
        ValueError: a file is not what the manifest says.
    """
    config = json.loads(cfg)
    entries = {name: entry for path in manifest_paths for name, entry in read_manifest(path).items()}
    paths = list_files(corpus_paths)
    total = sum(Path(path).stat().st_size for path in paths)
    progress = _Progress(corpus, len(paths), total)
    files = []
    for path in paths:
        facts = _file_facts(path, entries.get(Path(path).name), progress)
        files.append({"path": path, **{key: facts[key] for key in ("bytes", "sha256", "url", "hash_status")}})
    format_ = config["reading"]["format"]
    source = config["source"] if config["source"] != "files" else format_
    record = {
        "corpus": corpus,
        "corpus_id": corpus_id(source, config["reading"], [file["sha256"] for file in files]),
        "source": config["source"],
        "format": format_,
        "release": config["release"],
        "n_files": len(files),
        "bytes": sum(file["bytes"] for file in files),
        "files": files,
    }
    logger.info("%s is %s: %d files, %s", corpus, record["corpus_id"], len(files), size_text(record["bytes"]))
    with atomic_path(record_path) as partial:
        Path(partial).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def read_corpus_id(record_path: str) -> str:
    """Reads the id of a corpus from its record."""
    return json.loads(Path(record_path).read_text(encoding="utf-8"))["corpus_id"]


class _Progress:
    """Logs how much has been hashed, every `LOG_INTERVAL` seconds."""

    def __init__(self, corpus: str, n_files: int, total: int):
        self._corpus, self._n_files, self._total, self._done = corpus, n_files, total, 0
        self._start = self._last = time.monotonic()

    def add(self, n_bytes: int) -> None:
        self._done += n_bytes
        now = time.monotonic()
        if now - self._last >= LOG_INTERVAL:
            self._last = now
            rate = self._done / (now - self._start) / 1e6
            text = "%s: %s of %s in %d files hashed, %.0f MB/s"
            logger.info(text, self._corpus, f"{self._done:,}", size_text(self._total), self._n_files, rate)


def _file_facts(path: str, entry: ManifestEntry | None, progress: _Progress) -> dict:
    """Returns what a file is; compared with the manifest's entry, if it has one."""
    if entry is not None:
        facts = accept_local_file(entry, path)
        progress.add(facts["bytes"])
        return facts
    digest, n_bytes = hashlib.sha256(), 0
    with open(path, "rb") as stream:
        while chunk := stream.read(CHUNK):
            digest.update(chunk)
            n_bytes += len(chunk)
            progress.add(len(chunk))
    return {"bytes": n_bytes, "sha256": digest.hexdigest(), "url": None, "hash_status": UNKNOWN}
