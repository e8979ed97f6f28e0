"""Read Visual Genome's alias files: other spellings and synonyms of object names and predicates."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from crepebench.annotations import canonical_name

logger = logging.getLogger(__name__)

ALIAS_FILES = ("object_alias.txt", "relationship_alias.txt")


@dataclass(frozen=True)
class Aliases:
    """Canonical name by any other name of its group, for the names of objects and for predicates."""

    objects: Mapping[str, str] = field(default_factory=dict)
    predicates: Mapping[str, str] = field(default_factory=dict)

    def object_names(self, names: list[str]) -> list[str]:
        """Returns the names of an object, each once: the canonical ones first, then the annotators' own."""
        return list(dict.fromkeys([self.objects.get(name, name) for name in names] + names)) if self.objects else names


def read_alias_files(paths: Iterable[str]) -> Aliases:
    """Reads those of the two alias files that are there.

    Args:
        paths: files named as in `ALIAS_FILES`, any number of them; a warning tells of the others.
    """
    by_name = {Path(path).name: path for path in paths}
    for name in ALIAS_FILES:
        if name not in by_name:
            logger.warning("there is no %s: these names stay as they were annotated", name)
    return Aliases(*(read_aliases(by_name[name]) if name in by_name else {} for name in ALIAS_FILES))


def read_aliases(path: str) -> dict[str, str]:
    """Reads an alias file: a group a line, separated by commas, of which the first is the canonical name.

    Returns:
        Canonical name by any other name of its group. Of a name in several groups the first group counts.

    Raises:
        ValueError: the file is not UTF-8.
    """
    aliases: dict[str, str] = {}
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not a text in UTF-8 ({error})") from error
    for line in lines:
        names = list(filter(None, map(canonical_name, line.split(","))))
        for name in names:
            aliases.setdefault(name, names[0])
    return {name: canonical for name, canonical in aliases.items() if name != canonical}
