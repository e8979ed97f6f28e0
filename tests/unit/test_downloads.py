"""Downloads from a server on this machine that misbehaves in the ways that real ones do."""

import hashlib
import json
import logging
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections import defaultdict
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path

import pytest
import requests

from crepebench.downloads import (
    DownloadError,
    accept_local_file,
    download_entry,
    download_file,
    record_path,
    validate_files,
)
from crepebench.manifests import ManifestEntry
from crepebench.transfers import Patience, RefusedError, progress_text, refuse_other_places

PATIENCE = Patience(retries=2, timeout=10.0, backoff=0.01, longest_wait=5.0, log_interval=0.0)
NAME = "objects.json.zip"
SCRIPTS = Path(__file__).parents[2] / "workflow" / "scripts"
DOWNLOAD = """
import json, logging, sys
from crepebench.downloads import download_file
from crepebench.manifests import ManifestEntry
from crepebench.transfers import Patience
logging.basicConfig(level=logging.INFO)
download_file(ManifestEntry(**json.loads(sys.argv[1])), sys.argv[2], Patience(timeout=30.0))
"""


def make_zip(seed: int, n_bytes: int = 300_000) -> bytes:
    """Returns a zip of more than four chunks; same seed, same bytes."""
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(zipfile.ZipInfo("objects.json"), random.Random(seed).randbytes(n_bytes))
    return stream.getvalue()


BODY = make_zip(1)
OTHER_BODY = make_zip(2)
HALF = len(BODY) // 2


@dataclass
class Answer:
    """How the server answers one request; the default is a server that does everything right."""

    body: bytes = BODY
    status: int = 200
    headers: dict = field(default_factory=lambda: {"ETag": '"1"', "Content-Type": "application/zip"})
    cut: int | None = None  # bytes of the file after which the connection breaks
    hold: int | None = None  # bytes of the file after which it waits for `Server.release`
    ignores_range: bool = False
    ignores_if_range: bool = False
    content_range: str | None = None
    states_length: bool = True


class Server:
    """Answers by path: the planned answers first, one a request, then the last of them for ever."""

    def __init__(self):
        self.plans: dict[str, list[Answer]] = defaultdict(list)
        self.requests: list[tuple[str, dict[str, str], float]] = []
        self.n_sent: list[int] = []
        self.release = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.answer(self)

            def log_message(self, *_):
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    def url(self, path: str = f"/{NAME}", *answers: Answer) -> str:
        self.plans[path] += answers
        return f"http://127.0.0.1:{self._http.server_port}{path}"

    def close(self):
        self.release.set()
        self._http.shutdown()
        self._http.server_close()

    def ranges(self) -> list[str | None]:
        return [headers.get("Range") for _, headers, _ in self.requests]

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        plan = self.plans[handler.path]
        answer = plan.pop(0) if len(plan) > 1 else plan[0]
        self.requests.append((handler.path, dict(handler.headers), time.monotonic()))
        number = len(self.n_sent)
        self.n_sent.append(0)
        start, status, total = 0, answer.status, len(answer.body)
        asked = handler.headers.get("Range")
        condition = handler.headers.get("If-Range")
        holds = condition is None or answer.ignores_if_range or condition == answer.headers.get("ETag")
        if asked and status == 200 and not answer.ignores_range and holds:
            start, status = int(asked.removeprefix("bytes=").rstrip("-")), 206
        handler.send_response(status)
        for name, value in answer.headers.items():
            handler.send_header(name, value)
        if answer.states_length:
            handler.send_header("Content-Length", str(total - start))
        if status == 206:
            handler.send_header("Content-Range", answer.content_range or f"bytes {start}-{total - 1}/{total}")
        handler.end_headers()
        stop = total if answer.cut is None else answer.cut
        middle = stop if answer.hold is None else answer.hold
        try:
            for begin, end in ((start, middle), (max(start, middle), stop)):
                self.n_sent[number] += max(end - begin, 0)  # first, since the client may be done before this thread is
                handler.wfile.write(answer.body[begin:end])
                handler.wfile.flush()
                if end < stop:
                    self.release.wait(20)
        except OSError:
            pass
        handler.close_connection = True


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = Server()
    yield server
    server.close()


@pytest.fixture
def target(tmp_path) -> Path:
    return tmp_path / "visual_genome" / NAME


@pytest.fixture
def log(caplog):
    caplog.set_level(logging.INFO, logger="crepebench")
    return caplog


