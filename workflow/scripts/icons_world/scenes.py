"""Scenes of the icons world: one object, or two in a relation, placed in a cell and drawn.

A scene is the unit of both the training images (one scene an image, drawn small) and the miniature Visual Genome
(two to five scenes an image). Coordinates are pixels of the 640x480 image.
"""

from dataclasses import dataclass, replace

import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageOps

from icons_world.glyphs import glyph_mask
from icons_world.world import World

MARGIN = 6
"""Least distance of an object to the border of its cell, in pixels."""
LEAN_DEGREES = 28
LEAST_FRAME = 190
"""Least side of the box around a pair before its margin, in pixels."""
STYLE_EXTENT = {"flat": (1.0, 0.65), "narrow": (0.65, 1.0)}
"""Width and height of a styled glyph, as shares of the plain one's."""
CROOKED_DEGREES = 32
HALO_COLOUR = (182, 182, 182)
OVERLAP = 0.4
"""How far two overlapping objects overlap along each axis, as a share of the shorter side."""


@dataclass(frozen=True)
class Thing:
    """One object: kind, attributes (None where it has none of that group), number of glyphs, and box (x, y, w, h)."""

    kind: str
    colour: str
    size: str | None = None
    style: str | None = None
    count: int = 1
    box: tuple[int, int, int, int] = (0, 0, 0, 0)
    degrees: int = 0

    @property
    def attributes(self) -> tuple[str, ...]:
        """Attributes in the order in which English names them."""
        return tuple(a for a in (self.size, self.style, self.colour) if a is not None)


@dataclass(frozen=True)
class Scene:
    """One thing, or a subject and an object in a relation."""

    subject: Thing
    relation: str | None = None
    object: Thing | None = None

    @property
    def things(self) -> tuple[Thing, ...]:
        """Subject, and object where there is one."""
        return (self.subject,) if self.object is None else (self.subject, self.object)


def place_scene(world: World, scene: Scene, cell: tuple[int, int, int, int], rng: np.random.Generator) -> Scene:
    """Gives the things of a scene their boxes inside `cell` (x, y, width, height).

    Returns:
        The same scene with boxes. Sides shrink to fit the cell; a size word that is then no longer true is dropped.
    """
    if scene.object is None:
        placed = _place_at(scene.subject, cell, _side(world, scene.subject, rng), rng)
        return replace(scene, subject=_with_true_size(world, placed))
    arrangement = world.relation_by_name[scene.relation].arrangement
    subject, object_ = place_pair(
        arrangement,
        cell,
        _side(world, scene.subject, rng),
        _side(world, scene.object, rng),
        rng,
    )
    degrees = 0
    if arrangement == "leaning":
        degrees = -LEAN_DEGREES if subject[0] < object_[0] else LEAN_DEGREES
    return replace(
        scene,
        subject=_with_true_size(world, replace(scene.subject, box=subject, degrees=degrees)),
        object=_with_true_size(world, replace(scene.object, box=object_)),
    )


def _with_true_size(world: World, thing: Thing) -> Thing:
    """Drops the size word of a thing whose side lies outside the word's bounds."""
    if thing.size is None:
        return thing
    low, high = world.sizes[thing.size]
    return thing if low <= thing.box[2] <= high else replace(thing, size=None)


