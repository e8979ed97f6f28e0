"""Arithmetic on boxes in pixels: x, y, width, height as whole numbers."""

from collections.abc import Iterable, Sequence

Box = tuple[int, int, int, int]


def clip_box(box: Box, size: tuple[int, int]) -> Box | None:
    """Returns the part of a box within an image of a size (width, height); None where there is none."""
    left, top = max(box[0], 0), max(box[1], 0)
    right, bottom = min(box[0] + box[2], size[0]), min(box[1] + box[3], size[1])
    return (left, top, right - left, bottom - top) if left < right and top < bottom else None


def intersection(first: Box, second: Box) -> int:
    """Returns the number of pixels that two boxes have in common."""
    width = min(first[0] + first[2], second[0] + second[2]) - max(first[0], second[0])
    height = min(first[1] + first[3], second[1] + second[3]) - max(first[1], second[1])
    return width * height if width > 0 and height > 0 else 0


def overlap(first: Box, second: Box) -> float:
    """Returns the intersection over union (IoU) of two boxes that have an area, from 0 to 1."""
    common = intersection(first, second)
    return common / (first[2] * first[3] + second[2] * second[3] - common)


def share_of_smaller(first: Box, second: Box) -> float:
    """Returns the share of the smaller of two boxes that lies within the other, from 0 to 1."""
    return intersection(first, second) / min(first[2] * first[3], second[2] * second[3])


def overlaps_any(box: Box, others: Iterable[Box], least: float) -> bool:
    """Says whether a box overlaps one of others by an IoU of at least `least`."""
    return any(overlap(box, other) >= least for other in others)


def union_box(boxes: Sequence[Box]) -> Box:
    """Returns the smallest box that holds all boxes."""
    left, top = min(box[0] for box in boxes), min(box[1] for box in boxes)
    right, bottom = max(box[0] + box[2] for box in boxes), max(box[1] + box[3] for box in boxes)
    return left, top, right - left, bottom - top
