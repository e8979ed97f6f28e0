"""A server on this machine that stands for the hosts of the true files: plain hosts, and the hub of models.

A plain file lies at `/<host>/<path>` of its true URL. A repository of the hub has its list of files, and its files at
`resolve`, with the headers that its clients look for. Files are sent with ETag and Range; every byte is counted.
"""

import hashlib
import json
import re
import threading
from collections import Counter
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

REVISION = "0123456789abcdef0123456789abcdef01234567"
CHUNK = 1 << 20
RESOLVED = re.compile(r"/([\w.-]+/[\w.-]+)/resolve/[\w.-]+/(.+)")
LISTED = re.compile(r"/api/models/([\w.-]+/[\w.-]+)(?:/revision/[\w.-]+)?")


@cache
def sha256_of(path: Path) -> str:
    """Returns the SHA-256 of a file that does not change any more."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


class LoopbackHost:
    """Serves files under the URLs of other hosts, and notes what is asked for.

    Attributes:
        url: its address, which is the hub's (HF_ENDPOINT), too.
        requests: method, path and first byte of every request.
        sent: bytes that were sent of each path.
        refused: paths that are answered with status 403.
        cut: bytes after which the next answer for a path breaks off.
    """

    def __init__(self):
        self.requests: list[tuple[str, str, int]] = []
        self.sent: Counter = Counter()
        self.refused: set[str] = set()
        self.cut: dict[str, int] = {}
        self._files: dict[str, Path] = {}
        self._repositories: dict[str, dict[str, Path]] = {}
        self._lock = threading.Lock()
        host = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                host._answer(self)

            def do_HEAD(self):
                host._answer(self)

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    def moved(self, url: str) -> str:
        """Returns the URL here of what has a URL elsewhere."""
        parts = urlsplit(url)
        return f"{self.url}/{parts.hostname}{parts.path}"

    def add_file(self, url: str, path: Path) -> str:
        """Serves a file under a URL of another host; returns its URL here."""
        self._files[urlsplit(self.moved(url)).path] = path
        return self.moved(url)

    def add_repository(self, name: str, folder: Path) -> None:
        """Serves the files of a folder as a repository of the hub."""
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        self._repositories[name] = {str(path.relative_to(folder)): path for path in paths}

    def size(self, path: str) -> int | None:
        """Returns the bytes of what is served as a path; None if it is no file."""
        found = self._find(path)
        return found.stat().st_size if found else None

    def _find(self, path: str) -> Path | None:
        resolved = RESOLVED.fullmatch(path)
        if resolved and resolved[1] in self._repositories:
            return self._repositories[resolved[1]].get(resolved[2])
        return self._files.get(path)

    def _list(self, name: str) -> bytes:
        siblings = []
        for file, path in self._repositories[name].items():
            size = path.stat().st_size
            is_large = path.suffix in (".safetensors", ".bin")
            blob = "0" * 40 if is_large else _blob_id(path.read_bytes())
            large = {"lfs": {"sha256": sha256_of(path), "size": size}} if is_large else {}
            siblings.append({"rfilename": file, "size": size, "blobId": blob, **large})
        return json.dumps({"id": name, "modelId": name, "sha": REVISION, "tags": [], "siblings": siblings}).encode()

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        path = unquote(urlsplit(handler.path).path)
        asked = re.fullmatch(r"bytes=(\d+)-", handler.headers.get("Range", ""))
        start = int(asked[1]) if asked else 0
        with self._lock:
            self.requests.append((handler.command, path, start))
            cut = self.cut.pop(path, None) if handler.command == "GET" else None
        listed = LISTED.fullmatch(path)
        if listed and listed[1] in self._repositories:
            body = self._list(listed[1])
            _send_head(handler, 200, {"Content-Type": "application/json", "Content-Length": len(body)})
            handler.wfile.write(body if handler.command == "GET" else b"")
            return
        file = self._find(path)
        if file is None or path in self.refused:
            status = 403 if path in self.refused else 404
            is_known = RESOLVED.fullmatch(path) and RESOLVED.fullmatch(path)[1] in self._repositories
            error = {"X-Error-Code": "EntryNotFound"} if is_known else {}
            _send_head(handler, status, {"Content-Length": 0, **error})
            return
        size, etag = file.stat().st_size, f'"{sha256_of(file)}"'
        if asked and handler.headers.get("If-Range", etag) != etag:
            start, asked = 0, None
        headers = {"ETag": etag, "Accept-Ranges": "bytes", "Content-Length": size - start}
        headers |= {"Content-Type": "application/octet-stream"}
        if asked:
            headers["Content-Range"] = f"bytes {start}-{size - 1}/{size}"
        if RESOLVED.fullmatch(path):
            headers["X-Repo-Commit"] = REVISION
        _send_head(handler, 206 if asked else 200, headers)
        if handler.command == "GET":
            self._send_body(handler, path, file, start, cut)

    def _send_body(self, handler, path: str, file: Path, start: int, cut: int | None) -> None:
        left = cut if cut is not None else file.stat().st_size - start
        with open(file, "rb") as stream:
            stream.seek(start)
            while left and (chunk := stream.read(min(CHUNK, left))):
                handler.wfile.write(chunk)
                left -= len(chunk)
                with self._lock:
                    self.sent[path] += len(chunk)
        if cut is not None:
            handler.close_connection = True


def _blob_id(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def _send_head(handler: BaseHTTPRequestHandler, status: int, headers: dict) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, str(value))
    handler.end_headers()