def entry_of(*urls: str, body: bytes = BODY, confidence: str = "confirmed") -> ManifestEntry:
    return ManifestEntry(NAME, urls, len(body), hashlib.sha256(body).hexdigest(), confidence, "1.4", "objects.json")


def bare_entry(*urls: str, name: str = NAME) -> ManifestEntry:
    """An entry of which neither size nor hash is known."""
    return ManifestEntry(name, urls)


def part_of(target: Path) -> Path:
    return target.with_name(f".{target.name}.part")


def visible(target: Path) -> list[str]:
    return sorted(path.name for path in target.parent.iterdir() if not path.name.startswith("."))


def start_download(entry: ManifestEntry, target: Path, log_path: Path) -> subprocess.Popen:
    """Starts a download in a process of its own; its log goes to `log_path`."""
    fields = {"name": entry.name, "urls": entry.urls, "n_bytes": entry.n_bytes, "sha256": entry.sha256}
    arguments = [json.dumps({**fields, "confidence": entry.confidence}), str(target)]
    with log_path.open("w") as stream:
        return subprocess.Popen(
            [sys.executable, "-c", DOWNLOAD, *arguments], stderr=stream, env={**os.environ, "PYTHONPATH": str(SCRIPTS)}
        )


def wait_until(condition, seconds: float = 15.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


# ---- a server that does right


def test_file_is_fetched_with_its_record_and_nothing_else_stays(server, target):
    url = server.url(f"/{NAME}", Answer())
    record = download_file(entry_of(url), str(target), PATIENCE)
    assert target.read_bytes() == BODY
    assert visible(target) == [NAME, f"{NAME}.source.json"]
    assert not list(target.parent.glob("*.part*"))
    assert record == json.loads(Path(record_path(str(target))).read_text())
    assert record["url"] == url
    assert (record["bytes"], record["sha256"]) == (len(BODY), hashlib.sha256(BODY).hexdigest())
    assert (record["name"], record["version"], record["hash_status"]) == (NAME, "1.4", "confirmed")
    assert record["time"].endswith("+00:00")


def test_file_that_is_there_is_not_fetched_again_and_keeps_its_record(server, target):
    entry = entry_of(server.url(f"/{NAME}", Answer()))
    first = download_file(entry, str(target), PATIENCE)
    assert download_file(entry, str(target), PATIENCE) == first
    assert len(server.requests) == 1


def test_wrong_file_that_is_there_is_replaced(server, target, log):
    target.parent.mkdir()
    target.write_bytes(BODY[:HALF])
    download_file(entry_of(server.url(f"/{NAME}", Answer())), str(target), PATIENCE)
    assert target.read_bytes() == BODY
    assert f"{target} is not {NAME}: it has {HALF:,} bytes" in log.text


def test_file_without_known_size_and_hash_is_fetched_and_recorded_as_unknown(server, target):
    record = download_file(bare_entry(server.url(f"/{NAME}", Answer(states_length=False))), str(target), PATIENCE)
    assert target.read_bytes() == BODY
    assert record["hash_status"] == "unknown"


def test_text_file_is_fetched(server, tmp_path):
    text = Answer(body=b"man,men\ncar,cars\n", headers={"Content-Type": "text/plain"})
    path = tmp_path / "object_alias.txt"
    download_file(bare_entry(server.url("/a", text), name=path.name), str(path), PATIENCE)
    assert path.read_bytes() == text.body


def test_redirection_is_followed(server, target):
    elsewhere = server.url("/elsewhere", Answer())
    url = server.url(f"/{NAME}", Answer(status=302, headers={"Location": elsewhere}, body=b""))
    assert download_file(entry_of(url), str(target), PATIENCE)["url"] == url
    assert target.read_bytes() == BODY


# ---- breaks


def test_cut_body_is_continued_where_it_broke(server, target, log):
    url = server.url(f"/{NAME}", Answer(cut=HALF), Answer())
    download_file(entry_of(url), str(target), PATIENCE)
    assert target.read_bytes() == BODY
    _, headers, _ = server.requests[1]
    start = int(headers["Range"].removeprefix("bytes=").rstrip("-"))
    assert HALF - 64 * 1024 <= start <= HALF
    assert headers["If-Range"] == '"1"'
    assert headers["Accept-Encoding"] == "identity"
    assert server.n_sent[1] == len(BODY) - start
    assert f"{NAME}: {url}: the connection failed" in log.text
    assert f"next: the same URL from byte {start} on, in 0.0 s (retry 1 of 2)" in log.text


def test_progress_resets_the_count_of_failures(server, target):
    cuts = [Answer(cut=cut) for cut in (70_000, 140_000, 210_000, 280_000)]
    download_file(entry_of(server.url(f"/{NAME}", *cuts, Answer())), str(target), replace(PATIENCE, retries=1))
    assert target.read_bytes() == BODY
    assert len(server.requests) == 5


def test_body_that_is_always_cut_at_the_same_place_ends_with_an_error(server, target):
    entry = entry_of(server.url(f"/{NAME}", Answer(cut=HALF, ignores_range=True)))
    with pytest.raises(DownloadError, match=r"the connection failed .* \(given up after 3 tries\)"):
        download_file(entry, str(target), PATIENCE)
    assert len(server.requests) == 3
    assert not target.exists()
    assert part_of(target).stat().st_size > 0


def test_body_without_length_that_ends_early_is_continued(server, target):
    cut = Answer(cut=HALF, states_length=False)
    download_file(entry_of(server.url(f"/{NAME}", cut, Answer())), str(target), PATIENCE)
    assert target.read_bytes() == BODY
    assert server.ranges()[1] == f"bytes={HALF}-"


def test_stalled_body_is_given_up_after_the_timeout_and_continued(server, target):
    entry = entry_of(server.url(f"/{NAME}", Answer(hold=HALF), Answer()))
    begun = time.monotonic()
    download_file(entry, str(target), replace(PATIENCE, timeout=0.2))
    assert time.monotonic() - begun < 10
    assert target.read_bytes() == BODY
    assert server.ranges()[1] is not None


def test_server_that_does_not_listen_is_retried_then_given_up(server, target):
    url = server.url("/gone")
    server.close()
    with pytest.raises(DownloadError, match=r"the connection failed .*given up after 3 tries"):
        download_file(entry_of(url), str(target), PATIENCE)


def test_server_that_ignores_ranges_makes_the_file_start_over(server, target, log):
    url = server.url(f"/{NAME}", Answer(cut=HALF), Answer(ignores_range=True))
    download_file(entry_of(url), str(target), PATIENCE)
    assert target.read_bytes() == BODY
    assert server.ranges()[1] is not None
    assert server.n_sent[1] == len(BODY)
    assert "starting over" in log.text


@pytest.mark.parametrize(
    "content_range", [f"bytes 0-{len(BODY) - 1}/{len(BODY)}", f"bytes {HALF}-{HALF}/7", "chapters 1-2"]
)
def test_wrong_content_range_is_not_appended(server, target, log, content_range):
    wrong = Answer(content_range=content_range)
    download_file(entry_of(server.url(f"/{NAME}", Answer(cut=HALF), wrong, Answer())), str(target), PATIENCE)
    assert target.read_bytes() == BODY
    assert f"Content-Range '{content_range}', though the bytes from" in log.text
    assert [bool(asked) for asked in server.ranges()] == [False, True, False]


def test_range_that_cannot_be_met_makes_the_file_start_over(server, target):
    unmet = Answer(status=416, body=b"")
    download_file(entry_of(server.url(f"/{NAME}", Answer(cut=HALF), unmet, Answer())), str(target), PATIENCE)
    assert target.read_bytes() == BODY
    assert [bool(asked) for asked in server.ranges()] == [False, True, False]


@pytest.mark.parametrize("ignores_if_range", [False, True])
def test_file_that_changed_between_two_ranges_starts_over(server, target, ignores_if_range):
    new = Answer(body=OTHER_BODY, headers={"ETag": '"2"'}, ignores_if_range=ignores_if_range)
    url = server.url(f"/{NAME}", Answer(cut=HALF), new)
    download_file(entry_of(url, body=OTHER_BODY), str(target), PATIENCE)
    assert target.read_bytes() == OTHER_BODY
    assert server.ranges()[1] is not None


def test_file_that_changed_unnoticed_is_fetched_anew_once_its_hash_is_wrong(server, target, log):
    old = Answer(cut=HALF, headers={})
    new = Answer(body=OTHER_BODY, headers={})
    download_file(entry_of(server.url(f"/{NAME}", old, new), body=OTHER_BODY), str(target), PATIENCE)
    assert target.read_bytes() == OTHER_BODY
    assert "the file made of several answers is wrong: its SHA-256 is" in log.text


def test_weak_etag_is_not_sent_as_a_condition(server, target):
    modified = "Wed, 28 Jun 2023 18:40:02 GMT"
    weak = {"ETag": 'W/"1"', "Last-Modified": modified}
    url = server.url(f"/{NAME}", Answer(cut=HALF, headers=weak), Answer(headers=weak, ignores_if_range=True))
    download_file(entry_of(url), str(target), PATIENCE)
    assert server.requests[1][1]["If-Range"] == modified
    assert target.read_bytes() == BODY


# ---- busy servers


def test_status_500_twice_then_fine(server, target, log):
    busy = Answer(status=500, body=b"")
    download_file(entry_of(server.url(f"/{NAME}", busy, busy, Answer())), str(target), PATIENCE)
    assert target.read_bytes() == BODY
    assert "status 500 Internal Server Error; next: the same URL from byte 0 on, in 0.0 s (retry 2 of 2)" in log.text


def test_back_off_doubles_and_is_bounded():
    patience = Patience(backoff=2.0, longest_wait=10.0)
    assert [patience.wait(n, 0.0) for n in (1, 2, 3, 4, 5)] == [2.0, 4.0, 8.0, 10.0, 10.0]


def test_retry_after_is_honoured(server, target):
    busy = Answer(status=429, body=b"", headers={"Retry-After": "1"})
    download_file(entry_of(server.url(f"/{NAME}", busy, Answer())), str(target), PATIENCE)
    (_, _, first), (_, _, second) = server.requests
    assert second - first >= 1.0


@pytest.mark.parametrize("retry_after", ["3600", "Fri, 31 Dec 2100 23:59:59 GMT"])
def test_retry_after_is_bounded(server, target, retry_after):
    busy = Answer(status=429, body=b"", headers={"Retry-After": retry_after})
    begun = time.monotonic()
    download_file(entry_of(server.url(f"/{NAME}", busy, Answer())), str(target), replace(PATIENCE, longest_wait=0.05))
    assert time.monotonic() - begun < 10
    assert target.read_bytes() == BODY


@pytest.mark.parametrize("retry_after", ["soon", "Fri, 31 Dec 1999 23:59:59 GMT", ""])
def test_retry_after_that_says_nothing_is_ignored(server, target, retry_after):
    busy = Answer(status=503, body=b"", headers={"Retry-After": retry_after})
    download_file(entry_of(server.url(f"/{NAME}", busy, Answer())), str(target), PATIENCE)
    assert target.read_bytes() == BODY


# ---- refusals


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_refusal_leads_to_the_next_mirror_at_once(server, target, log, status):
    bad, good = server.url("/bad", Answer(status=status, body=b"no")), server.url("/good", Answer())
    record = download_file(entry_of(bad, good), str(target), PATIENCE)
    assert record["url"] == good
    assert [path for path, _, _ in server.requests] == ["/bad", "/good"]
    assert f"{NAME}: {bad}: status {status} " in log.text
    assert f"next: {good}" in log.text


def test_busy_mirror_leads_to_the_next_one_after_its_retries(server, target):
    busy, good = server.url("/busy", Answer(status=503, body=b"")), server.url("/good", Answer())
    assert download_file(entry_of(busy, good), str(target), PATIENCE)["url"] == good
    assert [path for path, _, _ in server.requests] == ["/busy"] * 3 + ["/good"]


def padded(start: bytes) -> bytes:
    return start.ljust(len(BODY))


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (Answer(headers={"Content-Type": "text/html; charset=utf-8"}), "status 200 OK, but it is a web page"),
        (Answer(body=padded(b"<!DOCTYPE html><html>")), "it is a web page, not objects.json.zip"),
        (Answer(body=padded(b"\r\n  <?xml version='1.0'?><Error>")), "it is a web page, not objects.json.zip"),
        (Answer(body=padded(b'{"error": "gone"}')), "it is no zip: it starts with"),
        (Answer(body=BODY[:-1]), f"it has {len(BODY) - 1:,} bytes, not the {len(BODY):,} of the manifest"),
        (Answer(body=BODY + b"x", states_length=False), f"it has {len(BODY) + 1:,} bytes, not the {len(BODY):,}"),
        (Answer(body=OTHER_BODY), f"its SHA-256 is {hashlib.sha256(OTHER_BODY).hexdigest()}, not"),
        (Answer(headers={"Content-Encoding": "gzip"}), "the file is encoded (gzip)"),
        (Answer(status=302, headers={"Location": "https://visualgenome.org/x"}, body=b""), "to the lapsed domain"),
        (Answer(status=302, headers={"Location": "file:///etc/passwd"}, body=b""), "is not https: file:///etc/passwd"),
        (Answer(status=302, headers={"Location": "ftp://127.0.0.1/x"}, body=b""), "is not https: ftp://127.0.0.1/x"),
        (Answer(status=302, headers={"Location": "http://[x"}, body=b""), "a URL that cannot be read"),
    ],
)
def test_wrong_body_is_refused_and_the_next_mirror_tried(server, target, log, bad, reason):
    assert len(BODY) == len(OTHER_BODY)
    urls = server.url("/bad", bad), server.url("/good", Answer())
    assert download_file(entry_of(*urls), str(target), PATIENCE)["url"] == urls[1]
    assert target.read_bytes() == BODY
    assert [path for path, _, _ in server.requests] == ["/bad", "/good"]
    assert reason in log.text


