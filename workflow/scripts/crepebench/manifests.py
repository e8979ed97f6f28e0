"""Know which files to obtain, from where, and whether a file is the right one.

A manifest (YAML) lists files with mirrors, size and SHA-256, and says how sure the SHA-256 is. Nothing here uses the
network: `crepebench.downloads` fetches. A file is taken for whole only after `check_file`, never because it exists.
"""

import hashlib
import logging
import re
import reprlib
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from crepebench.file_faults import DAMAGED_ZIP

logger = logging.getLogger(__name__)

LAPSED_DOMAIN = "visualgenome.org"
"""Visual Genome's former domain. It was given up in 2023 and now shows other people's pages."""

CONFIRMED, SINGLE_SOURCE, NONE = CONFIDENCES = ("confirmed", "single_source", "none")
"""How many independent sources state a SHA-256: two or more, one, no source."""

DIFFERS, UNKNOWN = "differs", "unknown"
"""Hash status of a file that lacks the SHA-256 which a single source states, and of one for which none is stated."""

KEYS = ("name", "version", "member", "urls", "bytes", "sha256", "confidence", "source")
ZIP_START = b"PK\x03\x04"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
SHOWN = reprlib.Repr()
"""Shows a value in part: YAML can hold in a few lines what would be gigabytes if it were written out."""
SHOWN.maxlist = SHOWN.maxdict = SHOWN.maxstring = SHOWN.maxother = 200
SHOWN.maxlevel = 2
SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class ManifestEntry:
    """One file of a manifest.

    Attributes:
        name: file name.
        urls: mirrors in the order in which they are tried.
        n_bytes: size in bytes, None if not known.
        sha256: 64 hexadecimal digits, None if not known.
        confidence: one of `CONFIDENCES`.
        version: version of the data, None if not known.
        member: file in the zip, or folder with a slash at its end; None if not known or no zip.
    """

    name: str
    urls: tuple[str, ...]
    n_bytes: int | None = None
    sha256: str | None = None
    confidence: str = NONE
    version: str | None = None
    member: str | None = None

    @property
    def is_zip(self) -> bool:
        """Says whether the file must be a zip."""
        return self.name.endswith(".zip")


def read_manifest(path: str) -> dict[str, ManifestEntry]:
    """Reads and checks a manifest.

    Returns:
        Entries by name, in the order of the file.

    Raises:
        ValueError: names the file, the entry and the value at fault.
    """
    try:
        document = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # the last two of dates, numbers and brackets
        raise ValueError(f"{path}: no YAML in UTF-8 ({error})") from error
    if not isinstance(document, dict) or list(document) != ["files"] or not isinstance(document["files"], list):
        raise ValueError(f"{path}: expected one key `files` with a list")
    entries = {}
    for number, fields in enumerate(document["files"], start=1):
        name = fields.get("name") if isinstance(fields, dict) else None
        where = f"{path}: entry {number} ({name if isinstance(name, str) and name else 'without a name'})"
        fault = _fault_of_fields(fields)
        if fault:
            raise ValueError(f"{where}: {fault}")
        if name in entries:
            raise ValueError(f"{where}: this name is listed twice")
        entries[name] = ManifestEntry(
            name=name,
            urls=tuple(fields["urls"]),
            n_bytes=fields["bytes"],
            sha256=fields["sha256"],
            confidence=fields["confidence"],
            version=fields["version"],
            member=fields["member"],
        )
    return entries


def _fault_of_fields(fields) -> str | None:
    """Returns what is wrong with an entry of a manifest, or None."""
    if not isinstance(fields, dict) or set(fields) != set(KEYS):
        found = list(fields) if isinstance(fields, dict) else fields
        return f"expected the keys {list(KEYS)}, found {SHOWN.repr(found)}"
    if not isinstance(fields["name"], str) or not NAME.fullmatch(fields["name"]):
        return f"name {SHOWN.repr(fields['name'])} is no plain file name"
    for key in ("version", "member"):
        if not isinstance(fields[key], str | None):
            return f"{key} {SHOWN.repr(fields[key])} is neither text (in quotes) nor null"
    if not isinstance(fields["source"], str) or not fields["source"]:
        return f"source {SHOWN.repr(fields['source'])} must say who states size and SHA-256"
    if not isinstance(fields["urls"], list) or not fields["urls"]:
        return f"urls {SHOWN.repr(fields['urls'])} is no list of at least one URL"
    faults = [fault for url in fields["urls"] if (fault := _fault_of_url(url))]
    if faults:
        return faults[0]
    n_bytes, sha256 = fields["bytes"], fields["sha256"]
    if n_bytes is not None and (type(n_bytes) is not int or n_bytes < 1):
        return f"bytes {SHOWN.repr(n_bytes)} is neither a positive integer nor null"
    if sha256 is not None and not (isinstance(sha256, str) and SHA256.fullmatch(sha256)):
        return f"sha256 {SHOWN.repr(sha256)} has not 64 lower-case hexadecimal digits and is not null"
    if not isinstance(fields["confidence"], str) or fields["confidence"] not in CONFIDENCES:
        return f"confidence {SHOWN.repr(fields['confidence'])} is none of {list(CONFIDENCES)}"
    if (sha256 is None) != (fields["confidence"] == NONE):
        return f"confidence {fields['confidence']!r} does not go with sha256 {sha256!r}"
    return None


