"""A content-addressed, append-only store of features, outside the outputs of any rule.

The folder of a model's identity holds shards: Parquet files of keys and vectors, named by the SHA-256 of their content
and never changed. A key says what was encoded (a text, the pixels of a crop); so what is there is never encoded
again, whatever rule or run asks for it, and a run that was killed keeps the shards that it had finished.

Many jobs may use a store at once: a lock file beside the model's folder is held while a shard is added or an index is
written. A shard is compared with its name before it is used; one that differs is set aside as `<file>.damaged`.

Vectors are float32. Unit rows may be kept as float16 in half the space, in a folder of their own; they are brought back
to float32 and to length one when they are read.
"""

import errno
import hashlib
import logging
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from filelock import FileLock

from crepebench.files import PARTIAL, atomic_path, remove_leftovers
from crepebench.locks import held

logger = logging.getLogger(__name__)

FLOAT32, FLOAT16 = "float32", "float16"
PRECISIONS = {FLOAT32: "<f4", FLOAT16: "<f2"}
PRECISION = b"precision"
"""Where a shard says its number format; FLOAT32 if it does not."""
MOST_OFF_UNIT = 1e-3
DAMAGED = ".damaged"
SHARD_FILES = "[0-9a-f]" * 16 + ".parquet"
DAMAGED_FILES = SHARD_FILES + DAMAGED
PARTIAL_FILES = f".*{PARTIAL}.parquet"
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
        precision: FLOAT32, or FLOAT16 for unit rows only, whose folder is another one.

    Attributes:
        folder: where the shards are.
        precision: as above.
    """

    def __init__(self, root: str, identity: str, precision: str = FLOAT32):
        self.folder = Path(root) / (identity if precision == FLOAT32 else f"{identity}-{precision}")
        self.precision = precision
        self._lock = FileLock(f"{self.folder}.lock")
        self._keys: dict[tuple[str, int], pa.Array] = {}  # by name and time stamp of the shard
        self._sound: set[tuple[str, int]] = set()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Holds the lock of the model's folder against all other jobs; waits for it. May be nested."""
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        with held(self._lock):
            yield

    def find(self, keys: Iterable[str]) -> dict[str, tuple[str, int]]:
        """Finds keys. A shard that holds one of them is verified first, and set aside if it is damaged.

        Returns:
            Shard and row of each key that is there; of several places the first by shard name.

        Raises:
            OSError: the system refuses to read a shard (no permission, for example).
        """
        wanted, found = pa.array(set(keys), pa.string()), {}
        for path in sorted(self.folder.glob(SHARD_FILES)):
            for row, key in self._find_in_shard(path, wanted):
                found.setdefault(key, (path.stem, row))
        return found

    def _find_in_shard(self, path: Path, wanted: pa.Array) -> list[tuple[int, str]]:
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
                renamed = "%s is damaged (%s): renamed to %s, its features are to be encoded again"
                logger.warning(renamed, path, error, path.name + DAMAGED)
                return []

    def _verified_rows(self, path: Path, wanted: pa.Array) -> list[tuple[int, str]]:
        """Returns row and key of each wanted key in a shard, verified unless this object did so before."""
        try:
            version = (path.name, path.stat().st_mtime_ns)
            if version not in self._keys:
                self._keys[version] = _read_columns(path, ["key"])["key"].combine_chunks()
            there = self._keys[version]
            rows = pc.indices_nonzero(pc.is_in(there, value_set=wanted)) if len(wanted) else pa.array([], pa.uint64())
            if len(rows) and version not in self._sound:
                read_shard(path)
                self._sound.add(version)
        except FileNotFoundError:  # another job has set it aside, or it was pruned
            return []
        return list(zip(rows.to_pylist(), there.take(rows).to_pylist(), strict=True))

    def add(self, keys: Sequence[str], vectors: np.ndarray) -> None:
        """Writes a shard of the keys that are not there yet: another job may have added some meanwhile.

        Args:
            keys: one per vector.
            vectors: (n, dim) float32.

        Raises:
            ValueError: a vector holds NaN or infinity, or is no unit row for FLOAT16; keys and vectors differ.
        """
        if not np.isfinite(vectors).all():
            raise ValueError(f"{int((~np.isfinite(vectors).all(axis=1)).sum())} of {len(keys)} features are not finite")
        if len(keys) != len(vectors):
            raise ValueError(f"{len(keys)} keys for {len(vectors)} features")
        if self.precision == FLOAT16 and (abs(np.linalg.norm(vectors, axis=1) - 1) > MOST_OFF_UNIT).any():
            raise ValueError("only features of length one can be kept as float16")
        with self.locked():
            there = self.find(keys)
            new = [i for i, key in enumerate(keys) if key not in there]
            if there:
                logger.info("%d of %d features were added by another job meanwhile", len(there), len(keys))
            if new:
                self._write_shard([keys[i] for i in new], vectors[new])

    def _write_shard(self, keys: list[str], vectors: np.ndarray) -> None:
        remove_leftovers(self.folder, PARTIAL_FILES)  # a killed writer's shard may never be written again
        numbers = np.ascontiguousarray(vectors, dtype=PRECISIONS[self.precision])
        raw = numbers.tobytes()
        width = numbers.shape[1] * numbers.itemsize
        column = pa.Array.from_buffers(pa.binary(width), len(keys), [None, pa.py_buffer(raw)])
        metadata = None if self.precision == FLOAT32 else {PRECISION: self.precision}
        table = pa.table({"key": pa.array(keys, pa.string()), "vector": column}, metadata=metadata)
        with atomic_path(str(self.folder / f"{_shard_name(keys, raw, self.precision)}.parquet")) as partial:
            pq.write_table(table, partial, compression="none", use_dictionary=False, write_statistics=False)

    def read(
        self, places: Sequence[tuple[str, int]], allocate: Callable[[tuple[int, int]], np.ndarray] | None = None
    ) -> np.ndarray:
        """Reads vectors from verified shards, one shard after the other: only one stands in memory beside the result.

        Args:
            places: shard and row of each.
            allocate: makes the float32 array of a shape that is to hold them; numpy's if None.

        Returns:
            (n, dim) float32, in the order of `places`.

        Raises:
            FileNotFoundError: a shard is gone; says how to rebuild it.
            DamagedShardError: a shard is damaged; says how to rebuild it.
        """
        by_shard: dict[str, list[int]] = defaultdict(list)
        for i, (shard, _) in enumerate(places):
            by_shard[shard].append(i)
        rows = np.array([row for _, row in places], np.int64)
        result = None if places else np.empty((0, 0), np.float32)
        for shard, wanted in sorted(by_shard.items()):
            vectors = self._read_needed(shard)
            if result is None:
                shape = (len(places), vectors.shape[1])
                result = allocate(shape) if allocate else np.empty(shape, np.float32)
            result[wanted] = _as_float32(vectors[rows[wanted]])
        return result

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
        (n, dim), float32 or float16.

    Raises:
        DamagedShardError: says why.
        OSError: the system refuses to read the file (it is gone, or there is no permission).
    """
    table = _read_columns(path, ["key", "vector"])
    column = table["vector"].combine_chunks()
    start, width = column.offset * column.type.byte_width, column.type.byte_width
    raw = column.buffers()[1][start : start + len(column) * width]
    precision = (table.schema.metadata or {}).get(PRECISION, FLOAT32.encode()).decode("ascii", "replace")
    if precision not in PRECISIONS or _shard_name(table["key"].to_pylist(), raw, precision) != path.stem:
        raise DamagedShardError("its content does not match its name")
    return np.frombuffer(raw, dtype=PRECISIONS[precision]).reshape(len(column), -1)


def _as_float32(vectors: np.ndarray) -> np.ndarray:
    """Returns vectors as float32; what was kept in fewer digits is brought back to length one."""
    if vectors.dtype == np.float32:
        return vectors
    vectors = vectors.astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


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


def _shard_name(keys: Sequence[str], raw, precision: str) -> str:
    """Returns the name of a shard with these keys and these bytes of vectors in a precision."""
    digest = hashlib.sha256("\n".join(keys).encode())
    digest.update(raw)
    if precision != FLOAT32:
        digest.update(precision.encode())
    return digest.hexdigest()[:16]
