"""Collect what is known to be true in an image: from its objects, relationships and the graphs of its regions."""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from crepebench.graphs import ATTRIBUTE_OBJECT, OBJECT
from crepebench.inflection import PREPOSITIONS
from crepebench.lemmas import lemmatise
from crepebench.prepositions import NORMAL_FORM_OF_WORDS
from crepebench.schema import GRAPHS, OBJECTS, REGION_DESCRIPTIONS, RELATIONSHIPS, iterate_rows

ARTICLES = ("a", "an", "the")
WORD = re.compile(r"[a-z][a-z'-]*")
MOST_ATTRIBUTES = 3
"""Words before a noun that may be its attributes."""
COPULAS = ("is", "are", "was", "were", "be")


@dataclass
class ImageFacts:
    """What is known to be true in an image, from its objects, relationships and the graphs of its regions.

    Attributes:
        kinds: names of all objects, whole and head noun.
        attributes: attributes of each kind, and words that may be some.
        annotated: those of them that annotators gave to objects.
        triples: (subject, relation, object).
        synsets: WordNet synsets that annotators gave to objects of each name, in the order of the objects.
        mentioned: words of all region descriptions, also of regions that are no test crops, and their lemmas as nouns.
        boxes: x, y, width and height of the objects of each name, in pixels.
    """

    kinds: set[str] = field(default_factory=set)
    attributes: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    annotated: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    triples: set[tuple[str, str, str]] = field(default_factory=set)
    synsets: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    mentioned: set[str] = field(default_factory=set)
    boxes: dict[str, set[tuple[int, int, int, int]]] = field(default_factory=lambda: defaultdict(set))


def head_noun(name: str) -> str:
    """Returns the normal form of an object's name, as the parser would: lemma of the last word before a preposition."""
    words = name.split()
    end = next((i for i, word in enumerate(words) if i and word in PREPOSITIONS), len(words))
    return lemmatise(words[end - 1], "NOUN")


def normal_relation(predicate: str) -> str:
    """Returns the normal form of a predicate, as the parser would give it: no copula or article, verbs as lemmas."""
    words = predicate.lower().split()
    while len(words) > 1 and words[0] in COPULAS:
        words = words[1:]
    while len(words) > 1 and words[-1] in ARTICLES:
        words = words[:-1]
    for start in range(len(words)):
        if tuple(words[start:]) in NORMAL_FORM_OF_WORDS:
            words[start:] = [NORMAL_FORM_OF_WORDS[tuple(words[start:])]]
            break
    if words and " " not in words[0] and words[0] not in PREPOSITIONS:
        words[0] = lemmatise(words[0], "VERB")
    return " ".join(words)


def collect_facts(
    objects: Iterable[dict], relationships: Iterable[dict], graphs: Iterable[dict], descriptions: Iterable[dict] = ()
) -> dict[int, ImageFacts]:
    """Collects what is true in each image.

    Args:
        objects: rows of table OBJECTS.
        relationships: rows of table RELATIONSHIPS.
        graphs: rows of table GRAPHS; those of regions that only the graph filter drops are included.
        descriptions: rows of table REGION_DESCRIPTIONS; regions that are too small for a crop say what is true, too.

    Returns:
        Facts by image_id.
    """
    facts: dict[int, ImageFacts] = defaultdict(ImageFacts)
    for row in objects:
        image = facts[row["image_id"]]
        for name in {*row["names"], *map(head_noun, row["names"])}:
            image.kinds.add(name)
            image.attributes[name].update(row["attributes"])
            image.annotated[name].update(row["attributes"])
            for attribute in row["attributes"]:
                image.attributes[name].update(attribute.split())  # "black and white" is black, and white
            image.synsets[name] += row["synsets"]
            image.boxes[name].add((row["x"], row["y"], row["width"], row["height"]))
    for row in relationships:
        ends = head_noun(row["subject_name"]), head_noun(row["object_name"])
        facts[row["image_id"]].triples.add((ends[0], normal_relation(row["predicate"]), ends[1]))
    for row in graphs:
        image = facts[row["image_id"]]
        image.kinds.update(atom["text"] for atom in row["atoms"] if atom["kind"] == OBJECT)
        for compound in row["compounds"]:
            if compound["kind"] == ATTRIBUTE_OBJECT:
                image.attributes[compound["object"]].add(compound["attribute"])
            else:
                image.triples.add((compound["subject"], compound["relation"], compound["object"]))
    for row in descriptions:
        _add_description(facts[row["image_id"]], row["phrase"] or "")
    return facts


def _add_description(image: ImageFacts, phrase: str) -> None:
    """Adds what an unparsed text says: its words, and which words stand before, or after a copula behind, a noun."""
    words = WORD.findall(phrase.lower())
    nouns = [lemmatise(word, "NOUN") for word in words]
    image.mentioned.update(words, nouns)
    for i, noun in enumerate(nouns):
        for before in reversed(words[max(0, i - MOST_ATTRIBUTES) : i]):
            if before in PREPOSITIONS or before in ARTICLES:
                break
            image.attributes[noun].add(before)
        if words[i + 1 : i + 2] and words[i + 1] in COPULAS and words[i + 2 : i + 3]:
            image.attributes[noun].add(words[i + 2])


def read_facts(
    objects_path: str, relationships_path: str, graphs_paths: Iterable[str], descriptions_path: str, image_ids: set[int]
) -> dict[int, ImageFacts]:
    """Reads what is true in some images.

    Args:
        objects_path: table OBJECTS.
        relationships_path: table RELATIONSHIPS.
        graphs_paths: tables GRAPHS of all kept regions.
        descriptions_path: table REGION_DESCRIPTIONS.
        image_ids: the images.

    Returns:
        Facts by image_id.
    """
    return collect_facts(
        iterate_rows(objects_path, OBJECTS, image_ids=image_ids),
        iterate_rows(relationships_path, RELATIONSHIPS, image_ids=image_ids),
        (row for path in graphs_paths for row in iterate_rows(path, GRAPHS, image_ids=image_ids)),
        iterate_rows(descriptions_path, REGION_DESCRIPTIONS, ["image_id", "phrase"], image_ids),
    )
