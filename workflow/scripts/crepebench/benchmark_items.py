"""Items of other benchmarks: pictures and captions, and a task that fixes which of them belong together.

Every reader in `crepebench.benchmark_readers` yields them. That the right picture or caption comes first is a
convention of this interface alone: `crepebench.benchmark_scores` does not depend on any order, since a tie is never a
hit by its place.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

CHOOSE_CAPTION, CHOOSE_IMAGE, PAIRS, PAIRS_IMAGE = "choose_caption", "choose_image", "pairs", "pairs_image"
TWO_CAPTIONS, TEXT_ONLY = "two_captions", "text_only"


@dataclass(frozen=True)
class Shape:
    """Numbers of pictures and captions that items of a task have.

    Attributes:
        images: least and greatest number of pictures; None where there is no greatest.
        captions: likewise of captions.
    """

    images: tuple[int, int | None]
    captions: tuple[int, int | None]


SHAPES = {
    CHOOSE_CAPTION: Shape((1, 1), (2, None)),
    CHOOSE_IMAGE: Shape((2, None), (1, 1)),
    PAIRS: Shape((2, 2), (2, 2)),
    PAIRS_IMAGE: Shape((2, 2), (2, 2)),
    TWO_CAPTIONS: Shape((1, 1), (3, 3)),
    TEXT_ONLY: Shape((0, 0), (3, 3)),
}
"""The tasks. Right are the first caption, the first picture, caption i for picture i, or the first two captions."""
TASKS = tuple(SHAPES)
RIGHT = "right"
"""Kind of the right caption."""
IMAGE_TAG = "image"
"""Tag that says which image the captions of a TEXT_ONLY item are of, so that they are resampled together."""


@dataclass(frozen=True)
class ImageRef:
    """A picture, or a part of it.

    Attributes:
        root: name of a folder or zip in `benchmarks.roots` of the config.
        name: file name, or a path whose last part is the file name; nothing else of the path counts.
        box: x, y, width, height of the part in pixels; None for all of the picture.
    """

    root: str
    name: str
    box: tuple[float, float, float, float] | None = None


@dataclass(frozen=True)
class Item:
    """One question of a benchmark.

    Attributes:
        id: unique in the benchmark.
        subset: part of the benchmark that gets a row of its own.
        task: one of TASKS.
        images: pictures; `SHAPES` says how many.
        captions: texts, likewise.
        tags: names and values to average over, as template or relation; `IMAGE_TAG` is no such name.
        kinds: of a CHOOSE_CAPTION item, what each caption is: RIGHT first, then kinds of wrong ones, so that it is
            counted which are chosen; empty where that is not known.
    """

    id: str
    subset: str
    task: str
    images: tuple[ImageRef, ...]
    captions: tuple[str, ...]
    tags: Mapping[str, str] = field(default_factory=dict)
    kinds: tuple[str, ...] = ()


def check_items(items: Iterable[Item], benchmark: str, shapes: Mapping[str, Shape] = SHAPES) -> Iterator[Item]:
    """Yields items, each checked as it passes.

    Args:
        items: what a reader yields.
        benchmark: name for the message.
        shapes: numbers of images and captions by task.

    Raises:
        ValueError: an id repeats, the task is unknown, a number is not the task's, or a caption is empty; names the
            item.
    """
    seen = set()
    for item in items:
        fault = _fault(item, shapes)
        if item.id in seen:
            fault = "an earlier item has this id"
        if fault:
            raise ValueError(f"{benchmark}, item {item.id!r}: {fault}")
        seen.add(item.id)
        yield item


def _fault(item: Item, shapes: Mapping[str, Shape]) -> str:
    """Returns what is wrong with an item; "" where nothing is."""
    if item.task not in shapes:
        return f"task {item.task!r} is none of {', '.join(shapes)}"
    shape = shapes[item.task]
    for word, number, (least, greatest) in (
        ("images", len(item.images), shape.images),
        ("captions", len(item.captions), shape.captions),
    ):
        if number < least or (greatest is not None and number > greatest):
            return f"{number} {word}, which task {item.task} does not have"
    if not item.id or not item.subset:
        return "id or subset is empty"
    if item.kinds and (item.kinds[0] != RIGHT or len(item.kinds) != len(item.captions)):
        return f"kinds are not one for each caption, {RIGHT!r} first: {item.kinds!r:.200}"
    if not all(isinstance(caption, str) and caption.strip() for caption in item.captions):
        return f"a caption is empty or no text: {item.captions!r:.200}"
    return ""
