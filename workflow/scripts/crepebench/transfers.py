"""Fetch one file from one URL, in as many tries as it takes; what came before a break is kept and continued.

While a file is under way, its bytes are in `.<name>.part` beside the target, and `.<name>.part.json` says which URL
and which version of the file they are from. Both survive a kill, and the next run goes on where they end. The server
is asked for the rest only if that version is still there (If-Range); if it answers otherwise, the file starts over.
"""

import json
import logging
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from itertools import chain
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import requests

from crepebench.files import atomic_path
from crepebench.manifests import ManifestEntry, check_file, check_size, check_start, is_lapsed, size_text

logger = logging.getLogger(__name__)

CHUNK = 64 * 1024
"""Bytes read at once; a kill loses no more than this."""

BUSY = (408, 425, 429)
"""Status codes below 500 that ask for another try: timeout, too early, too many requests."""

WEB_PAGES = ("text/html", "application/xhtml+xml")
MOST_DIGITS = 18
"""Digits of the greatest size in bytes."""
CONTENT_RANGE = re.compile(r"bytes (\d{1,18})-\d{1,18}/(\d{1,18}|\*)")
VALIDATORS = {"etag": "ETag", "last_modified": "Last-Modified"}


class RefusedError(Exception):
    """This URL does not give the file; another one may."""


class InterruptedTransferError(Exception):
    """This URL may give the file, or the rest of it, at another try.

    Args:
        reason: what happened.
        wait: seconds that the server asks to wait.
    """

    def __init__(self, reason: str, wait: float = 0.0):
        super().__init__(reason)
        self.wait = wait


@dataclass(frozen=True)
class Patience:
    """How long a transfer waits, and for what.

    Attributes:
        retries: tries of one URL after a failure, as long as none of them gains a byte.
        timeout: seconds without a byte, or without a connection, after which a try has failed.
        backoff: seconds before the first retry; twice as many before each further one.
        longest_wait: most seconds before a retry, whatever the server asks for.
        log_interval: least seconds between two reports of progress.
    """

    retries: int = 5
    timeout: float = 60.0
    backoff: float = 2.0
    longest_wait: float = 300.0
    log_interval: float = 10.0

    def wait(self, n_failures: int, asked: float) -> float:
        """Returns the seconds to wait after so many failures, where the server asks for `asked` seconds."""
        return min(max(self.backoff * 2 ** (n_failures - 1), asked), self.longest_wait)