def test_redirection_that_leaves_https_is_refused_before_it_is_followed():
    answer = requests.Response()
    answer.url, answer.status_code = "https://a.org/x", 302
    answer.headers["Location"] = "https://b.org/x"
    refuse_other_places(answer)
    answer.headers["Location"] = "http://b.org/x"
    with pytest.raises(RefusedError, match=r"status 302 leads to a URL that is not https: http://b\.org/x"):
        refuse_other_places(answer)


def test_size_of_thousands_of_digits_is_not_known(server, target):
    url = server.url("/a", Answer(headers={"Content-Length": "9" * 5_000}, states_length=False))
    assert download_file(entry_of(url), str(target), PATIENCE)["url"] == url


@pytest.mark.parametrize("body", [padded(b"<html>"), BODY[:HALF], BODY[:-30] + bytes(30), b""])
def test_damaged_zip_of_unknown_size_and_hash_is_refused(server, target, body):
    with pytest.raises(DownloadError, match=r"it is a web page|the zip is damaged|it is no zip"):
        download_file(bare_entry(server.url(f"/{NAME}", Answer(body=body))), str(target), PATIENCE)
    assert not target.exists()


def test_zip_with_one_wrong_byte_is_refused_if_no_hash_is_known(server, target):
    body = BODY[:HALF] + bytes([BODY[HALF] ^ 1]) + BODY[HALF + 1 :]
    with pytest.raises(DownloadError, match=r"the zip is damaged: objects\.json has another checksum"):
        download_file(bare_entry(server.url(f"/{NAME}", Answer(body=body))), str(target), PATIENCE)