def _fault_of_url(url) -> str | None:
    """Returns why a URL may not stand in a manifest, or None; plain http is for a server on this machine only."""
    if not isinstance(url, str):
        return f"url {SHOWN.repr(url)} is no text"
    try:
        parts = urlsplit(url)
    except ValueError as error:
        return f"url {url} cannot be read ({error})"
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost")):
        return f"url {url} is not https"
    if not parts.hostname:
        return f"url {url} names no host"
    if "@" in parts.netloc:
        return f"a url on {parts.hostname} holds a user or password, which logs and records would show"
    return f"url {url} is on the lapsed domain {LAPSED_DOMAIN}" if is_lapsed(url) else None


def is_lapsed(url: str) -> bool:
    """Says whether a URL is on the lapsed domain or below it."""
    host = (urlsplit(url).hostname or "").rstrip(".")
    return host == LAPSED_DOMAIN or host.endswith(f".{LAPSED_DOMAIN}")


def missing_message(missing: Iterable[tuple[str, ManifestEntry]]) -> str:
    """Returns a text that lists every missing file with its URL and size.

    Args:
        missing: path at which each file is expected, and its entry.
    """
    missing = list(missing)
    lines = [f"  {path}\n    {entry.urls[0]} ({size_text(entry.n_bytes)})" for path, entry in missing]
    total = sum(entry.n_bytes or 0 for _, entry in missing)
    n_unknown = sum(entry.n_bytes is None for _, entry in missing)
    more = f" and {n_unknown} of unknown size" if n_unknown else ""
    return "\n".join([f"{len(missing)} files are missing ({total:,} bytes{more}):", *lines])


def choose_version(entries: Iterable[ManifestEntry], member: str, version: str) -> ManifestEntry:
    """Chooses among the versions of a file: the wanted one, else the newest before it, else the oldest.

    Args:
        entries: entries of a manifest.
        member: file in the zip, the same in all versions.
        version: "1.2", for example.

    Raises:
        ValueError: no entry holds the file.
    """
    found = sorted((entry for entry in entries if entry.member == member), key=lambda entry: entry.version or "")
    if not found:
        raise ValueError(f"no entry of the manifest holds {member}")
    return next((entry for entry in reversed(found) if (entry.version or "") <= version), found[0])


def size_text(n_bytes: int | None) -> str:
    """Returns a size for people: "1,780,854 bytes"."""
    return "size unknown" if n_bytes is None else f"{n_bytes:,} bytes"


def check_start(entry: ManifestEntry, start: bytes) -> None:
    """Checks the first bytes of a file.

    Raises:
        ValueError: they are those of a web page, or not those of a zip where a zip is expected.
    """
    text = start.lstrip(b"\xef\xbb\xbf \t\r\n")
    if text.startswith(b"<"):
        raise ValueError(f"it is a web page, not {entry.name}: it starts with {text[:40]!r}")
    if entry.is_zip and start[: len(ZIP_START)] != ZIP_START[: max(len(start), 1)]:
        raise ValueError(f"it is no zip: it starts with {start[:40]!r}")


def check_size(entry: ManifestEntry, n_bytes: int | None) -> None:
    """Checks a size in bytes against the manifest, where both are known.

    Raises:
        ValueError: they differ.
    """
    if None not in (entry.n_bytes, n_bytes) and n_bytes != entry.n_bytes:
        raise ValueError(_size_fault(entry, n_bytes))


def _size_fault(entry: ManifestEntry, n_bytes: int) -> str:
    return f"it has {n_bytes:,} bytes, not the {entry.n_bytes:,} of the manifest"


def check_file(entry: ManifestEntry, path: str) -> dict:
    """Checks a whole file: first bytes, size, SHA-256 and, where no SHA-256 vouches for it, the zip's own checksums.

    Returns:
        What the file is: name, version, bytes, sha256, and hash_status, which is `CONFIRMED` or `SINGLE_SOURCE` where
        the SHA-256 is the one that so many sources state, else `DIFFERS` (from a single source) or `UNKNOWN`.

    Raises:
        ValueError: says what differs, without naming the file.
    """
    with open(path, "rb") as stream:
        check_start(entry, stream.read(512))
        check_size(entry, Path(path).stat().st_size)
        stream.seek(0)
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    if sha256 == entry.sha256:
        status = entry.confidence
    elif entry.confidence == CONFIRMED:
        raise ValueError(f"its SHA-256 is {sha256}, not {entry.sha256}, on which two sources agree")
    else:
        status = DIFFERS if entry.sha256 else UNKNOWN
        if entry.is_zip:
            _check_zip(entry, path)
    if status == DIFFERS:
        logger.warning(
            "%s: SHA-256 is %s, not %s; only one source states that one, so the file is taken and this is recorded",
            entry.name,
            sha256,
            entry.sha256,
        )
    return {
        "name": entry.name,
        "version": entry.version,
        "bytes": Path(path).stat().st_size,
        "sha256": sha256,
        "hash_status": status,
    }


def _check_zip(entry: ManifestEntry, path: str) -> None:
    """Checks the checksums of all members of a zip; warns where the member that is expected is not there."""
    try:
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()
            names = archive.namelist()
    except DAMAGED_ZIP as error:
        raise ValueError(f"the zip is damaged ({error})") from error
    if damaged:
        raise ValueError(f"the zip is damaged: {damaged} has another checksum")
    if entry.member and not any(name.startswith(entry.member) for name in names):
        logger.warning("%s: the zip holds no %s, but %s", entry.name, entry.member, names[:3])
