"""A content-addressed, append-only store of features, outside the outputs of any rule.

The folder of a model's identity holds shards: Parquet files of keys and float32 vectors, named by the SHA-256 of their
content and never changed. A key says what was encoded (a text, the pixels of a crop); so what is there is never encoded
again, whatever rule or run asks for it, and a run that was killed keeps the shards that it had finished.

Many jobs may use a store at once: a lock file beside the model's folder is held while a shard is added or an index is
written. A shard is compared with its name before it is used; one that differs is set aside as `<file>.damaged`.
"""

import errno
import hashlib
import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock

from crepebench.files import atomic_path

logger = logging.getLogger(__name__)

DAMAGED = ".damaged"
SHARD_FILES = "[0-9a-f]" * 16 + ".parquet"
DAMAGED_FILES = SHARD_FILES + DAMAGED
PARTIAL_FILES = ".*.partial.parquet"
"""Patterns of the files in a model's folder; partial ones are `crepebench.files.atomic_path`'s."""
REPAIR = (
    "repair it with `snakemake --forcerun extract_features` and the options (-d, --configfile, --cores) of your run; "
    "only what is lost will be encoded again"
)


class DamagedShardError(ValueError):
    """A shard cannot be read, or its content is not what its name says."""


class FeatureStore:
    """The features of one model.

    Args:
        root: folder of the store.
        identity: what the model's `identity` says.
    """

    def __init__(self, root: str, identity: str):
        self.folder = Path(root) / identity
        self._lock = FileLock(f"{self.folder}.lock")
        self._keys: dict[tuple[str, int], pa.Array] = {}  # by name and time stamp of the shard
        self._sound: set[tuple[str, int]] = set()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Holds the lock of the model's folder against all other jobs; waits for it. May be nested."""
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        with self._lock:
            yield

    def find(self, keys: Iterable[str]) -> dict[str, tuple[str, int]]:
        """Finds keys. A shard that holds one of them is verified first, and set aside if it is damaged.

        Returns:
            Shard and row of each key that is there; of several places the first by shard name.

        Raises:
            OSError: the system refuses to read a shard (no permission, for example).
        """
        wanted, found = set(keys), {}
        for path in sorted(self.folder.glob(SHARD_FILES)):
            for row, key in self._find_in_shard(path, wanted):
                found.setdefault(key, (path.stem, row))
        return found

    def _find_in_shard(self, path: Path, wanted: set[str]) -> list[tuple[int, str]]:
        """Returns row and key of each wanted key in a shard; none if it is damaged."""
        try:
            return self._verified_rows(path, wanted)
        except DamagedShardError:
            pass
        with self.locked():  # look again: another job may just have written the shard anew
            try:
                return self._verified_rows(path, wanted)
            except DamagedShardError as error:
                os.replace(path, f"{path}{DAMAGED}")
                logger.warning(
                    "%s is damaged (%s): renamed to %s, its features are to be encoded again",
                    path,
                    error,
                    path.name + DAMAGED,
                )
                return []

    def _verified_rows(self, path: Path, wanted: set[str]) -> list[tuple[int, str]]:
        """Returns row and key of each wanted key in a shard, verified unless this object did so before."""
        try:
            version = (path.name, path.stat().st_mtime_ns)
            if version not in self._keys:
                self._keys[version] = _read_columns(path, ["key"])["key"].combine_chunks()
            rows = [(row, key) for row, key in enumerate(self._keys[version].to_pylist()) if key in wanted]
            if rows and version not in self._sound:
                read_shard(path)
                self._sound.add(version)
        except FileNotFoundError:  # another job has set it aside, or it was pruned
            return []
        return rows

    def add(self, keys: Sequence[str], vectors: np.ndarray) -> None:
        """Writes a shard of the keys that are not there yet: another job may have added some meanwhile.

        Args:
            keys: one per vector.
            vectors: (n, dim) float32.

        Raises:
            ValueError: a vector holds NaN or infinity, or there are not as many keys as vectors.
        """
        if not np.isfinite(vectors).all():
            raise ValueError(f"{int((~np.isfinite(vectors).all(axis=1)).sum())} of {len(keys)} features are not finite")
        if len(keys) != len(vectors):
            raise ValueError(f"{len(keys)} keys for {len(vectors)} features")
        with self.locked():
            there = self.find(keys)
            new = [i for i, key in enumerate(keys) if key not in there]
            if there:
                logger.info("%d of %d features were added by another job meanwhile", len(there), len(keys))
            if new:
                self._write_shard([keys[i] for i in new], np.ascontiguousarray(vectors[new], dtype="<f4"))

    def _write_shard(self, keys: list[str], vectors: np.ndarray) -> None:
        raw = vectors.tobytes()
        column = pa.Array.from_buffers(pa.binary(vectors.shape[1] * 4), len(keys), [None, pa.py_buffer(raw)])
        with atomic_path(str(self.folder / f"{_shard_name(keys, raw)}.parquet")) as partial:
            pq.write_table(
                pa.table({"key": pa.array(keys, pa.string()), "vector": column}), partial, compression="none"
            )

    def read(self, places: Sequence[tuple[str, int]]) -> np.ndarray:
        """Reads vectors from verified shards.

        Args:
            places: shard and row of each.

        Returns:
            (n, dim) float32, in the order of `places`.

        Raises:
            FileNotFoundError: a shard is gone; says how to rebuild it.
            DamagedShardError: a shard is damaged; says how to rebuild it.
        """
        shards = {shard: self._read_needed(shard) for shard in {shard for shard, _ in places}}
        return np.stack([shards[shard][row] for shard, row in places]) if places else np.empty((0, 0), np.float32)

    def _read_needed(self, shard: str) -> np.ndarray:
        path = self.folder / f"{shard}.parquet"
        try:
            return read_shard(path)
        except FileNotFoundError as error:
            raise FileNotFoundError(f"{path} is gone: {REPAIR}") from error
        except DamagedShardError as error:
            raise DamagedShardError(f"{path} is damaged ({error}): {REPAIR}") from error


