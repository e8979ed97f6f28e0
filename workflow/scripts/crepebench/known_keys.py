"""Keep what is decided about a corpus's atoms and compounds, for later runs with other test regions.

The store is a folder. One subfolder holds what was decided about one corpus in one way: its name is a digest of
everything that the decision depends on. Files are named by their contents and never changed, so any number of runs may
read and add at once. Deleting the store loses nothing but time.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from crepebench.files import PARTIAL, remove_leftovers
from crepebench.schema import VOCABULARY, read_table, write_tables
from crepebench.vocabularies import KEY_FIELDS


class KnownKeys:
    """What is decided about one corpus in one way."""

    def __init__(self, store: str, identity: Mapping):
        """Opens the store.

        Args:
            store: folder of the store.
            identity: what the decision depends on: corpus, code and settings.
        """
        text = json.dumps(identity, sort_keys=True)
        self.folder = Path(store) / hashlib.sha256(text.encode()).hexdigest()[:24]

    def read(self) -> pl.DataFrame:
        """Reads the rows of table VOCABULARY, one per key, sorted by key."""
        tables = [pl.from_arrow(read_table(path, VOCABULARY)) for path in sorted(self.folder.glob("[!.]*.parquet"))]
        rows = pl.concat([pl.from_arrow(VOCABULARY.empty_table()), *tables])
        return rows.unique(KEY_FIELDS, keep="first", maintain_order=True).sort(KEY_FIELDS)

    def add(self, rows: pl.DataFrame) -> None:
        """Adds rows of table VOCABULARY; those of keys that are there already are left out."""
        remove_leftovers(self.folder, f".*{PARTIAL}.parquet")
        new = rows.join(self.read(), on=KEY_FIELDS, how="anti").sort(KEY_FIELDS)
        if len(new):
            digest = hashlib.sha256(new.write_csv().encode()).hexdigest()[:24]
            write_tables(str(self.folder / f"{digest}.parquet"), VOCABULARY, [new.to_arrow()])
