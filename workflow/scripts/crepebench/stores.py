"""Prune the stores of features and likelihoods: remove what no result points to any more.

The stores outlive the rules that fill them, so nothing in them is an output that Snakemake could clean. What is in use
is said by the feature indexes, and by the lists of shards beside tables of likelihoods, of this working directory and
of those that share the stores. A shard is in use if one of them names it together with its model, whatever path the
store has there: the same store may have another path for another run, and names made from contents are never given
twice.
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
from crepebench.stored_values import read_shards_file

logger = logging.getLogger(__name__)

INDEX_FOLDER = "results/features"
SCORED_TABLES = ("results/foils/*/scores/*.parquet", "results/foils/*/entailment/*.parquet")
"""Tables of numbers that language models gave to texts."""
SECONDS_PER_DAY = 86_400
REMOVED = "removed"
KEPT = "kept"


def prune_stores(cfg: str) -> str:
    """Removes unused, damaged and half-written shards; to be called in the working directory.

    The locks of all models are held meanwhile, so no job can add a shard or write an index. What is in use is read
    before anything is removed.

    Args:
        cfg: JSON of `features` and `language_model` (folders of the stores), `keep_days` (younger shards stay) and
            `shared_with` (other working directories whose results count).

    Returns:
        What was removed and kept of each store: number of files, bytes, and files by reason.

    Raises:
        FileNotFoundError: the feature store is no folder, or a working directory has no feature index.
        ValueError: what says what is in use cannot be read.
    """
    config = json.loads(cfg)
    if not Path(config["features"]).is_dir():
        raise FileNotFoundError(f"config: stores.features: there is no folder {config['features']}")
    roots = dict.fromkeys((config["features"], config["language_model"]))
    stores = {root: list_models(root) for root in roots if Path(root).is_dir()}
    folders = (".", *config["shared_with"])
    with ExitStack() as locks:
        for store in (store for models in stores.values() for store in models):
            locks.enter_context(store.locked())
        used = set().union(*map(read_used_shards, folders), *map(read_used_likelihoods, folders))
        summaries = [prune_models(root, models, used, config["keep_days"]) for root, models in stores.items()]
    return "\n".join(summaries)


def prune_models(root: str, models: list[FeatureStore], used: set[tuple[str, str]], keep_days: int) -> str:
    """Removes what is not in use of some models, whose locks are held.

    Args:
        root: folder of the store.
        models: models of that store.
        used: identity and shard of all shards in use.
        keep_days: shards younger than this stay.

    Returns:
        What was removed and kept.
    """
    n_files, n_bytes = Counter(), Counter()
    for path in sorted(path for store in models for path in store.folder.iterdir() if path.is_file()):
        size, age_days = path.stat().st_size, (time.time() - path.stat().st_mtime) / SECONDS_PER_DAY
        verdict, reason = judge_file(path, age_days, used, keep_days)
        n_files[verdict, reason] += 1
        n_bytes[verdict] += size
        if verdict == REMOVED:
            path.unlink()
        logger.info("%s %s (%d bytes): %s", verdict, path, size, reason)
    summary = f"{root}: {'; '.join(_total(verdict, n_files, n_bytes) for verdict in (REMOVED, KEPT))}"
    logger.info("%s", summary)
    return summary


def list_models(root: str) -> list[FeatureStore]:
    """Lists the models of a store: its folders that hold files of a store, so that no other folder is ever touched."""
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


def read_used_likelihoods(folder: str) -> set[tuple[str, str]]:
    """Reads identity and shard of all shards that the tables of likelihoods of a working directory came from.

    A directory without such tables uses none: its foils are judged without a language model.

    Raises:
        ValueError: the list of a table's shards is missing or cannot be read.
    """
    tables = sorted(path for pattern in SCORED_TABLES for path in Path(folder).glob(pattern))
    used = set()
    for path in (path for path in tables if not path.name.startswith(".")):
        try:
            used |= read_shards_file(str(path))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"nothing was removed: which shards {path} came from cannot be read: {error}; make or remove it"
            ) from error
    return used


def _total(verdict: str, n_files: Counter, n_bytes: Counter) -> str:
    """Returns files and bytes of a verdict, and files by reason."""
    by_reason = {reason: count for (found, reason), count in sorted(n_files.items()) if found == verdict}
    reasons = ", ".join(f"{count} {reason}" for reason, count in by_reason.items())
    return f"{verdict} {sum(by_reason.values())} files, {n_bytes[verdict]} bytes ({reasons or 'none'})"
