"""Words for scenes: noun phrases, region descriptions in Visual Genome's manner and captions in the web's."""

import html
from collections.abc import Sequence
from functools import cache
from urllib.parse import quote_plus

import numpy as np

from icons_world.scenes import Scene, Thing


@cache
def plural(noun: str) -> str:
    """Returns the plural of a noun."""
    from lemminflect import getInflection

    return getInflection(noun, tag="NNS")[0]


def noun_phrase(thing: Thing, determiner: str, attributes: Sequence[str]) -> str:
    """Names a thing: "a small red jar", "two red jars".

    Args:
        thing: the thing.
        determiner: "a", "the" or "" (annotators often leave the article out).
        attributes: those of its attributes to name, in English order.
    """
    noun = thing.kind if thing.count == 1 else plural(thing.kind)
    words = [*attributes, noun]
    if thing.count > 1:
        determiner = "two" if determiner == "a" else determiner
    elif determiner == "a" and words[0][0] in "aeiou":
        determiner = "an"
    return " ".join([determiner, *words] if determiner else words)


def _determiner(rng: np.random.Generator) -> str:
    return str(rng.choice(["a", "a", "the", ""]))


def _some_attributes(thing: Thing, rng: np.random.Generator, share: float) -> tuple[str, ...]:
    """Keeps each attribute with probability `share`; a size always, since few things have one."""
    return tuple(a for a in thing.attributes if rng.random() < share or a == thing.size)


def describe_pair(scene: Scene, rng: np.random.Generator, attribute_share: float = 1.0) -> str:
    """Describes subject, relation and object, as a fragment or with a copula.

    Args:
        scene: a scene with two things.
        rng: generator of the text.
        attribute_share: probability (0-1) that an attribute is named.
    """
    subject = noun_phrase(scene.subject, _determiner(rng), _some_attributes(scene.subject, rng, attribute_share))
    object_ = noun_phrase(scene.object, _determiner(rng), _some_attributes(scene.object, rng, attribute_share))
    if rng.random() < 0.15:
        if not subject.startswith(("a ", "an ", "the ", "two ")):
            subject = f"the {subject}"
        return f"{subject} {'is' if scene.subject.count == 1 else 'are'} {scene.relation} {object_}"
    return f"{subject} {scene.relation} {object_}"


def describe_thing(thing: Thing, rng: np.random.Generator) -> str:
    """Describes one thing with its attributes, as a noun phrase or with a copula."""
    if rng.random() < 0.2:
        rest = [a for a in thing.attributes if a != thing.colour]
        copula = "is" if thing.count == 1 else "are"
        return f"{noun_phrase(thing, 'the', rest)} {copula} {thing.colour}"
    return noun_phrase(thing, _determiner(rng), thing.attributes)


def describe_scene(scene: Scene, rng: np.random.Generator, attribute_share: float) -> str:
    """Describes a scene of one thing, or of two with each attribute named with probability `attribute_share`."""
    return describe_thing(scene.subject, rng) if scene.object is None else describe_pair(scene, rng, attribute_share)


def cc12m_row(caption: str, rng: np.random.Generator) -> str:
    """Returns the caption column of CC-12M: alt text, now and then with a photo agency's tail or a masked name."""
    tail = rng.choice(["", "", "", "", " .", ", on a plain background", " by <PERSON>", " - stock illustration"])
    return caption + str(tail)


def yfcc15m_row(caption: str, rng: np.random.Generator) -> tuple[str, str]:
    """Returns title and description as YFCC stores them: percent-encoded, the description with HTML."""
    title, description = caption, ""
    draw = rng.random()
    if draw < 0.1:
        title, description = f"IMG_{rng.integers(1000, 9999)}", f"{caption}."
    elif draw < 0.3:
        link = f'<a href="http://www.flickr.com/groups/{rng.integers(10, 99)}/">my set</a>'
        description = f"{html.escape('seen & drawn', quote=False)}\n{link}"
    return quote_plus(title), quote_plus(description)


def laion400m_row(caption: str, rng: np.random.Generator) -> str:
    """Returns the TEXT column of LAION-400M: alt text, now and then with a shop's tail or in capitals."""
    draw = rng.random()
    if draw < 0.03:
        return caption.upper()
    if draw < 0.15:
        return f"{caption} | Icon Shop"
    if draw < 0.2:
        return f"{caption} #{rng.integers(100, 999)}"
    return caption