def read_shard(path: Path) -> np.ndarray:
    """Reads a shard's vectors after comparing its content with its name.

    Cost: about 1 GB/s on one core, from the page cache (measured with shards of 20,000 keys and 256 to 1,024
    dimensions); without the comparison it would be 4 GB/s.

    Returns:
        (n, dim) float32.

    Raises:
        DamagedShardError: says why.
        OSError: the system refuses to read the file (it is gone, or there is no permission).
    """
    table = _read_columns(path, ["key", "vector"])
    column = table["vector"].combine_chunks()
    start, width = column.offset * column.type.byte_width, column.type.byte_width
    raw = column.buffers()[1][start : start + len(column) * width]
    if _shard_name(table["key"].to_pylist(), raw) != path.stem:
        raise DamagedShardError("its content does not match its name")
    return np.frombuffer(raw, dtype="<f4").reshape(len(column), -1)


def _read_columns(path: Path, columns: list[str]) -> pa.Table:
    """Reads columns of a shard, and makes a DamagedShardError of what a damaged file may raise."""
    types = {"key": pa.types.is_string, "vector": pa.types.is_fixed_size_binary}
    try:
        with pq.ParquetFile(path) as file:
            table = file.read(columns=columns)
        for name in columns:
            if not types[name](table.schema.field(name).type) or table[name].null_count:
                raise DamagedShardError(f"its column {name} holds something else than it should")
        table.validate(full=True)
    except (pa.ArrowException, KeyError, UnicodeDecodeError, OSError) as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EIO):
            raise
        raise DamagedShardError(f"it cannot be read: {error}") from error
    if not len(table):
        raise DamagedShardError("it holds nothing")
    return table


def _shard_name(keys: Sequence[str], raw) -> str:
    """Returns the name of a shard with these keys and these bytes of vectors."""
    digest = hashlib.sha256("\n".join(keys).encode())
    digest.update(raw)
    return digest.hexdigest()[:16]
