"""Time ways against each other, and measure ranks and the reading of shards; for `extract_features.py`."""

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from feature_baselines import rank_by_sorting

from crepebench.feature_store import FeatureStore, read_shard
from crepebench.scores import truth_ranks

N_CANDIDATES = 16
SHORT = 3
"""Measurements of less than a second have so many times more rounds."""
SORTED_QUERIES = 5_000
"""Queries that are ranked by sorting each; the time for more is proportional."""


def compare(ways: dict[str, Callable], rounds: int) -> tuple[dict, dict[str, float], dict]:
    """Calls all ways in turn, some rounds long.

    Returns:
        What each returned last; median seconds; and the median ratio of the first way's time to each, round by round.
    """
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    results = {}
    for _ in range(rounds):
        for name, way in ways.items():
            results.pop(name, None)  # its memory is free for the next
            start = time.process_time()
            results[name] = way()
            seconds[name].append(time.process_time() - start)
    base = next(iter(seconds.values()))
    ratios = {
        name: median(first / other for first, other in zip(base, times, strict=True)) for name, times in seconds.items()
    }
    return results, {name: median(times) for name, times in seconds.items()}, ratios


def measure_ranks(n_queries: int, rounds: int) -> list[dict]:
    """Compares ranks of all queries at once with a sort for each, as in the released code; there are no ties."""
    import torch

    scores = np.random.default_rng(3).normal(size=(n_queries, N_CANDIDATES))
    few = torch.from_numpy(scores[:SORTED_QUERIES])
    results, seconds, ratios = compare(
        {
            "ranks: a sort for each query": lambda: [rank_by_sorting(row) for row in few],
            "ranks: counted at once": lambda: truth_ranks(scores),
        },
        SHORT * rounds,
    )
    sorted_ranks, counted = results.values()
    if not np.array_equal(sorted_ranks, counted[: len(few)]):
        raise ValueError("the ranks differ")
    sizes = dict(zip(results, (len(few), n_queries), strict=True))
    return [
        {"what": name, "per_second": size / seconds[name], "ratio": ratios[name] * size / len(few)}
        for name, size in sizes.items()
    ]


def measure_shards(folder: Path, n_rows: int, dim: int, rounds: int, precision: str) -> list[dict]:
    """Compares shards of the store with Parquet's list of floats, not compressed; files are in the page cache."""
    vectors = np.random.default_rng(4).normal(size=(n_rows, dim))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(precision)
    keys = [f"{i:032x}" for i in range(n_rows)]
    store = FeatureStore(str(folder / "shards"), "model", precision)
    store.add(keys, vectors)
    (shard,) = store.folder.iterdir()
    lists = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), dim)
    list_path = folder / f"lists_{precision}.parquet"
    pq.write_table(pa.table({"key": keys, "vector": lists}), list_path, compression="none")

    def read_lists() -> np.ndarray:
        column = pq.ParquetFile(list_path).read(["vector"])["vector"].combine_chunks()
        return column.flatten().to_numpy().reshape(len(column), -1)

    def read_binary() -> np.ndarray:
        column = pq.ParquetFile(shard).read(["vector"])["vector"].combine_chunks()
        return np.frombuffer(column.buffers()[1], precision).reshape(len(column), -1)

    results, seconds, ratios = compare(
        {
            f"shard, {precision}: Parquet fixed_size_list": read_lists,
            f"shard, {precision}: fixed_size_binary": read_binary,
            f"shard, {precision}: fixed_size_binary, compared with its name": lambda: read_shard(shard),
        },
        SHORT * rounds,
    )
    if not all(np.array_equal(found, vectors) for found in results.values()):
        raise ValueError("a shard differs from what was written")
    return [
        {"what": name, "per_second": vectors.nbytes / 1e6 / seconds[name], "ratio": ratios[name]} for name in results
    ]
