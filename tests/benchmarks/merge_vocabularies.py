"""Merge the vocabularies of many shards into one of 20 million compounds, and print time and peak memory.

    python tests/benchmarks/merge_vocabularies.py --folder /tmp/merge

The shards are synthetic; each holds the commonest compounds and a share of the rare ones. They stay in --folder.
"""

import argparse
import multiprocessing
import resource
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "workflow" / "scripts"))

from crepebench.accounting import KEPT, READ, write_accounting  # noqa: E402
from crepebench.schema import VOCABULARY, write_tables  # noqa: E402
from crepebench.vocabularies import COUNTED, KEY_FIELDS, merge_vocabularies  # noqa: E402

N_COMMON = 500_000
"""Compounds that every shard holds."""


def write_shard(path: Path, shard: int, n_keys: int, n_shards: int) -> None:
    """Writes the vocabulary of a shard: the common compounds, and rare ones of which two shards in 20 hold each."""
    rare = np.arange(N_COMMON, n_keys)
    held = rare[((rare * 7919) % n_shards == shard) | ((rare * 104_729 + 1) % n_shards == shard)]
    ids = np.concatenate([np.arange(N_COMMON), held])
    id_ = pl.Series(ids).cast(pl.String)
    rows = pl.DataFrame(
        {
            "kind": "attribute_object",
            "subject": "",
            "relation": "",
            "object": "noun" + id_.str.slice(0, 4),
            "attribute": "adjective" + id_,
            "count": pl.Series(np.ones(len(ids), np.int64)),
            "state": COUNTED,
            "n_parsed": 3_000_000,
            "corpus_id": "",
        }
    ).with_columns(n_candidates=None, n_drawn=None, max_rate=None)
    write_tables(str(path), VOCABULARY, [rows.sort(KEY_FIELDS).select(VOCABULARY.names).to_arrow()])


def main() -> None:
    """Writes the shards, merges them in a process of its own, and prints what it took."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--folder", type=Path, default=Path("benchmark_merge"))
    options.add_argument("--keys", type=int, default=20_000_000)
    options.add_argument("--shards", type=int, default=20)
    given = options.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    paths = [given.folder / f"{shard:03d}.parquet" for shard in range(given.shards)]
    for shard, path in enumerate(paths):
        if not path.exists():
            write_shard(path, shard, given.keys, given.shards)
    counts = given.folder / "accounting.csv"
    write_accounting(str(counts), "vocabularies/synthetic", {"caption": {READ: 10, KEPT: 10}})
    (given.folder / "corpus.json").write_text('{"corpus_id": "synthetic:0"}')
    arguments = (
        [*map(str, paths)],
        [str(counts)],
        str(given.folder / "corpus.json"),
        str(given.folder / "merged.parquet"),
    )
    began = time.monotonic()
    process = multiprocessing.get_context("spawn").Process(target=merge_vocabularies, args=arguments)
    process.start()
    process.join()
    seconds = time.monotonic() - began
    n_rows = sum(pl.scan_parquet(path).select(pl.len()).collect().item() for path in paths)
    merged = pl.scan_parquet(given.folder / "merged.parquet").select(pl.len(), pl.col("count").sum()).collect()
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3
    print(f"{given.shards} shards with {n_rows:,} rows: {merged.item(0, 0):,} compounds, count {merged.item(0, 1):,}")
    print(f"{seconds:.0f} s, peak memory {peak:.0f} MB")


if __name__ == "__main__":
    main()