def test_web_page_in_place_of_the_rest_keeps_what_was_fetched(server, target):
    page = Answer(headers={"Content-Type": "text/html"}, ignores_range=True)
    entry = entry_of(server.url(f"/{NAME}", Answer(cut=HALF), page, Answer()))
    with pytest.raises(DownloadError, match="web page"):
        download_file(entry, str(target), PATIENCE)
    kept = part_of(target).stat().st_size
    assert kept > 0
    download_file(entry, str(target), PATIENCE)
    assert server.ranges()[2] == f"bytes={kept}-"
    assert target.read_bytes() == BODY


def test_part_of_one_mirror_is_not_continued_from_another(server, target):
    bad = server.url("/bad", Answer(body=OTHER_BODY, cut=HALF), Answer(status=404, body=b""))
    download_file(entry_of(bad, server.url("/good", Answer())), str(target), PATIENCE)
    assert target.read_bytes() == BODY
    assert server.ranges()[2] is None


def test_hash_of_a_single_source_that_differs_warns_and_is_recorded(server, target, log):
    entry = entry_of(server.url(f"/{NAME}", Answer(body=OTHER_BODY)), confidence="single_source")
    record = download_file(entry, str(target), PATIENCE)
    assert target.read_bytes() == OTHER_BODY
    assert (record["hash_status"], record["sha256"]) == ("differs", hashlib.sha256(OTHER_BODY).hexdigest())
    assert "only one source states that one" in log.text