class Partial:
    """The part of a file that is there, and the URL from which it is continued.

    Args:
        target: path of the whole file.
        url: where it is fetched.
    """

    def __init__(self, target: str, url: str):
        self.url = url
        self.path = Path(target).with_name(f".{Path(target).name}.part")
        self._origin_path = self.path.with_name(f"{self.path.name}.json")

    def origin(self) -> dict:
        """Returns url, etag, last_modified and total of the part; empty if there is none, or one of another URL."""
        try:
            origin = json.loads(self._origin_path.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return {}
        return origin if origin["url"] == self.url and self.path.exists() else {}

    def size(self) -> int:
        """Returns the number of bytes that can be continued."""
        return self.path.stat().st_size if self.origin() else 0

    def begin(self, response: requests.Response, total: int | None) -> None:
        """Drops what is there, and notes where the next bytes are from."""
        self.remove()
        validators = {key: response.headers.get(name) for key, name in VALIDATORS.items()}
        with atomic_path(str(self._origin_path)) as path:
            Path(path).write_text(json.dumps({"url": self.url, "total": total, **validators}), encoding="utf-8")

    def append(self, chunks: Iterable[bytes], report: Callable[[int], None]) -> None:
        """Appends chunks as they come; `report` is given the number of bytes of each."""
        try:
            with self.path.open("ab") as stream:
                for chunk in chunks:
                    stream.write(chunk)
                    stream.flush()
                    report(len(chunk))
        except requests.RequestException:
            raise  # an OSError, too, but of the network
        except OSError as error:
            raise OSError(error.errno, f"{error.strerror}; what came is kept", str(self.path)) from error

    def remove(self) -> None:
        """Removes the part and its note."""
        self.path.unlink(missing_ok=True)
        self._origin_path.unlink(missing_ok=True)


def fetch(session: requests.Session, entry: ManifestEntry, partial: Partial, patience: Patience) -> dict:
    """Tries one URL until the whole file is in `partial.path` and passes, or the patience ends.

    Returns:
        What `manifests.check_file` returns.

    Raises:
        RefusedError: the URL does not give the file.
        OSError: the disk is full, for example; names the part, which is kept.
    """
    n_failures, most = 0, partial.size()
    while True:
        try:
            is_pieced = _transfer(session, entry, partial, patience)
            return _check_part(entry, partial, is_pieced)
        except InterruptedTransferError as error:
            size = partial.size()
            n_failures = 1 if size > most else n_failures + 1
            most = max(most, size)
            if n_failures > patience.retries:
                raise RefusedError(f"{error} (given up after {n_failures} tries)") from error
            wait = patience.wait(n_failures, error.wait)
            text = "%s: %s: %s; next: the same URL from byte %d on, in %.1f s (retry %d of %d)"
            logger.warning(text, entry.name, partial.url, error, size, wait, n_failures, patience.retries)
            time.sleep(wait)


def _check_part(entry: ManifestEntry, partial: Partial, is_pieced: bool) -> dict:
    """Checks the whole file; a bad one is removed, and fetched anew if several answers made it."""
    try:
        return check_file(entry, str(partial.path))
    except ValueError as error:
        partial.remove()
        if is_pieced:
            raise InterruptedTransferError(f"the file made of several answers is wrong: {error}") from error
        raise RefusedError(f"{error}; what came is removed") from error


def _transfer(session: requests.Session, entry: ManifestEntry, partial: Partial, patience: Patience) -> bool:
    """Fetches what is lacking.

    Returns:
        Whether the file is made of several answers.

    Raises:
        InterruptedTransferError: the connection or the body broke off, or the server is busy.
        RefusedError: the server says no, or sends another thing.
    """
    origin, start = partial.origin(), partial.size()
    if start and start == origin["total"]:
        return True  # killed between the last byte and the renaming
    try:
        with session.get(
            partial.url,
            headers=_request_headers(origin, start),
            stream=True,
            timeout=patience.timeout,
            hooks={"response": refuse_other_places},
        ) as response:
            is_resumed = _check_answer(response, partial, origin, start)
            total = _total_size(response) or (origin["total"] if is_resumed else None) or entry.n_bytes
            chunks = response.iter_content(CHUNK)
            first = next(chunks, b"")
            try:
                check_size(entry, total)
                if not is_resumed:
                    check_start(entry, first)
            except ValueError as error:
                raise RefusedError(str(error)) from error
            if not is_resumed:
                partial.begin(response, total)
                if start:
                    logger.info("%s: the server does not send the rest of it alone; starting over", entry.name)
                start = 0
            logger.info("%s: fetching %s from byte %d on (%s)", entry.name, partial.url, start, size_text(total))
            partial.append(chain([first], chunks), _Progress(entry.name, start, total, patience.log_interval).add)
    except requests.RequestException as error:
        raise InterruptedTransferError(f"the connection failed ({error})") from error
    size = partial.path.stat().st_size
    if total is not None and size < total:
        raise InterruptedTransferError(f"the body ended after {size} of {total} bytes")
    return is_resumed


def _request_headers(origin: dict, start: int) -> dict[str, str]:
    """Returns the headers that ask for the bytes from `start` on, if the file is still the one of `origin`."""
    headers = {"Accept-Encoding": "identity"}  # else the bytes of a range would not be those of the file
    if start:
        headers["Range"] = f"bytes={start}-"
        is_strong = origin["etag"] and not origin["etag"].startswith("W/")  # a weak one must not stand in If-Range
        validator = origin["etag"] if is_strong else origin["last_modified"]
        if validator:
            headers["If-Range"] = validator
    return headers


def refuse_other_places(response: requests.Response, **_) -> None:
    """Stops a redirection to the lapsed domain, or from https to anything else, before it is followed."""
    if not response.is_redirect:
        return
    said = f"status {response.status_code} leads to"
    try:
        location = urljoin(response.url, response.headers.get("Location", ""))
        schemes = [urlsplit(url).scheme for url in (response.url, location)]
        is_lapsed_there = is_lapsed(location)
    except ValueError as error:
        raise RefusedError(f"{said} a URL that cannot be read ({error})") from error
    if is_lapsed_there:
        raise RefusedError(f"{said} the lapsed domain: {location}")
    if schemes[1] != "https" and schemes != ["http", "http"]:
        raise RefusedError(f"{said} a URL that is not https: {location}")


def _check_answer(response: requests.Response, partial: Partial, origin: dict, start: int) -> bool:
    """Checks status and headers of an answer; where the part no longer fits, it is removed.

    Returns:
        Whether the body continues the part.
    """
    status, headers = response.status_code, response.headers
    said = f"status {status} {response.reason}"
    if status in BUSY or status >= 500:
        raise InterruptedTransferError(said, asked_wait(headers.get("Retry-After", "")))
    if status == 416 and start:
        partial.remove()
        raise InterruptedTransferError(f"{said}: the part that is here does not fit; starting over")
    if status not in (200, 206):
        raise RefusedError(said)
    media_type = headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if media_type in WEB_PAGES:
        raise RefusedError(f"{said}, but it is a web page ({media_type})")
    if headers.get("Content-Encoding", "identity") != "identity":
        raise RefusedError(f"{said}, but the file is encoded ({headers['Content-Encoding']})")
    if status == 206:
        fault = _range_fault(headers, origin, start)
        if fault:
            partial.remove()
            raise InterruptedTransferError(f"{said}: {fault}; starting over")
    return status == 206


def _range_fault(headers, origin: dict, start: int) -> str | None:
    """Returns why the body of an answer with status 206 does not continue the part, or None."""
    given = headers.get("Content-Range", "")
    parsed = CONTENT_RANGE.fullmatch(given)
    if not start or not parsed or int(parsed[1]) != start:
        return f"Content-Range {given!r}, though the bytes from {start} on are wanted"
    if origin["total"] and parsed[2] != "*" and int(parsed[2]) != origin["total"]:
        return f"the file has changed there: {parsed[2]} bytes now, {origin['total']} before"
    for key, name in VALIDATORS.items():
        if origin[key] and headers.get(name, origin[key]) != origin[key]:
            return f"the file has changed there: {name} {headers[name]} now, {origin[key]} before"
    return None


def _total_size(response: requests.Response) -> int | None:
    """Returns the size of the whole file in bytes, as the server states it; None if it does not."""
    if response.status_code == 206:
        stated = CONTENT_RANGE.fullmatch(response.headers["Content-Range"])[2]
    else:
        stated = response.headers.get("Content-Length", "")
    return int(stated) if stated.isdecimal() and len(stated) <= MOST_DIGITS else None


def asked_wait(text: str) -> float:
    """Returns the seconds of a Retry-After header, which holds seconds or a date; 0 if it is absent or unreadable."""
    if text.isdecimal():
        return float(text)
    try:
        return max((parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds(), 0.0)
    except (ValueError, TypeError):
        return 0.0


class _Progress:
    """Reports the progress of a transfer, no more often than every so many seconds.

    Args:
        name: file name.
        start: bytes that were there before.
        total: bytes of the whole file, if known.
        interval: seconds.
    """

    def __init__(self, name: str, start: int, total: int | None, interval: float):
        self._name, self._start, self._size, self._total, self._interval = name, start, start, total, interval
        self._begun = self._reported = time.monotonic()

    def add(self, n_bytes: int) -> None:
        """Counts bytes that have come."""
        self._size += n_bytes
        now = time.monotonic()
        if now - self._reported >= self._interval:
            self._reported = now
            speed = (self._size - self._start) / max(now - self._begun, 1e-6)
            logger.info("%s: %s", self._name, progress_text(self._size, self._total, speed))


def progress_text(size: int, total: int | None, speed: float) -> str:
    """Returns per cent, bytes, speed and time left of a transfer.

    Args:
        size: bytes that are there.
        total: bytes of the whole file, if known.
        speed: bytes per second.
    """
    rate = f"{speed / 1e6:.2f} MB/s"
    if total is None:
        return f"{size:,} bytes, {rate}"
    left = f"{timedelta(seconds=round((total - size) / speed))} left" if speed else "stalled"
    return f"{100 * size / total:.1f}%, {size:,} of {total:,} bytes, {rate}, {left}"
