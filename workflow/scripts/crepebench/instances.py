"""Tell which annotations are one and the same thing, and which of their words a caption can use.

# ASSUME: an article before a name is the annotator's. A name that stands for a place in the picture or for a colour
# names no thing.
# ASSUME: an attribute must be able to stand before a noun: one with a preposition ("on", "made of bricks"), with a word
# of the name in it, or that only says how many, is left out. So is one that another begins with ("wood", "wooden").
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from crepebench.accounting import KEPT, READ
from crepebench.boxes import Box, clip_box, overlap, union_box
from crepebench.image_facts import ARTICLES
from crepebench.inflection import PREPOSITIONS
from crepebench.lemmas import lemmatise
from crepebench.phrases import QUANTITIES
from crepebench.words import WORD

SAME_OVERLAP = 0.5
"""IoU from which boxes of one name are one thing."""
NEGATIONS = frozenset("no not never none without".split())
NO_THINGS = frozenset(
    "area back background bottom color colour distance foreground front left middle right side".split()
)
"""Names that stand for a place in the picture or for a colour, and for no thing."""


@dataclass(frozen=True)
class Instance:
    """One thing in an image.

    Attributes:
        names: usable names, the first annotated one first.
        texts: their normal forms.
        attributes: as annotated.
        box: its box, within the image.
    """

    names: tuple[str, ...]
    texts: frozenset[str]
    attributes: tuple[str, ...]
    box: Box


def read_instance(
    names: Sequence[str], attributes: Sequence[str], box: Sequence[int | None], size: tuple[int, int]
) -> Instance | str:
    """Returns what is annotated as one object, or the reason for which it is none.

    Args:
        names: all its names.
        attributes: its attributes.
        box: x, y, width, height, as annotated; nulls where there is none.
        size: width and height of the image.
    """
    usable = [name for name in map(without_article, names) if is_words(name) and name not in NO_THINGS]
    if not usable:
        return "name"
    if None in box or box[2] <= 0 or box[3] <= 0:
        return "box_empty"
    clipped = clip_box(tuple(box), size)
    if clipped is None:
        return "box_outside_image"
    return Instance(tuple(usable), frozenset(map(object_text, usable)), tuple(attributes), clipped)


@lru_cache(maxsize=200_000)
def is_words(text: str) -> bool:
    """Says whether a text is made of words: no number, no quotation, no mark."""
    return all(WORD.fullmatch(word) for word in text.split(" "))


@lru_cache(maxsize=200_000)
def without_article(name: str) -> str:
    """Returns a name without the articles that it begins with."""
    words = name.split()
    while len(words) > 1 and words[0] in ARTICLES:
        words = words[1:]
    return " ".join(words)


@lru_cache(maxsize=200_000)
def object_text(name: str) -> str:
    """Returns the normal form of an object's name: what stands before a preposition, its last word as a lemma."""
    words = name.split()
    end = next((i for i, word in enumerate(words) if i and word in PREPOSITIONS), len(words))
    return " ".join([*words[: end - 1], lemmatise(words[end - 1], "NOUN")])


def usable_attributes(instance: Instance, counts: Counter) -> tuple[str, ...]:
    """Returns the attributes that can stand before the name, each once; counts the others by reason."""
    found: list[str] = []
    words_of_names = {word for name in instance.names for word in (*name.split(), *object_text(name).split())}
    for attribute in instance.attributes:
        words = set(attribute.split())
        if not is_words(attribute) or words & (PREPOSITIONS | NEGATIONS | QUANTITIES | {"multiple"}):
            reason = "no_adjective"
        elif words & words_of_names:
            reason = "in_name"
        elif any(attribute.startswith(other) or other.startswith(attribute) for other in found):
            reason = "repeated"  # "wooden", "wood"
        else:
            reason = KEPT
            found.append(attribute)
        counts.update((READ, reason))
    return tuple(found)


def group_instances(instances: Sequence[Instance]) -> list[tuple[list[int], Instance]]:
    """Groups the annotations of one thing.

    # ASSUME: annotations that share a name, in whatever number, are one thing where their boxes overlap by an IoU of at
    # least SAME_OVERLAP: annotators list the same thing several times. It has the names and attributes of all, in their
    # order, and the union of the boxes.

    Returns:
        For each thing the places of its annotations, ascending, and what they say together.
    """
    groups = [([place], instance) for place, instance in enumerate(instances)]
    while True:
        joined = _join([instance for _, instance in groups])
        if len(joined) == len(groups):
            return groups
        places = [sorted(place for i in members for place in groups[i][0]) for members in joined]
        groups = [(found, _together([instances[place] for place in found])) for found in places]


def _join(instances: Sequence[Instance]) -> list[list[int]]:
    """Joins instances that share a name and overlap, directly or through others."""
    leaders = list(range(len(instances)))

    def leader(i: int) -> int:
        while leaders[i] != i:
            i = leaders[i]
        return i

    by_text: dict[str, list[int]] = defaultdict(list)
    for i, instance in enumerate(instances):
        for text in sorted(instance.texts):
            for other in by_text[text]:
                if overlap(instance.box, instances[other].box) >= SAME_OVERLAP:
                    first, last = sorted((leader(i), leader(other)))
                    leaders[last] = first
            by_text[text].append(i)
    joined: dict[int, list[int]] = defaultdict(list)
    for i in range(len(instances)):
        joined[leader(i)].append(i)
    return list(joined.values())


def _together(instances: Sequence[Instance]) -> Instance:
    return Instance(
        tuple(dict.fromkeys(name for instance in instances for name in instance.names)),
        frozenset().union(*(instance.texts for instance in instances)),
        tuple(attribute for instance in instances for attribute in instance.attributes),
        union_box([instance.box for instance in instances]),
    )
