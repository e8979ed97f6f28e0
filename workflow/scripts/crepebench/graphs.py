"""Scene graphs of captions: atoms (objects, attributes, relations) and the compounds that they make."""

from dataclasses import dataclass, field

OBJECT = "object"
ATTRIBUTE = "attribute"
RELATION = "relation"
ATTRIBUTE_OBJECT = "attribute_object"
OBJECT_RELATION_OBJECT = "object_relation_object"

HAVE = "have"
"""Relation of an owner to what it owns; of the verb, too."""
ENDINGS = ("'s", "’s", "'", "’")
"""Possessive endings."""


@dataclass(frozen=True)
class Atom:
    """One node instance of a scene graph; see `crepebench.schema.ATOM` for the fields."""

    kind: str
    text: str
    surface: str
    start: int
    end: int
    subject: int = -1
    object: int = -1


@dataclass(frozen=True)
class Compound:
    """One primitive join of atoms, by their normal forms; fields that do not apply are ""."""

    kind: str
    subject: str
    relation: str
    object: str
    attribute: str

    def __str__(self) -> str:
        words = (
            (self.attribute, self.object)
            if self.kind == ATTRIBUTE_OBJECT
            else (self.subject, self.relation, self.object)
        )
        return " ".join(words)


@dataclass
class Graph:
    """A caption's scene graph: instances of objects, then of attributes and relations.

    Attributes:
        atoms: the instances, which name each other by their places here.
        failed: whether the graph is empty because the caption could not be parsed.
    """

    atoms: list[Atom] = field(default_factory=list)
    failed: bool = False

    @property
    def compounds(self) -> list[Compound]:
        """Compounds in the order of the atoms that join them, each once."""
        found = {}
        for atom in self.atoms:
            if atom.kind == ATTRIBUTE:
                found[Compound(ATTRIBUTE_OBJECT, "", "", self.atoms[atom.object].text, atom.text)] = None
            elif atom.kind == RELATION:
                ends = self.atoms[atom.subject].text, self.atoms[atom.object].text
                found[Compound(OBJECT_RELATION_OBJECT, ends[0], atom.text, ends[1], "")] = None
        return list(found)
