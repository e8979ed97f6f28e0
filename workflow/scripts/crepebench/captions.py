"""Write captions of subgraphs by template, and put other words into captions.

Source: paper section 4.2: templates verbalise subgraphs of four atoms, a language model those of 5 to 12. Here a
template can write all of them, in the style of the paper's: fragments joined by stops, none at the end.
docs/captions.md explains the style.

# ASSUME: each instance of an object that shares its name is told apart by count: "a man", "another man", later "the
first man", "the second man". Attributes are not repeated for it, so that each is said once.
# ASSUME: "another red jar" says that a red jar came before. So a further instance gets "another" only where an earlier
one of its name has all its attributes; else "a red jar" is clear.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from crepebench import inflection
from crepebench.caption_words import head_of, is_plural, normalise, relation_words
from crepebench.graphs import ATTRIBUTE, OBJECT, RELATION

TEMPLATE = "template"
"""Source of a caption."""
ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()
COUNTED = re.compile(rf"\b(another|other|{'|'.join(ORDINALS)}) $")
"""What stands before a noun phrase that depends on how many objects have its name."""


class Mention(NamedTuple):
    """Where the words of an atom stand in a caption.

    Attributes:
        atom: place of the atom among those of the subgraph.
        start: first character of its own words (the whole name, the adjective, the relation).
        end: character behind the last.
    """

    atom: int
    start: int
    end: int


@dataclass(frozen=True)
class Caption:
    """A caption with the mentions of its atoms.

    Attributes:
        text: as `normalise` returns it.
        mentions: by start; an object may have several, a relation or attribute has one; they never overlap.
        source: `TEMPLATE`, or backend and model.
    """

    text: str
    mentions: tuple[Mention, ...]
    source: str


def write_template_caption(atoms: Sequence[Mapping], mass_nouns: Collection[str]) -> Caption:
    """Writes a subgraph as fragments joined by ". ": one for each relation and for each object without any.

    Components come in the order of their first atoms. Within one, relations are walked depth-first, so that a fragment
    begins with an object that was mentioned where there is one.

    Args:
        atoms: of a subgraph, as `crepebench.schema.SUBGRAPH_ATOM`.
        mass_nouns: nouns without an indefinite article.

    Raises:
        ValueError: there is no atom, or one has no name.
    """
    if not atoms or not all(normalise(atom["name"]) for atom in atoms):
        raise ValueError(f"no caption can be written for atoms named {[atom['name'] for atom in atoms]}")
    writer = _TemplateWriter(atoms, mass_nouns)
    for component in _components(atoms):
        relations = _ordered_relations(atoms, component)
        for index in relations:
            writer.add_relation(index)
        if not relations:
            writer.add_isolated(component[0])
    return Caption(writer.text, tuple(writer.mentions), TEMPLATE)


def replace_mentions(caption: Caption, words: Mapping[int, str]) -> Caption:
    """Puts other words in place of all mentions of atoms; an "a" or "an" right before them agrees, all else stays.

    Args:
        caption: with its mentions.
        words: words by atom, in the form in which they shall stand.

    Returns:
        The new caption with its mentions.
    """
    text, mentions, end = "", [], 0
    for mention in caption.mentions:
        between, own = caption.text[end : mention.start], caption.text[mention.start : mention.end]
        end = mention.end
        if mention.atom in words:
            own = words[mention.atom]
            between = _with_article_for(own, between)
        start = len(text) + len(between)
        mentions.append(Mention(mention.atom, start, start + len(own)))
        text += between + own
    return Caption(text + caption.text[end:], tuple(mentions), caption.source)


def _with_article_for(words: str, before: str) -> str:
    """Returns the text before words; an "a" or "an" at its end agrees with them."""
    return inflection.ARTICLE_BEFORE.sub(lambda match: inflection.match_article(match[1], words) + match[2], before)


def is_counted(caption: Caption, atoms: Sequence[Mapping], index: int) -> bool:
    """Says whether the words before an object's mentions count objects of its name: "another man", "the first man".

    Another name in their place would be told by them: "another woman" where there is one woman.

    Args:
        caption: with its mentions.
        atoms: those that the mentions name.
        index: place of the object among them.
    """
    for place, mention in enumerate(caption.mentions):
        if mention.atom != index:
            continue
        start = mention.start
        for before in reversed(caption.mentions[:place]):  # its attributes stand between: "another red jar"
            if atoms[before.atom]["kind"] != ATTRIBUTE or caption.text[before.end : start].strip():
                break
            start = before.start
        if COUNTED.search(caption.text[:start]):
            return True
    return False


class _TemplateWriter:
    """Writes fragments and notes where the atoms stand."""

    def __init__(self, atoms: Sequence[Mapping], mass_nouns: Collection[str]):
        self._atoms, self._mass_nouns = atoms, mass_nouns
        self._names = [normalise(atom["name"]) for atom in atoms]
        objects = [i for i, atom in enumerate(atoms) if atom["kind"] == OBJECT]
        self._attributes = {
            i: [j for j, atom in enumerate(atoms) if atom["kind"] == ATTRIBUTE and atom["object"] == i] for i in objects
        }
        self._n_named = {name: sum(self._names[i] == name for i in objects) for name in self._names}
        self._mentioned: dict[str, list[int]] = {}
        self.text = ""
        self.mentions: list[Mention] = []

    def add_relation(self, index: int) -> None:
        """Adds "a red jar above a box"."""
        self._begin("")
        self._add_object(self._atoms[index]["subject"])
        self._add(" ")
        self._add(relation_words(self._names[index]), index)
        self._add(" ")
        self._add_object(self._atoms[index]["object"])

    def add_isolated(self, index: int) -> None:
        """Adds "there is a red fan"."""
        self._begin("there are " if is_plural(self._atoms[index]) else "there is ")
        self._add_object(index)

    def _begin(self, words: str) -> None:
        self._add(f"{'. ' if self.text else ''}{words}")

    def _add(self, words: str, index: int | None = None) -> None:
        """Adds words, as a mention of an atom where one is given."""
        start = len(self.text)
        self.text += words
        if index is not None:
            self.mentions.append(Mention(index, start, len(self.text)))

    def _add_object(self, index: int) -> None:
        """Adds a noun phrase; attributes stand at the first mention."""
        earlier = self._mentioned.setdefault(self._names[index], [])
        if index in earlier:
            is_alone = self._n_named[self._names[index]] == 1
            self._add("the " if is_alone else f"the {ORDINALS[earlier.index(index)]} ")
        else:
            self._add(self._determiner(index, earlier))
            earlier.append(index)
            for attribute in self._attributes[index]:
                self._add(self._names[attribute], attribute)
                self._add(" ")
        self._add(self._names[index], index)

    def _determiner(self, index: int, earlier: list[int]) -> str:
        """Returns what stands before the first mention of an object: "a ", "another ", ""."""
        own = self._attribute_names(index)
        atom, is_further = self._atoms[index], any(own <= self._attribute_names(other) for other in earlier)
        noun = head_of(self._names[index]).rpartition(" ")[2]
        if is_plural(atom) or noun in self._mass_nouns:
            return "other " if is_further else ""
        first = [*(self._names[i] for i in self._attributes[index]), self._names[index]][0]
        return "another " if is_further else f"{inflection.article_for(first)} "

    def _attribute_names(self, index: int) -> set[str]:
        return {self._names[i] for i in self._attributes[index]}


def _components(atoms: Sequence[Mapping]) -> list[list[int]]:
    """Returns the objects of each connected component in the order of the atoms; components by their first object."""
    component = {i: i for i, atom in enumerate(atoms) if atom["kind"] == OBJECT}
    for atom in atoms:
        if atom["kind"] == RELATION:
            merged = {component[atom["subject"]], component[atom["object"]]}
            component = {i: min(merged) if label in merged else label for i, label in component.items()}
    return [[i for i in component if component[i] == first] for first in sorted(set(component.values()))]


def _ordered_relations(atoms: Sequence[Mapping], component: list[int]) -> list[int]:
    """Returns the relations of a component, depth-first from one whose subject is the object of none."""
    relations = [i for i, atom in enumerate(atoms) if atom["kind"] == RELATION and atom["subject"] in component]
    objects = {atoms[i]["object"] for i in relations}
    order: list[int] = []
    mentioned: set[int] = set()

    def walk(index: int) -> None:
        order.append(index)
        mentioned.update((atoms[index]["subject"], atoms[index]["object"]))
        for end in (atoms[index]["object"], atoms[index]["subject"]):
            for other in relations:
                if other not in order and atoms[other]["subject"] == end:
                    walk(other)

    while len(order) < len(relations):
        left = [i for i in relations if i not in order]
        touching = [i for i in left if mentioned & {atoms[i]["subject"], atoms[i]["object"]}]
        roots = [i for i in left if atoms[i]["subject"] not in objects]
        walk((touching or roots or left)[0])
    return order
