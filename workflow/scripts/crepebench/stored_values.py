"""Numbers that a model gives to texts or pairs of texts: each is computed once and kept in a content-addressed store.

Beside a table of such numbers stands a small file `<table>.shards.json`, which names the shards that they came from, so
that `crepebench.stores` knows what is in use.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from crepebench.feature_store import FeatureStore
from crepebench.files import atomic_path

logger = logging.getLogger(__name__)

ITEMS_PER_SHARD = 20_000
MOST_ROUNDS = 3
"""How often numbers that leave the store while the job runs (pruned, damaged) are computed before it gives up."""
Item = str | tuple[str, ...]
"""A text, or several that belong together."""


class StoredValues:
    """One number for each text or pair of texts, from one model.

    Args:
        identity: digest of all that a number depends on beside the texts: the folder in the store.
        compute: gives the numbers of some items, (n_items,).
        store: folder of the store.
        decimals: to which the numbers are rounded; they are kept as float32.
    """

    def __init__(self, identity: str, compute: Callable[[Sequence[Item]], np.ndarray], store: str, decimals: int):
        self.identity = identity
        self._compute = compute
        self._store = FeatureStore(store, identity)
        self._decimals = decimals
        self._used: set[str] = set()

    def of(self, items: Sequence[Item]) -> dict[Item, float]:
        """Returns the number of each item; what the store lacks is computed and added, a shard at a time.

        Raises:
            OSError: the store keeps losing what is added to it.
        """
        keys = {item: item_key(item) for item in dict.fromkeys(items)}
        if not keys:
            return {}
        for _ in range(1 + MOST_ROUNDS):
            with self._store.locked():  # what is found here cannot be pruned before it is read
                places = self._store.find(keys.values())
                missing = [item for item, key in keys.items() if key not in places]
                if not missing:
                    return self._read(keys, places)
            logger.info("%d of %d are to be scored", len(missing), len(keys))
            for start in range(0, len(missing), ITEMS_PER_SHARD):
                chunk = missing[start : start + ITEMS_PER_SHARD]
                found = np.asarray(self._compute(chunk), np.float32)
                self._store.add([keys[item] for item in chunk], found[:, None])
        raise OSError(
            f"{self._store.folder} has lost numbers {MOST_ROUNDS} times; the log names damaged shards, if any"
        )

    def _read(self, keys: Mapping[Item, str], places: Mapping[str, tuple[str, int]]) -> dict[Item, float]:
        """Reads the number of each item, and remembers the shards."""
        values = self._store.read([places[key] for key in keys.values()])[:, 0].astype(np.float64)
        self._used.update(shard for shard, _ in places.values())
        return dict(zip(keys, np.round(values, self._decimals).tolist(), strict=True))

    def write_used_shards(self, table_path: str) -> None:
        """Writes, beside a table, which shards of the store its numbers came from."""
        with atomic_path(shards_path(table_path)) as partial, open(partial, "w", encoding="utf-8") as file:
            json.dump({"identity": self.identity, "shards": sorted(self._used)}, file, indent=2)


def item_key(item: Item) -> str:
    """Returns the key of an item in the store."""
    text = item if isinstance(item, str) else json.dumps(item)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def model_identity(kind: str, model) -> str:
    """Returns a digest of kind, weights and vocabulary: what a text's number depends on.

    Args:
        kind: what is done with the model.
        model: has a `model` of PyTorch and its `tokenizer`.
    """
    digest = hashlib.sha256(kind.encode())
    for key, tensor in sorted(model.model.state_dict().items()):
        digest.update(f"{key} {tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    digest.update(json.dumps(sorted(model.tokenizer.get_vocab().items())).encode())
    return digest.hexdigest()[:32]


def shards_path(table_path: str) -> str:
    """Returns the file that says which shards the numbers of a table came from."""
    return table_path.removesuffix(".parquet") + ".shards.json"


def read_shards_file(table_path: str) -> set[tuple[str, str]]:
    """Reads identity and name of the shards that the numbers of a table came from.

    Raises:
        OSError, ValueError, KeyError, TypeError: the file is missing or damaged.
    """
    found = json.loads(Path(shards_path(table_path)).read_text(encoding="utf-8"))
    return {(found["identity"], shard) for shard in found["shards"]}