def place_pair(
    arrangement: str, cell: tuple[int, int, int, int], side: int, other: int, rng: np.random.Generator
) -> tuple[tuple[int, int, int, int], tuple[int, int, int, int]]:
    """Places two squares of the given sides in a cell.

    Args:
        arrangement: "left", "right", "above", "below", "hanging" (below, on a string), "leaning" and "tied"
            (beside, either way round), "front" and "behind" (overlapping; the nearer one lower).
        cell: x, y, width, height.
        side: side of the subject's square; it shrinks to fit.
        other: side of the object's square; it shrinks to fit.
        rng: generator of the scene.

    Returns:
        Boxes (x, y, width, height) of subject and object.

    Raises:
        ValueError: the arrangement is unknown.
    """
    x, y, width, height = cell
    width, height = width - 2 * MARGIN, height - 2 * MARGIN
    either_side = arrangement in ("leaning", "tied")
    beside = str(rng.choice(["left", "right"])) if either_side else arrangement
    if beside in ("left", "right"):
        side, other = _fit(side, other, width, height)
        gap = 0 if arrangement == "leaning" else _between(rng, 0, min(40, width - side - other))
        start = _between(rng, 0, width - side - other - gap)
        first, second = (side, other) if beside == "left" else (other, side)
        boxes = [
            (start, _near_middle(rng, height, first), first),
            (start + first + gap, _near_middle(rng, height, second), second),
        ]
        if beside == "right":
            boxes.reverse()
    elif beside in ("above", "below", "hanging"):
        side, other = _fit(side, other, height, width)
        least_gap = min(16, height - side - other) if beside == "hanging" else 0
        gap = _between(rng, least_gap, max(least_gap, min(40, height - side - other)))
        start = _between(rng, 0, height - side - other - gap)
        first, second = (side, other) if beside == "above" else (other, side)
        boxes = [
            (_near_middle(rng, width, first), start, first),
            (_near_middle(rng, width, second), start + first + gap, second),
        ]
        if beside != "above":
            boxes.reverse()
    elif beside in ("front", "behind"):
        longest = int(min(width, height) / (2 - OVERLAP))
        side, other = min(side, longest), min(other, longest)
        upper, lower = (side, other) if beside == "behind" else (other, side)
        shift = upper - int(OVERLAP * min(upper, lower))
        extent = shift + lower
        left, top = _between(rng, 0, width - extent), _between(rng, 0, height - extent)
        mirrored = rng.random() < 0.5
        boxes = [
            (left + (extent - upper if mirrored else 0), top, upper),
            (left + (0 if mirrored else shift), top + shift, lower),
        ]
        if beside == "front":
            boxes.reverse()
    else:
        raise ValueError(f"unknown arrangement {arrangement!r}")
    subject, object_ = ((x + MARGIN + int(a), y + MARGIN + int(b), int(s), int(s)) for a, b, s in boxes)
    return subject, object_


def frame(scene: Scene, cell: tuple[int, int, int, int], rng: np.random.Generator) -> tuple[int, int, int, int]:
    """Returns the box around a placed scene, as an annotator would draw it: a loose margin, inside the cell.

    Boxes of pairs are widened to `LEAST_FRAME` where the cell allows it, so that most are large enough for a test crop.
    """
    least = LEAST_FRAME if scene.object is not None else 0
    spans = []
    for axis in (0, 1):
        low = min(thing.box[axis] for thing in scene.things)
        high = max(thing.box[axis] + thing.box[axis + 2] for thing in scene.things)
        lack = max(0, least - (high - low))
        before, after = rng.integers(4, 13, size=2) + lack // 2
        low, high = max(low - int(before), cell[axis]), min(high + int(after), cell[axis] + cell[axis + 2])
        spans.append((low, high - low))
    return spans[0][0], spans[1][0], spans[0][1], spans[1][1]


def _side(world: World, thing: Thing, rng: np.random.Generator) -> int:
    """Draws the side of a thing's square, in pixels."""
    low, high = world.sizes[thing.size] if thing.size else world.default_size
    return int(rng.integers(low, high + 1))


def _fit(side: int, other: int, along: int, across: int) -> tuple[int, int]:
    """Shrinks two sides, the longer first, until both fit one after the other and each fits across."""
    side, other = min(side, across), min(other, across)
    excess = max(0, side + other - along)
    longer_first = min(excess, abs(side - other))
    rest = excess - longer_first
    if side >= other:
        side -= longer_first
    else:
        other -= longer_first
    return side - (rest + 1) // 2, other - rest // 2


def _between(rng: np.random.Generator, low: int, high: int) -> int:
    return int(rng.integers(low, max(low, high) + 1))


def _near_middle(rng: np.random.Generator, length: int, side: int) -> int:
    """Draws a start so that `side` lies near the middle of `length`, at most 12% off."""
    middle = (length - side) / 2
    return int(np.clip(middle + rng.uniform(-0.12, 0.12) * length, 0, max(0, length - side)))


def _place_at(thing: Thing, cell: tuple[int, int, int, int], side: int, rng: np.random.Generator) -> Thing:
    x, y, width, height = cell
    side = min(side, width - 2 * MARGIN, height - 2 * MARGIN)
    left = _between(rng, MARGIN, width - MARGIN - side)
    top = _between(rng, MARGIN, height - MARGIN - side)
    return replace(thing, box=(x + left, y + top, side, side))


def move_scene(scene: Scene, x: int, y: int) -> Scene:
    """Moves the things of a scene by x and y pixels."""

    def move(thing: Thing) -> Thing:
        return replace(thing, box=(thing.box[0] + x, thing.box[1] + y, *thing.box[2:]))

    return replace(scene, subject=move(scene.subject), object=move(scene.object) if scene.object else None)