def test_hash_of_a_single_source_that_agrees_is_recorded(server, target):
    entry = entry_of(server.url(f"/{NAME}", Answer()), confidence="single_source")
    assert download_file(entry, str(target), PATIENCE)["hash_status"] == "single_source"


def test_last_error_lists_every_url_with_its_reason_and_the_way_by_hand(server, target):
    urls = [
        server.url("/a", Answer(status=403, body=b"")),
        server.url("/b", Answer(body=padded(b"<html>"))),
        server.url("/c", Answer(status=500, body=b"")),
        server.url("/d", Answer(body=OTHER_BODY)),
    ]
    with pytest.raises(DownloadError) as caught:
        download_file(entry_of(*urls), str(target), PATIENCE)
    lines = str(caught.value).splitlines()
    assert lines[0] == f"{NAME}: none of its URLs gave the file"
    assert lines[1] == f"  {urls[0]}: status 403 Forbidden"
    assert lines[2].startswith(f"  {urls[1]}: it is a web page")
    assert lines[3] == f"  {urls[2]}: status 500 Internal Server Error (given up after 3 tries)"
    assert lines[4].startswith(f"  {urls[3]}: its SHA-256 is {hashlib.sha256(OTHER_BODY).hexdigest()}")
    assert (
        f"put it at {target}; it should have {len(BODY):,} bytes and SHA-256 {hashlib.sha256(BODY).hexdigest()}"
        in (lines[5])
    )
    assert visible(target) == []


