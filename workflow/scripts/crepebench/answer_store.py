"""An append-only, content-addressed store of the answers of language models, outside the outputs of any rule.

The folder of a backend's identity holds `identity.json`, which says what the answers come from, and segments: files of
JSON lines, one answer each, under the digest of its prompt and seed. Every writer appends to a segment of its own, one
write for each answer, so a job that is killed loses what had not come yet and no more, and leaves at most one torn
line, at the end of its segment. Torn and damaged lines are ignored and logged; what they held is asked for again.

Many jobs may use a store at once: a lock file beside the folder is held while segments are read or written. So a key
has one answer for ever: what another job added meanwhile wins over what comes later.
"""

import errno
import json
import logging
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from uuid import uuid4

from filelock import FileLock

from crepebench.captioners import Answer, digest_of
from crepebench.files import atomic_path
from crepebench.locks import held

logger = logging.getLogger(__name__)

SEGMENT_FILES = "[0-9a-f]" * 32 + ".jsonl"
IDENTITY_FILE = "identity.json"


class AnswerStore:
    """The answers of one backend.

    Args:
        root: folder of the store.
        identity: the backend's `Captioner.identity`.
    """

    def __init__(self, root: str, identity: Mapping):
        self.folder = Path(root) / digest_of(identity)
        self._identity = dict(identity)
        self._lock = FileLock(f"{self.folder}.lock")
        self._answers: dict[str, Answer] = {}
        self._read: dict[Path, tuple[int, int]] = {}  # bytes of each segment: all, and of the lines that are read
        self._torn: set[Path] = set()
        self._own = self.folder / f"{uuid4().hex}.jsonl"

    def find(self, keys: Iterable[str]) -> dict[str, Answer]:
        """Returns the answers that are there, those that other jobs have added meanwhile included."""
        if self.folder.is_dir():
            with held(self._lock):
                self._read_news()
        return {key: self._answers[key] for key in keys if key in self._answers}

    def add(self, key: str, answer: Answer) -> Answer:
        """Writes an answer unless its key has one, and returns the one that stands."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with held(self._lock):
            self._read_news()
            if key not in self._answers:
                self._write_identity()
                record = {"key": key, **asdict(answer)}
                line = json.dumps({**record, "digest": digest_of(record)}, sort_keys=True)
                _append(self._own, f"{line}\n".encode())
                self._read_news()
        return self._answers[key]

    def n_torn(self) -> int:
        """Returns the number of segments seen so far that end in a torn line."""
        return len(self._torn)

    def _write_identity(self) -> None:
        path = self.folder / IDENTITY_FILE
        if not path.exists():
            with atomic_path(str(path)) as partial:
                text = json.dumps(self._identity, indent=2, sort_keys=True) + "\n"
                Path(partial).write_text(text, encoding="utf-8")

    def _read_news(self) -> None:
        """Reads what was appended to the segments since the last time."""
        for path in sorted(self.folder.glob(SEGMENT_FILES)):
            size, end = self._read.get(path, (0, 0))
            if path.stat().st_size == size:
                continue
            with path.open("rb") as stream:
                stream.seek(end)
                news = stream.read()
            whole, newline, rest = news.rpartition(b"\n")
            if rest:
                self._torn.add(path)
                logger.warning("%s: its last line is torn: a job was killed; ignored", path)
            self._read[path] = end + len(news), end + len(whole + newline)
            for line in whole.split(b"\n") if newline else ():
                self._read_line(path, line)

    def _read_line(self, path: Path, line: bytes) -> None:
        try:
            record = json.loads(line)
            digest, key = record.pop("digest"), record["key"]
            if digest != digest_of(record):
                raise ValueError("its digest differs")
            answer = Answer(**{name: value for name, value in record.items() if name != "key"})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            logger.warning("%s: a line is damaged (%s); ignored", path, error)
            return
        self._answers.setdefault(key, answer)


def _append(path: Path, line: bytes) -> None:
    """Appends a line to a file in one write, onto the disk.

    Raises:
        OSError: the disk is full, for example; names the file.
    """
    try:
        with path.open("ab", buffering=0) as stream:
            start = stream.tell()
            if stream.write(line) != len(line):
                stream.truncate(start)  # else the next line would be appended to the torn one
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(stream.fileno())
    except OSError as error:
        raise OSError(error.errno, f"{error.strerror}; an answer is not stored", str(path)) from error
