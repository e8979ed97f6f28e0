"""What annotations show of an image, in the words in which a test of negation names it.

# ASSUME: of an object's attributes a test names at most one, and only those that the committed table knows, since
annotated attributes hold words of every kind ("standing", "in background").
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from crepebench.boxes import clip_box
from crepebench.caption_words import normalise, relation_words
from crepebench.image_facts import ImageFacts, collect_facts, head_noun
from crepebench.inflection import article_for, is_plural
from crepebench.lexicon import Lexicon
from crepebench.negation_plans import make_visible
from crepebench.negation_slots import contrast_of
from crepebench.word_tables import WordTables


class Thing(NamedTuple):
    """An annotated object.

    Attributes:
        noun: head of its name, in normal form.
        name: as annotated, in lower case.
        attributes: those of its attributes that the table knows.
        box: x, y, width, height in pixels.
    """

    noun: str
    name: str
    attributes: tuple[str, ...]
    box: tuple[int, int, int, int]

    @property
    def is_plural(self) -> bool:
        """Says whether its name is plural."""
        return is_plural(self.noun, self.name.rpartition(" ")[2])


class Scene(NamedTuple):
    """What is annotated of an image.

    Attributes:
        image: row of table IMAGES.
        things: its objects.
        links: places of subject and object among the things, and the words of the relation between.
        kinds: every noun that names one of its objects, or stands in a description of it.
        attributes: pairs of attribute and noun.
        box: the part of the image that is looked at: x, y, width, height in pixels; None for all of it.
    """

    image: Mapping
    things: tuple[Thing, ...]
    links: tuple[tuple[int, str, int], ...]
    kinds: frozenset[str]
    attributes: frozenset[tuple[str, str]]
    box: tuple[int, int, int, int] | None = None


def make_scenes(
    images: Sequence[Mapping],
    objects: Sequence[Mapping],
    relationships: Sequence[Mapping],
    descriptions: Sequence[Mapping],
    tables: WordTables,
) -> list[Scene]:
    """Returns the scenes of images with a file and an object, in the order of their ids.

    Args:
        images: rows of table IMAGES.
        objects: rows of table OBJECTS of them.
        relationships: rows of table RELATIONSHIPS of them.
        descriptions: rows of table REGION_DESCRIPTIONS of them; may be none.
        tables: attributes that a test may name.
    """
    facts = collect_facts(objects, relationships, (), descriptions)
    of_image: dict[int, list[Mapping]] = {}
    for row in objects:
        of_image.setdefault(row["image_id"], []).append(row)
    links_of: dict[int, list[Mapping]] = {}
    for row in relationships:
        links_of.setdefault(row["image_id"], []).append(row)
    rows = sorted((row for row in images if row["archive"] is not None), key=lambda row: row["image_id"])
    return [
        _scene(row, of_image[row["image_id"]], links_of.get(row["image_id"], ()), facts[row["image_id"]], tables)
        for row in rows
        if row["image_id"] in of_image
    ]


def _scene(
    image: Mapping, objects: Sequence[Mapping], links: Sequence[Mapping], facts: ImageFacts, tables: WordTables
) -> Scene:
    things, place = [], {}
    for row in objects:
        name = normalise(row["names"][0])
        known = tuple(sorted({one for one in map(normalise, row["attributes"]) if one in tables.attributes}))
        place[row["object_id"]] = len(things)
        things.append(Thing(head_noun(name), name, known, (row["x"], row["y"], row["width"], row["height"])))
    joined = []
    for row in links:
        ends = place.get(row["subject_id"]), place.get(row["object_id"])
        words = relation_words(row["predicate"])
        if None not in ends and ends[0] != ends[1] and words:
            joined.append((ends[0], words, ends[1]))
    ends = {head_noun(normalise(row[name])) for row in links for name in ("subject_name", "object_name") if row[name]}
    kinds = frozenset({*facts.kinds, *facts.mentioned, *ends})
    attributes = frozenset((one, noun) for noun, own in facts.attributes.items() for one in own)
    return Scene(image, tuple(things), tuple(joined), kinds, attributes)


def pair_view(scene: Scene, kinds: Collection[str], rng: np.random.Generator) -> Scene | None:
    """Returns the part of a scene around two things of different kinds that a relation joins; None where there is none.

    What is known of the whole image stays known: what is absent is absent from all of it.
    """
    links = [
        link
        for link in scene.links
        if len({scene.things[link[0]].noun, scene.things[link[2]].noun}.intersection(kinds)) == 2
    ]
    if not links:
        return None
    subject, words, object_ = links[rng.integers(len(links))]
    things = scene.things[subject], scene.things[object_]
    left, top = (min(one.box[side] for one in things) for side in (0, 1))
    right, bottom = (max(one.box[side] + one.box[side + 2] for one in things) for side in (0, 1))
    size = scene.image["width"], scene.image["height"]
    box = clip_box((left, top, right - left, bottom - top), size)
    return box and scene._replace(things=things, links=((0, words, 1),), box=box)


def frequent_kinds(
    scenes: Sequence[Scene], lexicon: Lexicon, no_concepts: Collection[str], most: int, least: int
) -> list[str]:
    """Returns the kinds that most images hold, the most frequent first.

    Args:
        scenes: what images show.
        lexicon: WordNet, which says what a picture can show.
        no_concepts: nouns that are no object.
        most: number of kinds at most.
        least: images at least that hold a kind.
    """
    counts = Counter(noun for scene in scenes for noun in {thing.noun for thing in scene.things})
    is_visible = make_visible(lexicon)
    kinds = sorted((noun for noun, n in counts.items() if n >= least), key=lambda noun: (-counts[noun], noun))
    visible = (noun for noun in kinds if noun not in no_concepts and is_visible(noun))
    return list(visible)[:most]


def phrase(thing: Thing, attribute: str, mass_nouns: Collection[str]) -> str:
    """Returns "a red jar", "red jars"."""
    words = f"{attribute} {thing.name}".strip()
    has_article = not thing.is_plural and thing.noun not in mass_nouns
    return f"{article_for(words)} {words}" if has_article else words


def chosen_attribute(thing: Thing, rng: np.random.Generator) -> str:
    """Returns one of a thing's attributes, "" where it has none that a test names."""
    return thing.attributes[rng.integers(len(thing.attributes))] if thing.attributes else ""