# ---- processes


def test_killed_download_goes_on_where_it_was(server, target, tmp_path):
    entry = entry_of(server.url(f"/{NAME}", Answer(hold=200_000), Answer()))
    process = start_download(entry, target, tmp_path / "log")
    wait_until(lambda: part_of(target).exists() and part_of(target).stat().st_size >= 3 * 64 * 1024)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = part_of(target).stat().st_size
    assert visible(target) == []
    server.release.set()
    record = download_file(entry, str(target), PATIENCE)
    assert record["sha256"] == entry.sha256
    assert server.ranges() == [None, f"bytes={kept}-"]
    assert server.n_sent[1] == len(BODY) - kept


def test_download_killed_before_the_renaming_needs_no_further_byte(server, target):
    url = server.url(f"/{NAME}", Answer(cut=HALF), Answer())
    with pytest.raises(DownloadError):
        download_file(entry_of(url), str(target), replace(PATIENCE, retries=0))
    with part_of(target).open("ab") as stream:
        stream.write(BODY[stream.tell() :])
    download_file(entry_of(url), str(target), PATIENCE)
    assert target.read_bytes() == BODY
    assert len(server.requests) == 1


def test_two_processes_fetch_a_file_once(server, target, tmp_path):
    entry = entry_of(server.url(f"/{NAME}", Answer(hold=HALF)))
    logs = [tmp_path / "log_1", tmp_path / "log_2"]
    processes = [start_download(entry, target, log) for log in logs]
    wait_until(lambda: any("another process is fetching it" in log.read_text() for log in logs))
    server.release.set()
    assert [process.wait(20) for process in processes] == [0, 0]
    assert target.read_bytes() == BODY
    assert server.n_sent == [len(BODY)]


def test_full_disk_is_named_and_the_part_continued(server, target):
    entry = entry_of(server.url(f"/{NAME}", Answer()))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(OSError, match=rf"File too large; what came is kept: '.*/\.{NAME}\.part'"):
            download_file(entry, str(target), PATIENCE)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    download_file(entry, str(target), PATIENCE)
    assert target.read_bytes() == BODY
    assert server.ranges() == [None, "bytes=100000-"]


# ---- files of the user


def test_local_file_is_accepted_with_a_record_without_url(tmp_path):
    path = tmp_path / "mine.zip"
    path.write_bytes(BODY)
    record = accept_local_file(entry_of("https://example.org/a"), str(path))
    assert (record["url"], record["hash_status"], record["bytes"]) == (None, "confirmed", len(BODY))
    assert accept_local_file(entry_of("https://example.org/a"), str(path)) == record
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (BODY[:-1], f"it has {len(BODY) - 1:,} bytes, not the {len(BODY):,} of the manifest"),
        (OTHER_BODY, "its SHA-256 is [0-9a-f]{64}, not [0-9a-f]{64}, on which two sources agree"),
        (padded(b"<html>"), "it is a web page"),
        (padded(b"Rar!"), "it is no zip: it starts with b'Rar!"),
    ],
)
def test_local_file_that_differs_is_refused(tmp_path, body, reason):
    path = tmp_path / "mine.zip"
    path.write_bytes(body)
    with pytest.raises(ValueError, match=rf"{path} is not {NAME}: {reason}"):
        accept_local_file(entry_of("https://example.org/a"), str(path))
    assert path.read_bytes() == body
    assert not Path(record_path(str(path))).exists()


