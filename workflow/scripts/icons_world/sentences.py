"""Captions of several sentences about one scene, as models that describe pictures at length write them.

The first sentence describes the scene as a caption of the world's other corpora does, with more of its attributes; each
further one says another true thing: a colour, a style, a size, what is there, or the relation the other way round.
Each has four words or more, begins with a capital and ends with a full stop.
"""

from collections.abc import Sequence

import numpy as np

from icons_world.phrases import noun_phrase, plural
from icons_world.scenes import Scene, Thing
from icons_world.world import HeldOut

ATTRIBUTE_SHARE = 0.75
"""Share of the attributes that a first sentence names: adjectives are there to be swapped."""
MOST_SENTENCES = 5
"""Of a caption: the poorest scene, one thing with a colour, gives no more."""
COPULA_SHARE = 0.3
"""Share of the first sentences about pairs that have a verb."""
INVERSES = {
    "above": "below",
    "below": "above",
    "to the left of": "to the right of",
    "to the right of": "to the left of",
    "in front of": "behind",
    "behind": "in front of",
    "hanging from": "above",
    "leaning against": "next to",
    "tied to": "next to",
}
"""How the object of each relation lies to the subject."""


def write_sentences(held_out: HeldOut, scene: Scene, n_sentences: int, rng: np.random.Generator) -> str:
    """Returns a caption.

    Args:
        held_out: what the corpus holds out; no sentence names it.
        scene: what the sentences describe.
        n_sentences: from 1 to MOST_SENTENCES.
        rng: of the caption.

    Raises:
        ValueError: that many things cannot be said of the scene.
    """
    first = first_sentence(scene, rng)
    others = [text for text in further_sentences(held_out, scene, rng) if text != first]
    if n_sentences - 1 > len(others):
        raise ValueError(f"sentences: {n_sentences} is more than {MOST_SENTENCES}, which can be said of any scene")
    chosen = [others[i] for i in rng.permutation(len(others))[: n_sentences - 1]]
    return " ".join(f"{text[0].upper()}{text[1:]}." for text in (first, *chosen))


def first_sentence(scene: Scene, rng: np.random.Generator) -> str:
    """Describes one thing, or two and their relation, with `ATTRIBUTE_SHARE` of the attributes."""
    subject, article = scene.subject, _article(rng)
    if scene.object is None:
        rest = [attribute for attribute in subject.attributes if attribute != subject.colour]
        forms = (
            f"{noun_phrase(subject, article, subject.attributes)} on a plain background",
            f"there {_be(subject)} {noun_phrase(subject, 'a', subject.attributes)}",
            f"{noun_phrase(subject, 'the', rest)} {_be(subject)} {subject.colour}",
        )
        return forms[rng.integers(len(forms))]
    named = [noun_phrase(thing, _article(rng), _some(thing.attributes, rng)) for thing in scene.things]
    verb = f"{_be(subject)} " if rng.random() < COPULA_SHARE else ""
    return f"{named[0]} {verb}{scene.relation} {named[1]}"


def further_sentences(held_out: HeldOut, scene: Scene, rng: np.random.Generator) -> list[str]:
    """Returns true sentences about a scene, in a fixed order, none with what is held out; at least five."""
    found = []
    for thing in scene.things:
        noun = noun_phrase(thing, "the", ())
        found.append(f"{noun} {_be(thing)} {thing.colour}")
        if thing.style:
            found.append(f"{noun} {'looks' if thing.count == 1 else 'look'} {thing.style}")
        if thing.size:
            found.append(f"{noun} {_be(thing)} rather {thing.size}")
        if thing.count > 1:
            found.append(f"one can count two {plural(thing.kind)}")
        found.append(f"there {_be(thing)} {noun_phrase(thing, 'a', ())}")
    if scene.object is None:
        found.append(f"nothing but {noun_phrase(scene.subject, 'the', ())} is there")
        found.append(f"{noun_phrase(scene.subject, 'a', ())} can be seen here")
        found.append(f"the picture shows {noun_phrase(scene.subject, 'a', (scene.subject.colour,))}")
        return found
    back = INVERSES[scene.relation]
    if held_out.allows_triple(scene.object.kind, back, scene.subject.kind):
        own = noun_phrase(scene.subject, "the", _some(scene.subject.attributes, rng))
        found.append(f"{noun_phrase(scene.object, 'the', ())} {_be(scene.object)} {back} {own}")
    found.append(f"the picture shows {' and '.join(noun_phrase(thing, 'a', ()) for thing in scene.things)}")
    return found


def _be(thing: Thing) -> str:
    return "is" if thing.count == 1 else "are"


def _article(rng: np.random.Generator) -> str:
    return str(rng.choice(["a", "a", "the"]))


def _some(attributes: Sequence[str], rng: np.random.Generator) -> tuple[str, ...]:
    return tuple(attribute for attribute in attributes if rng.random() < ATTRIBUTE_SHARE)
