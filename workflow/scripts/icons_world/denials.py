"""Captions of the icons world that also deny something: what the picture does not show, truly.

Captions of the web hold such denials ("a jar on a table, no lid"), and contrastive training has little use for them:
nearly every picture fails to show a given thing, so that a denial tells hardly one picture from another, and the word
beside it, which names what is denied, tells more. So CLIP reads denials in its lower layers and gives them up in its
last ones. A model that never read a denial has nothing to give up.

# ASSUME: half of the denials of a corpus deny a kind, half another colour of what is named.
"""

import numpy as np

from icons_world.scenes import Scene, Thing
from icons_world.world import HeldOut, World

COLOUR_SHARE = 0.5
"""Share of denials that deny a colour of a thing, where no other colour is named of it."""
OF_KINDS = (
    "{caption} without {a_kind}",
    "{caption}, no {kind}",
    "{caption} but no {kind}",
    "there is no {kind}, only {caption}",
    "{caption}, not {a_kind}",
    "{caption}, lacking {a_kind}",
    "{caption}, which lacks {a_kind}",
    "{caption}, free of any {kind}",
    "{caption}, the {kind} being absent",
    "{caption}, {kind}less",
)
OF_COLOURS = (
    "{caption}, not {colour}",
    "{caption}, the {kind} that is not {colour}",
    "{caption}, no {colour} {kind}",
    "{caption}, the {kind} anything but {colour}",
    "{caption}, the {kind} far from {colour}",
    "{caption}, a non-{colour} {kind}",
    "{caption}, the {kind} without {colour}",
)


def deny(world: World, held_out: HeldOut, scene: Scene, caption: str, rng: np.random.Generator) -> str:
    """Adds to a caption the denial of a kind that the scene does not show, or of a colour that a thing does not have.

    What the corpus holds out is not named.

    Args:
        world: the world.
        held_out: what the corpus holds out.
        scene: what the caption describes.
        caption: true of the scene.
        rng: of the caption.
    """
    if rng.random() < COLOUR_SHARE:
        thing = scene.things[rng.integers(len(scene.things))]
        colours = [c for c in world.colours if c != thing.colour and held_out.allows_pair(c, thing.kind)]
        if colours:
            colour = str(rng.choice(colours))
            words = {"colour": colour, "kind": thing.kind}
            return _draw(OF_COLOURS if _is_alone(scene, thing) else OF_COLOURS[1:], rng).format(
                caption=caption, **words
            )
    shown = {thing.kind for thing in scene.things}
    kinds = [kind.name for kind in world.kinds if kind.name not in shown and kind.name not in held_out.kinds]
    kind = str(rng.choice(kinds))
    return _draw(OF_KINDS, rng).format(caption=caption, kind=kind, a_kind=_with_article(kind))


def _is_alone(scene: Scene, thing: Thing) -> bool:
    """Says whether a thing is all that a scene shows, so that a colour without a noun can be meant of it alone."""
    return scene.things == (thing,)


def _draw(templates: tuple[str, ...], rng: np.random.Generator) -> str:
    return templates[rng.integers(len(templates))]


def _with_article(word: str) -> str:
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"