def draw_scenes(world: World, scenes: list[Scene], width: int, height: int, scale: float, rng) -> Image.Image:
    """Draws placed scenes on one background.

    Args:
        world: the world.
        scenes: placed scenes.
        width: width of the picture before scaling, pixels.
        height: height of the picture before scaling, pixels.
        scale: factor from the coordinates of the scenes to the picture's pixels.
        rng: generator of the background.

    Returns:
        RGB image of (width * scale, height * scale).
    """
    canvas = _background(round(width * scale), round(height * scale), rng)
    for scene in scenes:
        arrangement = world.relation_by_name[scene.relation].arrangement if scene.relation else ""
        if arrangement in ("hanging", "tied"):
            _draw_string(canvas, scene, scale)
        back_to_front = scene.things if arrangement == "behind" else scene.things[::-1]
        for thing in back_to_front:
            _draw_thing(canvas, world, thing, scale, halo=arrangement in ("front", "behind"))
    return canvas


def _background(width: int, height: int, rng: np.random.Generator) -> Image.Image:
    """Draws a mid-grey gradient with a slight tint and noise."""
    base = rng.uniform(165, 200) + rng.uniform(-12, 12, size=3)
    slope = rng.uniform(-18, 18, size=2)
    y, x = np.mgrid[0:height, 0:width]
    shade = slope[0] * (y / height - 0.5) + slope[1] * (x / width - 0.5)
    pixels = base + shade[..., None] + rng.normal(0, 3, size=(height, width, 1))
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8), "RGB")


def _draw_string(canvas: Image.Image, scene: Scene, scale: float) -> None:
    ends = [((t.box[0] + t.box[2] / 2) * scale, (t.box[1] + t.box[3] / 2) * scale) for t in scene.things]
    ImageDraw.Draw(canvas).line(ends, fill=(70, 55, 40), width=max(1, round(7 * scale)))


def _draw_thing(canvas: Image.Image, world: World, thing: Thing, scale: float, halo: bool) -> None:
    x, y, width, height = (round(value * scale) for value in thing.box)
    mask = _thing_mask(world.kind_by_name[thing.kind].glyph, thing, width, height)
    if halo:
        grown = mask.filter(ImageFilter.MaxFilter(2 * max(1, round(3 * scale)) + 1))
        canvas.paste(HALO_COLOUR, (x, y), grown)
    if thing.style == "hollow":
        mask = _outline(mask, max(1, round(6 * scale)))
    canvas.paste(world.colours[thing.colour], (x, y), mask)


def _thing_mask(glyph: str, thing: Thing, width: int, height: int) -> Image.Image:
    """Returns the mask of a thing in its box: its glyph once or twice, shaped by its style and turned."""
    share_x, share_y = STYLE_EXTENT.get(thing.style, (1.0, 1.0))
    mask = Image.new("L", (width, height), 0)
    for i in range(thing.count):
        part = glyph_mask(glyph, max(4, width // thing.count), height)
        part = part.resize((max(3, round(part.width * share_x)), max(3, round(part.height * share_y))))
        left = i * width // thing.count + (width // thing.count - part.width) // 2
        mask.paste(part, (left, (height - part.height) // 2))
    degrees = thing.degrees + (CROOKED_DEGREES if thing.style == "crooked" else 0)
    return _turned(mask, degrees) if degrees else mask


def _outline(mask: Image.Image, line: int) -> Image.Image:
    """Returns the outline of a mask, `line` pixels thick, along the mask's own border, too."""
    inner = ImageOps.expand(mask, line).filter(ImageFilter.MinFilter(2 * line + 1))
    return ImageChops.subtract(mask, inner.crop((line, line, line + mask.width, line + mask.height)))


def _turned(mask: Image.Image, degrees: int) -> Image.Image:
    """Turns a mask within its size; it shrinks if its corners would stick out."""
    ink = mask.rotate(degrees, resample=Image.Resampling.BILINEAR, expand=True)
    ink = ink.crop(ink.getbbox())
    scale = min(1.0, mask.width / ink.width, mask.height / ink.height)
    ink = ink.resize((max(1, int(ink.width * scale)), max(1, int(ink.height * scale))))
    turned = Image.new("L", mask.size, 0)
    turned.paste(ink, ((mask.width - ink.width) // 2, (mask.height - ink.height) // 2))
    return turned
