"""Read the distinct captions of a shard, each with the number of times that it stands there.

Web corpora repeat captions. Captions that are equal once folded (`crepebench.corpora.fold`) have equal graphs, so one
of them is parsed and counted for all. The shard is read twice: the first pass keeps a hash of each caption, 16 bytes,
and the second gives those that no earlier caption equals. So memory depends on the number of captions of a shard, not
on their length. Among ten million captions two share a hash of 128 bits with a probability of 1e-25.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import polars as pl
import pyarrow as pa

from crepebench.accounting import KEPT, READ
from crepebench.corpora import CaptionBatch, fold, list_files, read_batches

HASH_SEEDS = (1, 2)


class DistinctCaptions:
    """The distinct captions of a shard.

    Attributes:
        counts: accounting counts of the shard's rows; KEPT are the usable captions, repeated ones counted each time.
        n_distinct: number of distinct captions.
    """

    def __init__(self, read: Callable[[], Iterator[CaptionBatch]]):
        """Reads the shard for the first time.

        Args:
            read: gives the shard's batches; called twice.
        """
        self._read = read
        self.counts: Counter = Counter({READ: 0, KEPT: 0})
        hashes = []
        for batch in read():
            self.counts[READ] += batch.n_read
            self.counts[KEPT] += len(batch.texts)
            self.counts.update(batch.dropped)
            texts = pl.Series("text", fold(batch.texts))
            hashes.append(pl.DataFrame({str(seed): texts.hash(seed) for seed in HASH_SEEDS}))
        rows = pl.concat(hashes).with_row_index("row") if hashes else pl.DataFrame({"row": [], "1": [], "2": []})
        found = rows.group_by(*map(str, HASH_SEEDS)).agg(pl.col("row").min(), n=pl.len()).sort("row")
        self._first = found["row"].cast(pl.Int64).to_numpy()
        self._weights = found["n"].cast(pl.Int64).to_numpy()
        self.n_distinct = len(self._first)

    def batches(self) -> Iterator[tuple[pa.LargeStringArray, np.ndarray]]:
        """Reads the shard again.

        Yields:
            Folded captions, each distinct one once, in the order of the shard; and (n,) int64, how often each stands
            in the shard.
        """
        start = 0
        for batch in self._read():
            low, high = np.searchsorted(self._first, [start, start + len(batch.texts)])
            chosen = self._first[low:high] - start
            yield fold(batch.texts.take(pa.array(chosen))), self._weights[low:high]
            start += len(batch.texts)


def read_distinct(paths: Sequence[str], definition: Mapping, part: int, n_parts: int) -> DistinctCaptions:
    """Reads the distinct captions of one shard of a corpus.

    Args:
        paths: files of the corpus, or folders of them, in a fixed order.
        definition: how they are read, as `crepebench.corpora.read_batches` takes it.
        part: index of the shard, from 0.
        n_parts: number of shards.
    """
    files = list_files(list(paths))
    return DistinctCaptions(lambda: read_batches(files, definition, part, n_parts))
