"""Read the committed tables of words that exclude each other: attributes and relations."""

import csv
from collections import defaultdict
from dataclasses import dataclass


@dataclass(frozen=True)
class WordTables:
    """The committed tables of words that exclude each other.

    Attributes:
        attributes: group and contrasting words of each attribute.
        relations: contrasting relations of each relation.
        same: relations that say the same as a relation, itself included.
        inverses: what a relation may be called from the other side, words that say the same included.
        compatible: pairs of attributes of one group that may both be true.
    """

    attributes: dict[str, tuple[str, tuple[str, ...]]]
    relations: dict[str, tuple[str, ...]]
    same: dict[str, frozenset[str]]
    inverses: dict[str, frozenset[str]]
    compatible: frozenset[frozenset[str]]


def read_word_tables(attributes_path: str, relations_path: str) -> WordTables:
    """Reads `resources/foils/attributes.csv` and `relations.csv`."""
    with open(attributes_path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    never = {frozenset((row["attribute"], other)) for row in rows for other in row["never_for"].split()}
    attributes = {}
    for row in rows:
        word, group = row["attribute"], row["group"]
        others = (other["attribute"] for other in rows if other["group"] == group and other is not row)
        attributes[word] = group, tuple(other for other in others if frozenset((word, other)) not in never)
    with open(relations_path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    relations = {row["relation"]: tuple(_split(row["foils"])) for row in rows}
    same = {row["relation"]: frozenset({row["relation"], *_split(row["same_as"])}) for row in rows}
    inverses = defaultdict(set)
    for row in rows:
        for inverse in _split(row["inverses"]):
            for relation, other in ((row["relation"], inverse), (inverse, row["relation"])):
                inverses[relation] |= same.get(other, {other})
    return WordTables(
        attributes=attributes,
        relations=relations,
        same=same,
        inverses={relation: frozenset(others) for relation, others in inverses.items()},
        compatible=frozenset(never),
    )


def _split(cell: str) -> list[str]:
    """Splits a cell that lists relations."""
    return [word for word in cell.split(";") if word]
