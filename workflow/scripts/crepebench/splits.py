"""Sort test regions by what a training corpus has shown: seen compounds, unseen compounds, unseen atoms.

Source: paper section 3.2. Any atom unseen: UA. Else any compound unseen: UC. Else: SC. Where a vocabulary was decided
from a sample (`vocabularies.mode: budget`), what was not found in it may still have been seen; a region whose split
depends on such an atom or compound is undecided, and in no split unless the config counts it as unseen.
"""

import json
from collections import Counter
from collections.abc import Collection

from crepebench.accounting import KEPT, READ, write_accounting
from crepebench.corpus_ids import read_corpus_id
from crepebench.schema import GRAPHS, SPLITS, read_table, write_table
from crepebench.vocabularies import KEY_FIELDS, NOT_FOUND, atom_key, read_entries

SC = "SC"
UC = "UC"
UA = "UA"
ALL_SPLITS = (SC, UC, UA)
"""The splits that tables compare."""
UNDECIDED = "undecided"
"""Not a split: regions that a sample of the corpus could not sort."""
NOT_RELEASED, BOTH_SPLITS = "not_released", "both_splits"
"""Not splits: regions that the released files of a corpus do not hold, or hold in both splits."""
OTHER = (UNDECIDED, NOT_RELEASED, BOTH_SPLITS)

Key = tuple[str, ...]


def decide_split(
    atoms: list[dict], compounds: list[dict], seen: Collection[Key], not_found: Collection[Key] = ()
) -> tuple[str, str]:
    """Decides the split of one graph.

    Args:
        atoms: structs of the column `atoms` of table GRAPHS.
        compounds: structs of its column `compounds`.
        seen: keys of the seen atoms and compounds.
        not_found: keys of which it is not known whether they are seen; all others are unseen.

    Returns:
        The split, and the first atom or compound that decided it ("" for SC).
    """
    levels = (
        (UA, [(atom_key(atom["kind"], atom["text"]), f"{atom['kind']}: {atom['text']}") for atom in atoms]),
        (UC, [(tuple(compound[field] for field in KEY_FIELDS), _name(compound)) for compound in compounds]),
    )
    for split, entries in levels:
        missing = [(key, name) for key, name in entries if key not in seen]
        unseen = [name for key, name in missing if key not in not_found]
        if unseen:
            return split, unseen[0]
        if missing:
            return UNDECIDED, missing[0][1]
    return SC, ""


def _name(compound: dict) -> str:
    """Returns a compound as people read it."""
    words = (compound["attribute"], compound["subject"], compound["relation"], compound["object"])
    return f"{compound['kind']}: {' '.join(word for word in words if word)}"


def graph_keys(graphs: list[dict]) -> set[Key]:
    """Returns the keys of all atoms and compounds of graphs (rows of table GRAPHS)."""
    atoms = {atom_key(atom["kind"], atom["text"]) for graph in graphs for atom in graph["atoms"]}
    return atoms | {
        tuple(compound[field] for field in KEY_FIELDS) for graph in graphs for compound in graph["compounds"]
    }


def sort_keys(entries: dict[Key, dict], min_count: int, undecided: str) -> tuple[set[Key], set[Key]]:
    """Returns the keys that are seen, and those of which that is not known.

    Args:
        entries: rows of table VOCABULARY by key.
        min_count: captions in which a key must occur to be seen.
        undecided: `leave_out`, or `unseen`: what was not found in a sample counts as unseen.
    """
    seen = {key for key, entry in entries.items() if entry["count"] >= min_count}
    if undecided == "unseen":
        return seen, set()
    return seen, {key for key, entry in entries.items() if entry["state"] == NOT_FOUND} - seen


def write_splits(
    graphs_path: str,
    vocabulary_path: str,
    record_path: str,
    splits_path: str,
    accounting_path: str,
    corpus: str,
    cfg: str,
) -> None:
    """Writes the split of every region for one corpus.

    Args:
        graphs_path: table GRAPHS.
        vocabulary_path: table VOCABULARY of the corpus.
        record_path: record of the corpus.
        splits_path: table SPLITS to write.
        accounting_path: counts to write: regions per split.
        corpus: name of the corpus.
        cfg: config block `splits` as JSON: min_count and undecided.
    """
    config = json.loads(cfg)
    corpus_id = read_corpus_id(record_path)
    graphs = read_table(graphs_path, GRAPHS, ["region_id", "atoms", "compounds"]).to_pylist()
    entries = read_entries(vocabulary_path, graph_keys(graphs))
    seen, not_found = sort_keys(entries, config["min_count"], config["undecided"])
    rows = []
    for graph in graphs:
        split, decided_by = decide_split(graph["atoms"], graph["compounds"], seen, not_found)
        row = {"region_id": graph["region_id"], "split": split, "decided_by": decided_by, "corpus_id": corpus_id}
        rows.append(row)
    write_table(splits_path, SPLITS, rows)
    sizes = Counter(row["split"] for row in rows)
    units = (*ALL_SPLITS, UNDECIDED) if not_found else ALL_SPLITS
    counts = {f"region_{split}": {READ: sizes[split], KEPT: sizes[split]} for split in units}
    write_accounting(accounting_path, f"splits/{corpus}", counts)


def read_splits(path: str) -> dict[int, str]:
    """Reads the split of each region."""
    return {row["region_id"]: row["split"] for row in read_table(path, SPLITS).to_pylist()}


def read_corpus_id_of_splits(path: str) -> str:
    """Reads the id of the corpus that decided the splits; "" where there is no region."""
    return " ".join(sorted(set(read_table(path, SPLITS, ["corpus_id"])["corpus_id"].to_pylist())))
