"""A content-addressed, append-only store of features, outside the outputs of any rule.

The folder of a model's identity holds shards: Parquet files of keys and float32 vectors, named by their content and
never changed. A key says what was encoded (a text, the pixels of a crop); so what is there is never encoded again,
whatever rule or run asks for it, and a run that was killed keeps the shards that it had finished.
"""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from crepebench.files import atomic_path


class FeatureStore:
    """The features of one model.

    Args:
        root: folder of the store.
        identity: what the model's `identity` says.
    """

    def __init__(self, root: str, identity: str):
        self.folder = Path(root) / identity

    def find(self, keys: Iterable[str]) -> dict[str, tuple[str, int]]:
        """Finds keys.

        Returns:
            Shard and row of each key that is there; of several places the first by shard name.
        """
        wanted, found = set(keys), {}
        for path in sorted(self.folder.glob("*.parquet")):
            for row, key in enumerate(pq.read_table(path, columns=["key"])["key"].to_pylist()):
                if key in wanted:
                    found.setdefault(key, (path.stem, row))
        return found

    def add(self, keys: Sequence[str], vectors: np.ndarray) -> None:
        """Writes a shard.

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
        raw = np.ascontiguousarray(vectors, dtype="<f4")
        shard = hashlib.sha256("\n".join(keys).encode() + raw.tobytes()).hexdigest()[:16]
        vector_type = pa.binary(raw.shape[1] * 4)
        column = pa.Array.from_buffers(vector_type, len(keys), [None, pa.py_buffer(raw.tobytes())])
        with atomic_path(str(self.folder / f"{shard}.parquet")) as partial:
            pq.write_table(
                pa.table({"key": pa.array(keys, pa.string()), "vector": column}), partial, compression="none"
            )

    def read(self, places: Sequence[tuple[str, int]]) -> np.ndarray:
        """Reads vectors.

        Args:
            places: shard and row of each.

        Returns:
            (n, dim) float32, in the order of `places`.

        Raises:
            FileNotFoundError: a shard is gone; says how to rebuild it.
        """
        shards = {shard: self._read_shard(shard) for shard in {shard for shard, _ in places}}
        return np.stack([shards[shard][row] for shard, row in places]) if places else np.empty((0, 0), np.float32)

    def _read_shard(self, shard: str) -> np.ndarray:
        path = self.folder / f"{shard}.parquet"
        if not path.is_file():
            raise FileNotFoundError(f"{path} is gone: run snakemake again with --forcerun extract_features")
        column = pq.read_table(path, columns=["vector"])["vector"].combine_chunks()
        width = column.type.byte_width // 4
        return np.frombuffer(column.buffers()[1], dtype="<f4").reshape(-1, width)[column.offset :][: len(column)]
