"""Read the features of an index, and what is known of its texts and crops."""

import json
import os
import tempfile
from dataclasses import dataclass

import numpy as np

from crepebench.feature_index import CROP, TEXT, identity_path
from crepebench.feature_store import FeatureStore
from crepebench.schema import FEATURE_INDEX, read_table

MOST_BYTES = 2 * 1024**3
"""Size of the largest matrix that is held in memory."""
ABSENT = -1


@dataclass
class Features:
    """The features of an index.

    Attributes:
        rows: row of the matrix of each id, for TEXT and CROP.
        matrix: (n, dim) float32, unit rows.
        tokens: (n,) int64, equal for texts that are one to the model; ABSENT for crops.
        is_cut: (n,) bool, whether a text is longer than the model reads.
        reasons: why crops have no feature, by id.
        own_score: whether the model scores pairs in another way than by the cosine.
    """

    rows: dict[str, dict[str, int]]
    matrix: np.ndarray
    tokens: np.ndarray
    is_cut: np.ndarray
    reasons: dict[str, str]
    own_score: bool = False

    def rows_of(self, kind: str, ids: list[str]) -> np.ndarray:
        """Returns the row of each text or crop, (n,) int64; ABSENT where a crop has no feature.

        Raises:
            KeyError: a text is not in the index, which is that of other sets then.
        """
        rows = self.rows[kind]
        found = (rows[id_] for id_ in ids) if kind == TEXT else (rows.get(id_, ABSENT) for id_ in ids)
        return np.fromiter(found, np.int64, len(ids))


def read_features(index_path: str) -> Features:
    """Reads the features that an index names, shard by shard.

    Memory: the matrix up to MOST_BYTES, a larger one lies in an unnamed file in the folder for temporary files (TMPDIR)
    and is read from there as it is used; one shard (20,000 texts or the crops of 1,000 images) while it is read; and
    some 300 bytes for each id.

    Args:
        index_path: table FEATURE_INDEX; the model's identity stands beside it.

    Raises:
        FileNotFoundError: a shard is gone; says how to rebuild it.
        DamagedShardError: a shard is damaged; says how to rebuild it.
    """
    with open(identity_path(index_path), encoding="utf-8") as file:
        origin = json.load(file)
    table = read_table(index_path, FEATURE_INDEX)
    found = table.filter(table["shard"].is_valid())
    missing = table.filter(table["shard"].is_null())
    places = list(zip(found["shard"].to_pylist(), found["row"].to_pylist(), strict=True))
    matrix = FeatureStore(origin["store"], origin["identity"]).read(places, _allocate)
    rows: dict[str, dict[str, int]] = {TEXT: {}, CROP: {}}
    for row, (kind, id_) in enumerate(zip(found["kind"].to_pylist(), found["id"].to_pylist(), strict=True)):
        rows[kind][id_] = row
    codes = found["tokens_id"].combine_chunks().dictionary_encode().indices
    return Features(
        rows=rows,
        matrix=matrix,
        tokens=codes.fill_null(ABSENT).to_numpy(zero_copy_only=False).astype(np.int64),
        is_cut=found["is_cut"].fill_null(False).to_numpy(),
        reasons=dict(zip(missing["id"].to_pylist(), missing["reason"].to_pylist(), strict=True)),
        own_score=origin["own_score"],
    )


def _allocate(shape: tuple[int, int]) -> np.ndarray:
    """Returns a float32 array, in memory or in a file that vanishes with it.

    Raises:
        OSError: the folder for temporary files is too small; names it.
    """
    n_bytes = int(np.prod(shape)) * np.dtype(np.float32).itemsize
    if n_bytes <= MOST_BYTES:
        return np.empty(shape, np.float32)
    with tempfile.TemporaryFile() as file:
        if hasattr(os, "posix_fallocate"):  # else a full disk would end the process while it fills the array
            try:
                os.posix_fallocate(file.fileno(), 0, n_bytes)
            except OSError as error:
                raise OSError(error.errno, f"{error.strerror}: {n_bytes:,} bytes", tempfile.gettempdir()) from error
        return np.memmap(file, np.float32, "w+", shape=shape)
