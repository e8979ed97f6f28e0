"""Write a large synthetic corpus of captions, spliced from real ones, for benchmarks of the scan and of candidate mode.

Run `python tests/benchmarks/spliced_corpus.py FOLDER --captions 2000000`; it needs CREPE_SHARED_DATA. A caption is the
beginning of one real region caption and the end of another, joined at a preposition or a word in -ing, so that words
and their neighbours are as common as they really are, but no corpus is limited to the 20,400 real captions. Shards
are Parquet files with a column `caption` (and `image_url`, empty); the same seed gives the same shards. The test
suite leaves this out.
"""

import argparse
import csv
import os
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

GOLD_PATH = "factual_scene_graphs/factual_sg_half.csv"
JOINT = re.compile(
    r"(?<=\s)(?:[a-z]+ing|in|on|with|of|at|near|by|under|over|behind|above|below|from|for|to|next|against|between|and)(?=\s)"
)
SHARD_CAPTIONS = 100_000


def read_gold() -> list[dict]:
    """Reads the real captions and their hand-made graphs.

    Raises:
        KeyError: CREPE_SHARED_DATA is not set.
    """
    with open(Path(os.environ["CREPE_SHARED_DATA"]) / GOLD_PATH, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def splice_captions(captions: list[str], n_captions: int, seed: int) -> Iterator[str]:
    """Yields captions made of a beginning and an end that meet at a joint, a tenth of them as they are."""
    heads, tails = [], []
    for caption in captions:
        for joint in JOINT.finditer(caption.lower()):
            heads.append(caption[: joint.start()])
            tails.append(caption[joint.start() :])
    rng = random.Random(seed)
    for _ in range(n_captions):
        yield rng.choice(captions) if rng.random() < 0.1 else rng.choice(heads) + rng.choice(tails)


def write_corpus(folder: Path, texts: list[str], n_captions: int, seed: int) -> list[Path]:
    """Writes shards of captions that are spliced from texts; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for shard, first in enumerate(range(0, n_captions, SHARD_CAPTIONS)):
        n_here = min(SHARD_CAPTIONS, n_captions - first)
        captions = pa.array(splice_captions(texts, n_here, seed + shard), pa.large_string())
        paths.append(folder / f"spliced-{shard:05d}.parquet")
        table = pa.table({"image_url": pa.array([""] * n_here, pa.large_string()), "caption": captions})
        pq.write_table(table, paths[-1], row_group_size=20_000)
    return paths


def main() -> None:
    """Writes the corpus and says where it is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--captions", type=int, default=2_000_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    texts = [row["caption"] for row in read_gold()]
    paths = write_corpus(arguments.folder, texts, arguments.captions, arguments.seed)
    print(f"{arguments.captions:,} captions in {len(paths)} shards: {arguments.folder}")


if __name__ == "__main__":
    main()
