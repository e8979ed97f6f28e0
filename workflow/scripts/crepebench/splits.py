"""Sort test regions by what a training corpus has shown: seen compounds, unseen compounds, unseen atoms.

Source: paper section 3.2. Any atom unseen: UA. Else any compound unseen: UC. Else: SC.
"""

import json
from collections import Counter
from collections.abc import Collection

from crepebench.accounting import KEPT, READ, write_accounting
from crepebench.schema import GRAPHS, SPLITS, read_table, write_table
from crepebench.vocabularies import KEY_FIELDS, atom_key, read_seen

SC = "SC"
UC = "UC"
UA = "UA"
ALL_SPLITS = (SC, UC, UA)


def decide_split(atoms: list[dict], compounds: list[dict], seen: Collection[tuple[str, ...]]) -> tuple[str, str]:
    """Decides the split of one graph.

    Args:
        atoms: structs of the column `atoms` of table GRAPHS.
        compounds: structs of its column `compounds`.
        seen: keys of the seen atoms and compounds.

    Returns:
        The split, and the first unseen atom or compound that decided it ("" for SC).
    """
    for atom in atoms:
        if atom_key(atom["kind"], atom["text"]) not in seen:
            return UA, f"{atom['kind']}: {atom['text']}"
    for compound in compounds:
        if tuple(compound[field] for field in KEY_FIELDS) not in seen:
            words = (compound["attribute"], compound["subject"], compound["relation"], compound["object"])
            return UC, f"{compound['kind']}: {' '.join(word for word in words if word)}"
    return SC, ""


def write_splits(
    graphs_path: str, vocabulary_path: str, splits_path: str, accounting_path: str, corpus: str, cfg: str
) -> None:
    """Writes the split of every region for one corpus.

    Args:
        graphs_path: table GRAPHS.
        vocabulary_path: table VOCABULARY of the corpus.
        splits_path: table SPLITS to write.
        accounting_path: counts to write: regions per split.
        corpus: name of the corpus.
        cfg: config block `splits` as JSON: min_count, captions in which something must occur to count as seen.
    """
    seen = read_seen(vocabulary_path, json.loads(cfg)["min_count"])
    graphs = read_table(graphs_path, GRAPHS, ["region_id", "atoms", "compounds"]).to_pylist()
    rows = []
    for graph in graphs:
        split, decided_by = decide_split(graph["atoms"], graph["compounds"], seen)
        rows.append({"region_id": graph["region_id"], "split": split, "decided_by": decided_by})
    write_table(splits_path, SPLITS, rows)
    sizes = Counter(row["split"] for row in rows)
    counts = {f"region_{split}": {READ: sizes[split], KEPT: sizes[split]} for split in ALL_SPLITS}
    write_accounting(accounting_path, f"splits/{corpus}", counts)
