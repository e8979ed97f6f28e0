"""Make sure that the files of a manifest are there: fetched from the first mirror that gives them, whole or not at all.

A lock lets one process at a time fetch a file; a second one waits and takes what the first has fetched. A file appears
under its name once `manifests.check_file` has passed it. A record beside it, `<name>.source.json`, names URL, size and
SHA-256, and says what that SHA-256 is worth.
"""

import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import requests
from filelock import FileLock, Timeout

from crepebench.files import atomic_path
from crepebench.manifests import ManifestEntry, check_file, read_manifest, size_text
from crepebench.transfers import Partial, Patience, RefusedError, fetch

logger = logging.getLogger(__name__)

PATIENCE = Patience()


class DownloadError(OSError):
    """No mirror gave the file."""


def download_entry(manifest_path: str, target_path: str) -> None:
    """Makes sure that a file of a manifest is there, whole and checked; its record stands beside it.

    Args:
        manifest_path: the manifest.
        target_path: file to write; its name says which entry of the manifest it is.

    Raises:
        ValueError: the manifest is damaged or lacks the file.
        DownloadError: no mirror gave the file.
    """
    download_file(_entry(read_manifest(manifest_path), target_path), target_path)


def validate_files(manifest_path: str, file_paths: list[str], index_path: str) -> None:
    """Checks files, wherever they come from, against a manifest and lists what they are.

    A file that the manifest does not list, such as an unpacked one, is hashed and listed as unknown.

    Args:
        manifest_path: the manifest.
        file_paths: files to check; a file's name says which entry of the manifest it is.
        index_path: JSON list of a record per file to write: path, name, version, url (None for a file that the user
            brought), bytes, sha256, hash_status (see `manifests.check_file`), and time of the download.

    Raises:
        ValueError: a file is not what the manifest says.
    """
    entries = read_manifest(manifest_path)
    records = []
    for path in file_paths:
        entry = entries.get(Path(path).name, ManifestEntry(name=Path(path).name, urls=()))
        record = accept_local_file(entry, path)
        logger.info("%s: %s bytes, hash status: %s", path, f"{record['bytes']:,}", record["hash_status"])
        records.append({"path": path, **record})
    _write_json(index_path, records)


def _entry(entries: dict[str, ManifestEntry], path: str) -> ManifestEntry:
    """Returns the entry of a file."""
    name = Path(path).name
    if name not in entries:
        raise ValueError(f"the manifest has no entry for {name!r}; it lists {list(entries)}")
    return entries[name]


def accept_local_file(entry: ManifestEntry, path: str) -> dict:
    """Checks a file that is there already; writes nothing, since the folder may be somebody else's.

    Returns:
        The record: name, version, url (None if the user brought the file), bytes, sha256, hash_status (see
        `manifests.check_file`), and time (when it was fetched, UTC, ISO 8601; None if the user brought it).

    Raises:
        FileNotFoundError: it is not there.
        ValueError: it is not the right file; names the file and what differs.
    """
    try:
        facts = check_file(entry, path)
    except ValueError as error:
        raise ValueError(f"{path} is not {entry.name}: {error}") from error
    known = _read_record(path)
    is_known = known.get("sha256") == facts["sha256"]
    return {**facts, "url": known["url"] if is_known else None, "time": known["time"] if is_known else None}


def download_file(entry: ManifestEntry, target: str, patience: Patience = PATIENCE) -> dict:
    """Fetches a file, or the rest of it, from the first of its mirrors that gives it; takes it if it is there already.

    Returns:
        The record, as for `accept_local_file`.

    Raises:
        DownloadError: no mirror gave the file; lists every URL with its reason.
        OSError: the disk is full, for example; what was fetched is kept.
    """
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    with _locked(entry, target):
        if Path(target).exists():
            try:
                return accept_local_file(entry, target)
            except ValueError as error:
                logger.warning("%s; it is fetched again", error)
        reasons = []
        with requests.Session() as session:
            for url, following in zip(entry.urls, (*entry.urls[1:], None), strict=True):
                partial = Partial(target, url)
                try:
                    facts = fetch(session, entry, partial, patience)
                except RefusedError as error:
                    reasons.append(f"  {url}: {error}")
                    logger.warning("%s: %s: %s; next: %s", entry.name, url, error, following or "no further URL")
                    continue
                record = _write_record(facts, url, target)
                os.replace(partial.path, target)
                partial.remove()
                logger.info("%s: fetched; hash status: %s", target, facts["hash_status"])
                return record
    raise DownloadError(
        f"{entry.name}: none of its URLs gave the file\n"
        + "\n".join(reasons)
        + f"\nTo bring it by hand, fetch it elsewhere and put it at {target}; it should have "
        + f"{size_text(entry.n_bytes)} and SHA-256 {entry.sha256 or 'unknown'}."
    )


def record_path(target: str) -> str:
    """Returns the path of a file's record."""
    return f"{target}.source.json"


@contextmanager
def _locked(entry: ManifestEntry, target: str) -> Iterator[None]:
    """Holds the lock of a file; the system frees it when the process dies."""
    lock = FileLock(Path(target).with_name(f".{Path(target).name}.lock"))
    try:
        lock.acquire(blocking=False)
    except Timeout:
        logger.info("%s: another process is fetching it; waiting", entry.name)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _read_record(target: str) -> dict:
    """Reads a file's record; empty if it has none that can be read."""
    try:
        return json.loads(Path(record_path(target)).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}


def _write_record(facts: dict, url: str | None, target: str) -> dict:
    record = {**facts, "url": url, "time": datetime.now(UTC).isoformat(timespec="seconds")}
    _write_json(record_path(target), record)
    return record


def _write_json(path: str, value) -> None:
    with atomic_path(path) as partial:
        Path(partial).write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