def test_record_keeps_the_url_when_the_manifest_learns_more(server, target):
    entry = entry_of(server.url(f"/{NAME}", Answer()), confidence="single_source")
    first = download_file(entry, str(target), PATIENCE)
    second = accept_local_file(replace(entry, confidence="confirmed"), str(target))
    assert second == {**first, "hash_status": "confirmed"}


# ---- the call of a rule


def write_manifest(folder: Path, bodies: dict[str, bytes], url) -> Path:
    entries = [
        {
            "name": name,
            "version": "1.2",
            "member": None,
            "urls": [url(name)],
            "bytes": len(body),
            "sha256": hashlib.sha256(body).hexdigest(),
            "confidence": "confirmed",
            "source": "made for this test",
        }
        for name, body in bodies.items()
    ]
    path = folder / "manifest.yaml"
    path.write_text(json.dumps({"files": entries}))
    return path


def test_file_of_a_manifest_is_fetched_by_its_name(server, tmp_path):
    manifest = write_manifest(tmp_path, {NAME: BODY}, lambda name: server.url(f"/{name}", Answer()))
    target = tmp_path / "data" / NAME
    download_entry(str(manifest), str(target))
    assert target.read_bytes() == BODY


def test_files_are_validated_and_listed_wherever_they_come_from(server, tmp_path):
    bodies = {NAME: BODY, "attributes.json.zip": OTHER_BODY}
    manifest = write_manifest(tmp_path, bodies, lambda name: server.url(f"/{name}", Answer(body=bodies[name])))
    fetched, mine, unpacked = tmp_path / NAME, tmp_path / "mine" / "attributes.json.zip", tmp_path / "objects.json"
    download_entry(str(manifest), str(fetched))
    mine.parent.mkdir()
    mine.write_bytes(OTHER_BODY)
    unpacked.write_text("[]")
    index = tmp_path / "index.json"
    validate_files(str(manifest), [str(fetched), str(mine), str(unpacked)], str(index))
    records = json.loads(index.read_text())
    assert [record["hash_status"] for record in records] == ["confirmed", "confirmed", "unknown"]
    assert [record["url"] is None for record in records] == [False, True, True]
    assert [record["path"] for record in records] == [str(fetched), str(mine), str(unpacked)]
    assert list(mine.parent.iterdir()) == [mine]


def test_validation_refuses_a_file_that_is_another_one(tmp_path):
    manifest = write_manifest(tmp_path, {NAME: BODY}, lambda name: f"https://example.org/{name}")
    target, index = tmp_path / NAME, tmp_path / "index.json"
    target.write_bytes(OTHER_BODY)
    with pytest.raises(ValueError, match=f"{target} is not {NAME}: its SHA-256 is"):
        validate_files(str(manifest), [str(target)], str(index))
    assert not index.exists()


def test_file_that_the_manifest_does_not_list_is_refused(tmp_path):
    manifest = write_manifest(tmp_path, {NAME: BODY}, lambda name: f"https://example.org/{name}")
    with pytest.raises(ValueError, match=r"no entry for 'object\.json\.zip'; it lists"):
        download_entry(str(manifest), "object.json.zip")


# ---- progress


def test_progress_says_per_cent_bytes_speed_and_time_left():
    text = progress_text(2_500_000_000, 10_000_000_000, 12_500_000.0)
    assert text == "25.0%, 2,500,000,000 of 10,000,000,000 bytes, 12.50 MB/s, 0:10:00 left"
    assert progress_text(1_000, None, 500.0) == "1,000 bytes, 0.00 MB/s"
    assert progress_text(0, 1_000, 0.0) == "0.0%, 0 of 1,000 bytes, 0.00 MB/s, stalled"


def test_progress_is_logged_no_more_often_than_the_interval(server, target, log):
    entry = entry_of(server.url(f"/{NAME}", Answer()))
    download_file(entry, str(target), PATIENCE)
    assert log.text.count(" left") >= 4
    log.clear()
    target.unlink()
    download_file(entry, str(target), replace(PATIENCE, log_interval=60.0))
    assert " left" not in log.text
