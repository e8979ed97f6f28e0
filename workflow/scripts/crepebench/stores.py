"""Prune the feature store: remove what no feature index points to any more.

The store outlives the rules that fill it, so nothing in it is an output that Snakemake could clean. What is in use is
said by the feature indexes, of this working directory and of those that share the store. A shard is in use if an index
names it together with its model, whatever path the index gives for the store: the same store may have another path for
another run, and names made from contents are never given twice.
"""

import json
import logging
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa

from crepebench.feature_index import identity_path
from crepebench.feature_store import DAMAGED_FILES, PARTIAL_FILES, SHARD_FILES, FeatureStore
from crepebench.schema import FEATURE_INDEX, read_table

logger = logging.getLogger(__name__)

INDEX_FOLDER = "results/features"
SECONDS_PER_DAY = 86_400
REMOVED = "removed"
KEPT = "kept"


def prune_stores(cfg: str) -> str:
    """Removes unused, damaged and half-written shards; to be called in the working directory.

    The locks of all models are held meanwhile, so no job can add a shard or write an index. All indexes are read before
    anything is removed.

    Args:
        cfg: JSON of `features` (folder of the store), `keep_days` (younger shards stay) and `shared_with` (other
            working directories whose indexes count).

    Returns:
        What was removed and kept: number of files, bytes, and files by reason.

    Raises:
        FileNotFoundError: the store is no folder, or a working directory has no feature index.
        ValueError: an index cannot be read.
    """
    config = json.loads(cfg)
    stores = list_models(config["features"])
    with ExitStack() as locks:
        for store in stores:
            locks.enter_context(store.locked())
        used = set().union(*map(read_used_shards, (".", *config["shared_with"])))
        files = sorted(path for store in stores for path in store.folder.iterdir() if path.is_file())
        n_files, n_bytes = Counter(), Counter()
        for path in files:
            size, age_days = path.stat().st_size, (time.time() - path.stat().st_mtime) / SECONDS_PER_DAY
            verdict, reason = judge_file(path, age_days, used, config["keep_days"])
            n_files[verdict, reason] += 1
            n_bytes[verdict] += size
            if verdict == REMOVED:
                path.unlink()
            logger.info("%s %s (%d bytes): %s", verdict, path, size, reason)
    summary = f"{config['features']}: {'; '.join(_total(verdict, n_files, n_bytes) for verdict in (REMOVED, KEPT))}"
    logger.info("%s", summary)
    return summary


def list_models(root: str) -> list[FeatureStore]:
    """Lists the models of a store: its folders that hold files of a store, so that no other folder is ever touched.

    Raises:
        FileNotFoundError: the store is no folder.
    """
    if not Path(root).is_dir():
        raise FileNotFoundError(f"config: stores.features: there is no folder {root}")
    patterns = (SHARD_FILES, DAMAGED_FILES, PARTIAL_FILES)
    folders = sorted(folder for folder in Path(root).iterdir() if folder.is_dir())
    return [FeatureStore(root, folder.name) for folder in folders if any(any(folder.glob(p)) for p in patterns)]


def judge_file(path: Path, age_days: float, used: set[tuple[str, str]], keep_days: int) -> tuple[str, str]:
    """Says whether a file in a model's folder is to be removed or kept, and why.

    Args:
        path: the file; its folder is named by the model's identity.
        age_days: days since it was written.
        used: identity and shard of all shards in use.
        keep_days: shards younger than this stay.

    Returns:
        `REMOVED` or `KEPT`, and the reason.
    """
    if path.match(DAMAGED_FILES):
        return REMOVED, "damaged"
    if path.match(PARTIAL_FILES):  # its writer is dead, since it would hold the lock
        return REMOVED, "half-written"
    if not path.match(SHARD_FILES):
        return KEPT, "not of the store"
    if (path.parent.name, path.stem) in used:
        return KEPT, "in use"
    return (KEPT, f"younger than {keep_days} days") if age_days < keep_days else (REMOVED, "unused")


def read_used_shards(folder: str) -> set[tuple[str, str]]:
    """Reads identity and shard of all shards that the feature indexes of a working directory point to.

    Raises:
        FileNotFoundError: the directory has no feature index: then every shard would seem unused.
        ValueError: an index cannot be read.
    """
    paths = sorted(p for p in Path(folder, INDEX_FOLDER).glob("*/*.parquet") if not p.name.startswith("."))
    if not paths:
        raise FileNotFoundError(
            f"nothing was removed: {Path(folder).resolve()} holds no feature index in {INDEX_FOLDER}, which would say "
            "what is in use; run extract_features there first, or mend stores.shared_with in the config"
        )
    used = set()
    for path in paths:
        try:
            identity = json.loads(Path(identity_path(str(path))).read_text(encoding="utf-8"))["identity"]
            shards = read_table(path, FEATURE_INDEX, columns=["shard"])["shard"].unique().to_pylist()
        except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
            raise ValueError(f"nothing was removed: the feature index {path} cannot be read: {error}") from error
        used.update((identity, shard) for shard in shards)
    return used


def _total(verdict: str, n_files: Counter, n_bytes: Counter) -> str:
    """Returns files and bytes of a verdict, and files by reason."""
    by_reason = {reason: count for (found, reason), count in sorted(n_files.items()) if found == verdict}
    reasons = ", ".join(f"{count} {reason}" for reason, count in by_reason.items())
    return f"{verdict} {sum(by_reason.values())} files, {n_bytes[verdict]} bytes ({reasons or 'none'})"
