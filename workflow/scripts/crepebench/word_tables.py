"""Read the committed tables of words: attributes and relations that exclude each other, mass nouns, blocked words."""

import csv
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class WordTables:
    """The committed tables of words.

    Attributes:
        attributes: group and contrasting words of each attribute.
        relations: contrasting relations of each relation.
        same: relations that say the same as a relation, itself included.
        inverses: what a relation may be called from the other side, words that say the same included.
        compatible: pairs of attributes of one group that may both be true.
        mass_nouns: nouns without a plural or an indefinite article.
        blocked: words that never become foils: vulgar, insulting, or said of anybody ("fellow").
    """

    attributes: dict[str, tuple[str, tuple[str, ...]]]
    relations: dict[str, tuple[str, ...]]
    same: dict[str, frozenset[str]]
    inverses: dict[str, frozenset[str]]
    compatible: frozenset[frozenset[str]]
    mass_nouns: frozenset[str] = frozenset()
    blocked: frozenset[str] = frozenset()


def read_word_tables(paths: Sequence[str]) -> WordTables:
    """Reads the tables of `resources/foils`: attributes.csv, blocked.csv, mass_nouns.csv, relations.csv.

    Raises:
        KeyError: one of them is missing.
    """
    path_of = {Path(path).name: path for path in paths}
    rows = _read_rows(path_of["attributes.csv"])
    never = {frozenset((row["attribute"], other)) for row in rows for other in row["never_for"].split()}
    attributes = {}
    for row in rows:
        word, group = row["attribute"], row["group"]
        others = (other["attribute"] for other in rows if other["group"] == group and other is not row)
        attributes[word] = group, tuple(other for other in others if frozenset((word, other)) not in never)
    rows = _read_rows(path_of["relations.csv"])
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
        mass_nouns=frozenset(row["noun"] for row in _read_rows(path_of["mass_nouns.csv"])),
        blocked=frozenset(row["word"] for row in _read_rows(path_of["blocked.csv"])),
    )


def _read_rows(path: str) -> list[dict]:
    """Reads a table."""
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _split(cell: str) -> list[str]:
    """Splits a cell that lists relations."""
    return [word for word in cell.split(";") if word]
