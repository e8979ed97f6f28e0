"""Take the splits of regions from the files that the authors of CREPE released.

They are those of the files' names: a region of `seen_compounds_in_cc12m` is in SC of the corpus that the config calls
by that name.
"""

import hashlib
import json
import logging
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from crepebench.accounting import KEPT, READ, write_accounting
from crepebench.families import SYSTEMATICITY
from crepebench.released_files import ReleasedRow, list_released_files, read_released_rows
from crepebench.schema import SPLITS, write_table
from crepebench.splits import BOTH_SPLITS, NOT_RELEASED

logger = logging.getLogger(__name__)

PROTOCOL = "released"
VERSION_STEP = 1_000_000_000
"""What the region_id of another version of a region's set is higher by; Visual Genome's own have seven digits."""


class RegionVersions:
    """Tells apart the sets of regions, if the files of several corpora do not give a region the same texts."""

    def __init__(self):
        self._versions: dict[int, list[bytes]] = defaultdict(list)

    def number(self, row: ReleasedRow) -> tuple[int, bool]:
        """Returns the region_id of a row's set, and whether it is the first row of that set.

        # ASSUME: where corpora give a region other texts, the second and further ones count as regions of their own,
        whose ids are higher by VERSION_STEP each.
        """
        content = json.dumps([row.box, row.caption, {name: sorted(texts) for name, texts in row.foils.items()}])
        digest, known = hashlib.sha256(content.encode()).digest()[:16], self._versions[row.region_id]
        is_new = digest not in known
        if is_new:
            known.append(digest)
        return row.region_id + VERSION_STEP * known.index(digest), is_new


def build_released_splits(
    released_paths: Sequence[str], splits_path: str, accounting_path: str, corpus: str, cfg: str
) -> None:
    """Writes the split by one corpus of every region of the systematicity files.

    Args:
        released_paths: as in `build_released_sets`.
        splits_path: table SPLITS to write; regions that are in no file of the corpus are `not_released`.
        accounting_path: counts to write.
        corpus: name of the corpus in the config.
        cfg: JSON of `name`: how the names of the files call it.
    """
    released_name = json.loads(cfg)["name"]
    files = list_released_files(released_paths, SYSTEMATICITY)
    versions, splits = RegionVersions(), defaultdict(set)
    for file in files:
        for row in read_released_rows(file):
            found = splits[versions.number(row)[0]]
            if file.corpus == released_name:
                found.add(file.split)
    own = [file for file in files if file.corpus == released_name]
    digest = hashlib.sha256(b"".join(hashlib.sha256(file.read_bytes()).digest() for file in own)).hexdigest()[:12]
    corpus_id = f"{PROTOCOL} {released_name}:{digest}"
    if not own:
        logger.warning("no released file is of %s, so no region is in a split of %s", released_name, corpus)
    counts = Counter({READ: 0, KEPT: 0})

    def rows() -> Iterator[dict]:
        for region_id in sorted(splits):
            names = splits[region_id]
            split = next(iter(names)) if len(names) == 1 else BOTH_SPLITS if names else NOT_RELEASED
            counts.update((READ, KEPT if len(names) == 1 else split))
            decided_by = f"file of {released_name}" if len(names) == 1 else ""
            yield {"region_id": region_id, "split": split, "decided_by": decided_by, "corpus_id": corpus_id}

    write_table(splits_path, SPLITS, rows())
    write_accounting(accounting_path, f"splits/{corpus}", {"region": counts})