def deniable_attributes(scene: Scene, tables: WordTables) -> Iterator[tuple[Thing, str]]:
    """Yields things, each the only one of its kind in the image, with an attribute that can be denied of it."""
    counts = Counter(thing.noun for thing in scene.things)
    for thing in scene.things:
        own = {one for one, noun in scene.attributes if noun == thing.noun}
        for attribute in thing.attributes:
            contrast = contrast_of(attribute, tables.attributes)
            if counts[thing.noun] == 1 and not thing.is_plural and contrast and not own.intersection(contrast):
                yield thing, attribute


def captions_of(scene: Scene, mass_nouns: Collection[str], n_parts: int, rng: np.random.Generator) -> str:
    """Returns a short caption of some of an image's relations, or of its objects where it has none.

    Args:
        scene: what the image shows.
        mass_nouns: nouns without an article.
        n_parts: relations, or objects, at most.
        rng: chooses.
    """
    parts = []
    if scene.links:
        for i in rng.permutation(len(scene.links))[:n_parts]:
            subject, words, object_ = scene.links[i]
            ends = (
                phrase(scene.things[j], chosen_attribute(scene.things[j], rng), mass_nouns) for j in (subject, object_)
            )
            parts.append(f" {words} ".join(ends))
    else:
        for i in rng.permutation(len(scene.things))[:n_parts]:
            parts.append(phrase(scene.things[i], chosen_attribute(scene.things[i], rng), mass_nouns))
    return ", and ".join(dict.fromkeys(parts))
